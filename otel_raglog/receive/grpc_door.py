"""OTLP over gRPC: requests to the inbox, and an honest answer to each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_raglog.errors import BadInput, ConfigError, TooLarge, Unavailable
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.intake import DEFAULT_RETRY_SECONDS, Intake, describe_rejections

SERVICE = "opentelemetry.proto.collector.trace.v1.TraceService"
_NANOS = 1_000_000_000


class GrpcDoor:
    """The gRPC ``TraceService``, on threads of its own.

    Messages arrive as bytes: grpc inflates them, bounded by the request limit, and
    :func:`split_protobuf` reads them. Answers: spans with invalid ids are a partial success,
    unreadable requests ``INVALID_ARGUMENT``, too large ones ``RESOURCE_EXHAUSTED`` without
    RetryInfo (do not retry), a full inbox ``UNAVAILABLE`` with RetryInfo (retry).

    ``option`` names the configuration option of the address, for the error of :meth:`start`.
    """

    def __init__(
        self,
        intake: Intake,
        host: str,
        port: int,
        *,
        option: str = "receive.grpc_port",
        threads: int = 8,
    ) -> None:
        self._intake = intake
        self._address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._option = option
        self._port = port
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="grpc-door")
        self._server = grpc.server(
            self._pool,
            options=[
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", intake.limits.max_request_bytes),
            ],
        )
        export = grpc.unary_unary_rpc_method_handler(self._export)
        handler = grpc.method_handlers_generic_handler(SERVICE, {"Export": export})
        self._server.add_generic_rpc_handlers((handler,))

    @property
    def port(self) -> int:
        """The port it listens on; the real one after :meth:`start` when 0 was asked for."""
        return self._port

    def start(self) -> None:
        """Listen.

        Raises:
            ConfigError: the address cannot be had, for example because it is in use.
        """
        try:
            self._port = self._server.add_insecure_port(self._address)
        except RuntimeError as error:
            raise ConfigError(
                f"{self._option}: cannot listen on {self._address}; is it in use?"
            ) from error
        self._server.start()

    def stop(self, grace_seconds: float) -> None:
        """Accept nothing more and wait up to ``grace_seconds`` for requests under way."""
        self._server.stop(grace_seconds).wait()
        self._pool.shutdown(wait=False)

    def _export(self, body: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            batch = self._intake.take(body, split_protobuf)
        # abort raises, so nothing below runs after it
        except TooLarge as error:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        except BadInput as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except Unavailable as error:
            context.abort_with_status(_try_again(error))
        response = ExportTraceServiceResponse()
        if batch.rejected_count:
            response.partial_success.rejected_spans = batch.rejected_count
            response.partial_success.error_message = describe_rejections(batch)
        return response.SerializeToString()


def _try_again(error: Unavailable) -> Any:
    """Return the status ``UNAVAILABLE`` with the time after which to try again."""
    seconds = error.retry_after_seconds
    nanos = int((DEFAULT_RETRY_SECONDS if seconds is None else seconds) * _NANOS)
    retry = RetryInfo(retry_delay=Duration(seconds=nanos // _NANOS, nanos=nanos % _NANOS))
    status = Status(code=Code.UNAVAILABLE, message=str(error))
    status.details.add().Pack(retry)
    return rpc_status.to_status(status)
