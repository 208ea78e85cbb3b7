"""OTLP over gRPC: requests of three signals to the inbox, and an honest answer to each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, ParamSpec, TypeVar

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from otel_raglog.errors import BadInput, ConfigError, TooLarge, Unavailable
from otel_raglog.model import Headers, Signal
from otel_raglog.receive.answers import answer_export, explain_unserved
from otel_raglog.receive.auth import WHY_REFUSED, Tokens
from otel_raglog.receive.headers import AllowList
from otel_raglog.receive.intake import DEFAULT_RETRY_SECONDS, Intake, Receipt
from otel_raglog.receive.patience import Patience
from otel_raglog.receive.room import Room

P = ParamSpec("P")
R = TypeVar("R")

SERVICES = {
    Signal.TRACES: "opentelemetry.proto.collector.trace.v1.TraceService",
    Signal.METRICS: "opentelemetry.proto.collector.metrics.v1.MetricsService",
    Signal.LOGS: "opentelemetry.proto.collector.logs.v1.LogsService",
}
"""The gRPC service of each signal."""

_LARGEST_BODIES_AT_ONCE = 2
"""Messages in memory, in largest requests: smaller ones are many more."""
_NANOS = 1_000_000_000
_OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_concurrent_streams", 64),
    ("grpc.max_metadata_size", 16 * 1024),
    ("grpc.absolute_max_metadata_size", 64 * 1024),
    ("grpc.max_connection_idle_ms", 10 * 60 * 1000),
    # A peer that is gone is noticed; one that pings all the time is sent away.
    ("grpc.keepalive_time_ms", 60 * 1000),
    ("grpc.keepalive_timeout_ms", 20 * 1000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10 * 1000),
    ("grpc.http2.max_ping_strikes", 2),
)


class GrpcDoor:
    """The gRPC services of ``signals``, on threads of their own.

    Messages arrive as bytes: grpc inflates them, bounded by the request limit. Answers: spans
    with invalid ids are a partial success, unreadable requests, and absurd values of the headers
    that travel on, ``INVALID_ARGUMENT``, too large
    ones ``RESOURCE_EXHAUSTED`` without RetryInfo (do not retry), no room (in the inbox, or beside
    other messages of twice the largest size) ``UNAVAILABLE`` with RetryInfo (retry), signals that
    no destination takes ``UNIMPLEMENTED``, calls without one of the ``tokens``, where there are any,
    ``UNAUTHENTICATED`` (their message is not read). Calls whose message does not come within
    ``request_timeout_seconds`` are cancelled, and sooner when such calls keep all threads waiting.

    ``option`` names the configuration option of the address, for the error of :meth:`start`.
    """

    def __init__(
        self,
        intake: Intake,
        host: str,
        port: int,
        *,
        option: str = "receive.grpc.port",
        signals: Collection[Signal],
        headers: AllowList | None = None,
        tokens: Tokens | None = None,
        request_timeout_seconds: float = 30.0,
        threads: int = 16,
    ) -> None:
        self._intake = intake
        self._allowed = headers or AllowList()
        self._address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self._option = option
        self._port = port
        self._pool = _CallThreads(threads)
        self._patience = Patience(
            request_timeout_seconds, threads, queued=lambda: self._pool.queued_calls
        )
        self._room = Room(_LARGEST_BODIES_AT_ONCE * intake.limits.max_request_bytes)
        limit = ("grpc.max_receive_message_length", intake.limits.max_request_bytes)
        keepers = (_Doorkeeper(tokens, intake),) if tokens else ()
        self._server = grpc.server(self._pool, options=[*_OPTIONS, limit], interceptors=keepers)
        for signal, service in SERVICES.items():
            answer = self._export if signal in signals else _refuse_unserved
            # The message of a streaming call is waited for in our code, not in grpc's: with an end.
            export = grpc.stream_unary_rpc_method_handler(partial(answer, signal))
            handler = grpc.method_handlers_generic_handler(service, {"Export": export})
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
        self._patience.start()

    def stop(self, grace_seconds: float) -> None:
        """Accept nothing more and wait up to ``grace_seconds`` for requests under way."""
        self._server.stop(grace_seconds).wait()
        self._patience.stop()
        self._pool.shutdown(wait=False)

    def _export(
        self, signal: Signal, messages: Iterator[bytes], context: grpc.ServicerContext
    ) -> bytes:
        with self._patience.waiting(context.cancel):
            body = next(messages, b"")
        try:
            headers = self._pick_headers(signal, context)
            receipt = self._take(signal, body, headers)
        # abort raises, so nothing below runs after it
        except TooLarge as error:
            context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error))
        except BadInput as error:
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except Unavailable as error:
            context.abort_with_status(_try_again(error))
        return answer_export(signal, receipt).SerializeToString()

    def _pick_headers(self, signal: Signal, context: grpc.ServicerContext) -> Headers:
        try:
            return self._allowed.pick(context.invocation_metadata())
        except BadInput as error:
            self._intake.refuse(signal, error)
            raise

    def _take(self, signal: Signal, body: bytes, headers: Headers) -> Receipt:
        with self._room.holding(len(body)) as fits:
            if fits:
                return self._intake.take(signal, body, headers)
        self._intake.turn_away(signal, "unavailable")
        raise Unavailable("too many requests at once", DEFAULT_RETRY_SECONDS)


class _Doorkeeper(grpc.ServerInterceptor):  # type: ignore[misc]  # grpc has no types
    """Lets calls in that have a token."""

    def __init__(self, tokens: Tokens, intake: Intake) -> None:
        self._tokens = tokens
        self._intake = intake

    def intercept_service(self, continuation: Any, details: Any) -> Any:
        """Return the handler of a call: one that refuses it where no token is right."""
        given = dict(details.invocation_metadata or ()).get("authorization")
        if self._tokens.allow(given):
            return continuation(details)
        service = details.method.strip("/").partition("/")[0]
        for signal, name in SERVICES.items():
            if name == service:
                self._intake.turn_away(signal, "unauthenticated")
        return grpc.stream_unary_rpc_method_handler(_refuse_unknown)


class _CallThreads(ThreadPoolExecutor):
    """Threads, and how many calls wait for one."""

    def __init__(self, threads: int) -> None:
        super().__init__(threads, thread_name_prefix="grpc-door")
        self._queued = 0
        self._counting = threading.Lock()

    @property
    def queued_calls(self) -> int:
        """Calls that wait for a thread."""
        return self._queued

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Run a call as soon as a thread is free."""
        self._count(1)

        def run() -> R:
            self._count(-1)
            return fn(*args, **kwargs)

        return super().submit(run)

    def _count(self, change: int) -> None:
        with self._counting:
            self._queued += change


def _refuse_unserved(signal: Signal, _: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
    context.abort(grpc.StatusCode.UNIMPLEMENTED, explain_unserved(signal))
    raise AssertionError("abort raises")


def _refuse_unknown(_: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
    context.abort(grpc.StatusCode.UNAUTHENTICATED, WHY_REFUSED)
    raise AssertionError("abort raises")


def _try_again(error: Unavailable) -> Any:
    """Return the status ``UNAVAILABLE`` with the time after which to try again."""
    seconds = error.retry_after_seconds
    nanos = int((DEFAULT_RETRY_SECONDS if seconds is None else seconds) * _NANOS)
    retry = RetryInfo(retry_delay=Duration(seconds=nanos // _NANOS, nanos=nanos % _NANOS))
    status = Status(code=Code.UNAVAILABLE, message=str(error))
    status.details.add().Pack(retry)
    return rpc_status.to_status(status)
