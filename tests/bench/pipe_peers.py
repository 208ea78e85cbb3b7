"""The two ends of the benchmarked pipe, each a process of its own: a load generator and a sink.

Both take one JSON command a line on standard input and answer with one JSON line, so that the
process that measures does nothing while it measures.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import itertools
import json
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import grpc
import httptools
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from isal import isal_zlib
from pipe_requests import RequestMould, make_moulds

SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"
METHOD = f"/{SERVICE}/Export"
PROTOBUF = "application/x-protobuf"
PARALLEL_REQUESTS = 4
MOULDS = 12
_GZIP = 31
_RETRY_SECONDS = 0.02
_MAX_MESSAGE_BYTES = 64 * 1024 * 1024


# ------------------------------------------------------------------------------------ sink


def span_counter() -> Callable[[bytes], int]:
    """Return a function that counts the spans of a request, reading none of them."""
    file = descriptor_pb2.FileDescriptorProto(name="counted.proto", package="counted")
    levels = (("Request", 1, ".counted.Resource"), ("Resource", 2, ".counted.Scope"))
    for name, number, inner in levels:
        kinds = {"type": descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE, "type_name": inner}
        _add_field(file, name, number, kinds)
    _add_field(file, "Scope", 2, {"type": descriptor_pb2.FieldDescriptorProto.TYPE_BYTES})
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    request_type = message_factory.GetMessageClass(pool.FindMessageTypeByName("counted.Request"))

    def count(body: bytes) -> int:
        request: Any = request_type.FromString(body)
        return sum(len(scope.inner) for resource in request.inner for scope in resource.inner)

    return count


def _add_field(
    file: descriptor_pb2.FileDescriptorProto, message: str, number: int, kind: dict[str, Any]
) -> None:
    file.message_type.add(name=message).field.add(
        name="inner",
        number=number,
        label=descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED,
        **kind,
    )


class Tally:
    """What arrived: requests, spans, and bytes as they were on the wire."""

    def __init__(self) -> None:
        self._count_spans = span_counter()
        self._lock = threading.Lock()
        self.requests = self.spans = self.bytes = 0

    def add(self, body: bytes, *, compressed: bool) -> None:
        """Count a request."""
        plain = isal_zlib.decompress(body, wbits=_GZIP) if compressed else body
        spans = self._count_spans(plain)
        with self._lock:
            self.requests += 1
            self.spans += spans
            self.bytes += len(body)


def start_grpc_sink(tally: Tally) -> int:
    """Serve OTLP/gRPC; messages stay compressed until :class:`Tally` has seen their size."""

    def export(body: bytes, _context: grpc.ServicerContext) -> bytes:
        tally.add(body, compressed=body[:2] == b"\x1f\x8b")
        return b""

    server = grpc.server(
        ThreadPoolExecutor(4),
        options=[
            ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
            ("grpc.per_message_decompression", 0),
        ],
    )
    handler = grpc.unary_unary_rpc_method_handler(export)
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler(SERVICE, {"Export": handler}),)
    )
    port: int = server.add_insecure_port("127.0.0.1:0")
    server.start()
    threading.Thread(target=server.wait_for_termination, daemon=True).start()
    return port


class _HttpSink(asyncio.Protocol):
    """Answers every POST with 200 and an empty body."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._parser = httptools.HttpRequestParser(self)
        self._body: list[bytes] = []
        self._compressed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-encoding":
            self._compressed = value == b"gzip"
        elif name.lower() == b"expect":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    def on_body(self, data: bytes) -> None:
        self._body.append(data)

    def on_message_complete(self) -> None:
        self._tally.add(b"".join(self._body), compressed=self._compressed)
        self._body, self._compressed = [], False
        self._transport.write(
            f"HTTP/1.1 200 OK\r\ncontent-type: {PROTOBUF}\r\ncontent-length: 0\r\n\r\n".encode()
        )


def start_http_sink(tally: Tally) -> int:
    """Serve OTLP/HTTP."""
    started: list[int] = []
    ready = threading.Event()

    async def serve() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _HttpSink(tally), "127.0.0.1", 0)
        started.append(server.sockets[0].getsockname()[1])
        ready.set()
        await server.serve_forever()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    ready.wait()
    return started[0]


