"""A gRPC call turned into one that compresses its requests, with ISA-L where grpcio lets it.

gRPC's own gzip is zlib's level 6, which cannot be set and costs ten times what everything else
about an export does. Its core can be told that a message is compressed already, but grpcio has no
public way to say so: what stands here uses a private one, and only after it was seen to work with
the installed version. Otherwise, gRPC compresses.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from typing import Any, TypeAlias

import grpc
import structlog

from otel_raglog_exporters.compressing import gzip_body

Call: TypeAlias = Callable[..., Any]
"""A unary call of bytes to bytes, with ``timeout`` and ``metadata``."""

_COMPRESSED_ALREADY = -0x80000000
"""GRPC_WRITE_INTERNAL_COMPRESS, the highest bit, in the signed number that grpcio takes."""

_PROBE = b"\x00" * 4_096
_PROBE_SECONDS = 5.0
_log = structlog.get_logger()


def gzip_call(call: Any) -> Call:
    """Return ``call``, a channel's ``unary_unary`` without serializers, with compression."""
    if not takes_compressed():
        return partial(call, compression=grpc.Compression.Gzip)
    _send_as_compressed(call)

    def send(body: bytes, **options: Any) -> Any:
        return call(gzip_body(body), compression=grpc.Compression.Gzip, **options)

    return send


@cache
def takes_compressed() -> bool:
    """Return whether the installed grpcio sends what is compressed already as it is.

    Tried once, on a server of our own at a port of the loopback interface.
    """
    arrived: list[bytes] = []

    def keep(body: bytes, _context: Any) -> bytes:
        arrived.append(body)
        return b""

    server = grpc.server(ThreadPoolExecutor(1))
    handlers = {"Take": grpc.unary_unary_rpc_method_handler(keep)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("Probe", handlers),))
    try:
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        with grpc.insecure_channel(f"127.0.0.1:{port}", [("grpc.enable_http_proxy", 0)]) as channel:
            call = channel.unary_unary("/Probe/Take")
            _send_as_compressed(call)
            call(gzip_body(_PROBE), timeout=_PROBE_SECONDS, compression=grpc.Compression.Gzip)
    except (
        ImportError,
        AttributeError,
        TypeError,
        ValueError,
        OSError,
        RuntimeError,
        grpc.RpcError,
    ) as failure:
        _log.info("gRPC compresses by itself, at ten times the cost", error=repr(failure))
    finally:
        server.stop(None).wait(_PROBE_SECONDS)
    return arrived == [_PROBE]


def _send_as_compressed(call: Any) -> None:
    """Change ``call`` so that it takes messages that are gzip already."""
    from grpc._cython import cygrpc  # noqa: PLC0415  private: it may go away

    prepare = call._prepare  # noqa: SLF001
    send = cygrpc.SendMessageOperation

    def prepare_compressed(request: bytes, *arguments: Any) -> tuple[Any, ...]:
        state, operations, *rest = prepare(request, *arguments)
        flagged = tuple(
            send(request, _COMPRESSED_ALREADY) if isinstance(operation, send) else operation
            for operation in operations
        )
        return (state, flagged, *rest)

    call._prepare = prepare_compressed  # noqa: SLF001