def run_sink(protocol: str) -> None:
    """Count until standard input ends. Commands: ``{"spans": n, "seconds": s}`` waits for spans."""
    tally = Tally()
    port = start_grpc_sink(tally) if protocol == "grpc" else start_http_sink(tally)
    _say({"port": port})
    for command in _commands():
        deadline = time.monotonic() + command["seconds"]
        while tally.spans < command["spans"] and time.monotonic() < deadline:
            time.sleep(0.005)
        _say({"spans": tally.spans, "bytes": tally.bytes, "requests": tally.requests})


# ------------------------------------------------------------------------------------ load


class _GrpcClient:
    def __init__(self, address: str, *, compressed: bool) -> None:
        channel = grpc.insecure_channel(address, [("grpc.max_send_message_length", -1)])
        self._call = channel.unary_unary(METHOD)
        self._compression = grpc.Compression.Gzip if compressed else grpc.Compression.NoCompression

    def renew(self) -> None:
        """Keep the channel: it reconnects by itself."""

    def send(self, body: bytes) -> bool:
        try:
            self._call(body, timeout=60, compression=self._compression)
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                return False
            raise
        return True


class _HttpClient:
    def __init__(self, address: str, *, compressed: bool) -> None:
        self._local = threading.local()
        self._address = address
        self._headers = {"content-type": PROTOBUF}
        if compressed:
            self._headers["content-encoding"] = "gzip"

    def renew(self) -> None:
        """Forget the connections, which servers close when they are idle."""
        self._local = threading.local()

    def send(self, body: bytes) -> bool:
        if not hasattr(self._local, "connection"):
            parts = urlsplit(f"//{self._address}")
            self._local.connection = http.client.HTTPConnection(
                str(parts.hostname), parts.port, timeout=60
            )
        connection: http.client.HTTPConnection = self._local.connection
        connection.request("POST", "/v1/traces", body, self._headers)
        response = connection.getresponse()
        answer = response.read()
        if response.status in {429, 503}:
            return False
        if response.status != http.HTTPStatus.OK:
            raise RuntimeError(f"HTTP {response.status}: {answer[:200]!r}")
        return True


def run_load(kind: str, protocol: str, address: str, seed: int, *, compressed: bool) -> None:
    """Send until standard input ends. The command ``{"requests": n}`` sends so many."""
    moulds = itertools.cycle(make_moulds(kind, seed, MOULDS))
    source = random.Random(seed)
    client = (_GrpcClient if protocol == "grpc" else _HttpClient)(address, compressed=compressed)
    deflate = compressed and protocol == "http"
    _say({"ready": True})
    with ThreadPoolExecutor(PARALLEL_REQUESTS) as pool:
        for command in _commands():
            chosen = list(itertools.islice(moulds, command["requests"]))
            bodies = [_body(mould, source, deflate=deflate) for mould in chosen]
            client.renew()
            began = time.monotonic()
            refusals = sum(pool.map(lambda body: _send(client, body), bodies))
            _say(
                {
                    "spans": sum(mould.spans for mould in chosen),
                    "bytes": sum(len(mould.body) for mould in chosen),
                    "seconds": time.monotonic() - began,
                    "refusals": refusals,
                }
            )


def _body(mould: RequestMould, source: random.Random, *, deflate: bool) -> bytes:
    body = mould.cast(source)
    if not deflate:
        return body
    stream = isal_zlib.compressobj(2, wbits=_GZIP)
    return stream.compress(body) + stream.flush()


def _send(client: _GrpcClient | _HttpClient, body: bytes) -> int:
    """Send until it is taken; return how often it was not."""
    refusals = 0
    while not client.send(body):
        refusals += 1
        time.sleep(_RETRY_SECONDS)
    return refusals


# --------------------------------------------------------------------------------- commands


def _commands() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def main() -> None:
    """Be one of the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("role", choices=("sink", "load"))
    parser.add_argument("--protocol", choices=("grpc", "http"), required=True)
    parser.add_argument("--kind", default="plain")
    parser.add_argument("--address", default="")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compressed", action="store_true")
    options = parser.parse_args()
    if options.role == "sink":
        run_sink(options.protocol)
    else:
        run_load(
            options.kind,
            options.protocol,
            options.address,
            options.seed,
            compressed=options.compressed,
        )


if __name__ == "__main__":
    main()
