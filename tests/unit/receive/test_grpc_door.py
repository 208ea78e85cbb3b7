"""OTLP over a real gRPC channel."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from grpc_status import rpc_status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_raglog.errors import ConfigError
from otel_raglog.model import Signal
from otel_raglog.receive.auth import Tokens
from otel_raglog.receive.grpc_door import SERVICES, GrpcDoor
from otel_raglog.receive.headers import AllowList
from otel_raglog.receive.inbox import Arrival
from otel_raglog.receive.intake import Intake

MIB = 1024 * 1024


@pytest.fixture
def open_door(make_intake: Callable[..., Intake], stopping) -> Callable[..., GrpcDoor]:
    """Opens a door with the given limits."""

    def open_one(**limits: int) -> GrpcDoor:
        return stopping(GrpcDoor(make_intake(**limits), "127.0.0.1", 0, signals=Signal))

    return open_one


@pytest.fixture
def connect() -> Iterator[Callable[..., Callable[..., bytes]]]:
    """Connects to a door and returns a method of it."""
    channels: list[grpc.Channel] = []

    def to(door: GrpcDoor, signal: Signal = Signal.TRACES) -> Callable[..., bytes]:
        unlimited = [("grpc.max_send_message_length", -1)]
        channels.append(grpc.insecure_channel(f"127.0.0.1:{door.port}", options=unlimited))
        return channels[-1].unary_unary(f"/{SERVICES[signal]}/Export")

    yield to
    for channel in channels:
        channel.close()


def refused(call: Callable[..., bytes], body: bytes, **options: object) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as error:
        call(body, timeout=30, **options)
    return error.value


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_spans_are_accepted(compression, open_door, connect, one_span, inbox) -> None:
    """Full success is an empty response, whatever the compression."""
    answer = connect(open_door())(one_span, timeout=30, compression=compression)
    assert answer == b""
    assert inbox.items == 1


def test_an_empty_request_succeeds(open_door, connect) -> None:
    """Without partial success."""
    answer = ExportTraceServiceResponse.FromString(connect(open_door())(b"", timeout=30))
    assert not answer.HasField("partial_success")


def test_spans_with_invalid_ids_are_a_partial_success(
    open_door, connect, make_span, pack, inbox
) -> None:
    """The good ones are kept, and the client learns how many were not and why."""
    body = pack(make_span(), make_span(trace_id=b"short"))
    answer = ExportTraceServiceResponse.FromString(connect(open_door())(body, timeout=30))
    assert answer.partial_success.rejected_spans == 1
    assert answer.partial_success.error_message == "invalid_trace_id: 1"
    assert inbox.items == 1


def test_garbage_is_an_invalid_argument(open_door, connect, one_span, observer) -> None:
    """It is counted, and the door stays open."""
    call = connect(open_door())
    assert refused(call, b"\xff\xff").code() is grpc.StatusCode.INVALID_ARGUMENT
    assert observer.reasons == {"malformed": 1}
    assert call(one_span, timeout=30) == b""


def test_a_message_beyond_the_limit_is_exhausted_for_good(open_door, connect) -> None:
    """No RetryInfo: the client must not send it again."""
    error = refused(connect(open_door(max_request_bytes=MIB)), bytes(2 * MIB))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert rpc_status.from_call(error) is None


def test_a_bomb_is_exhausted(open_door, connect) -> None:
    """The limit holds for what gzip inflates to."""
    call = connect(open_door(max_request_bytes=MIB))
    error = refused(call, bytes(32 * MIB), compression=grpc.Compression.Gzip)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_millions_of_spans_are_exhausted(open_door, connect, hostile_spans, observer) -> None:
    """The span limit answers like the byte limit."""
    error = refused(connect(open_door()), hostile_spans)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert rpc_status.from_call(error) is None
    assert observer.reasons == {"too_large": 1}


def test_messages_beyond_the_default_of_grpc_are_accepted(
    open_door, connect, make_span, pack, inbox
) -> None:
    """grpc's own limit is 4 MiB."""
    span = make_span()
    span.attributes.add(key="k").value.string_value = "x" * (16 * MIB)
    assert connect(open_door())(pack(span), timeout=30) == b""
    assert inbox.items == 1


def test_a_full_inbox_is_unavailable_with_retry_info(open_door, connect, one_span, inbox) -> None:
    """The client learns when to come back."""
    inbox.retry_after_seconds = 2.5
    error = refused(connect(open_door()), one_span)
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    retry = RetryInfo()
    assert rpc_status.from_call(error).details[0].Unpack(retry)
    assert retry.retry_delay.ToTimedelta().total_seconds() == 2.5


@pytest.mark.parametrize("signal", list(Signal))
def test_every_signal_has_its_service(signal: Signal, open_door, connect, bodies, inbox) -> None:
    """Each body arrives as it was sent."""
    assert connect(open_door(), signal)(bodies[signal], timeout=30) == b""
    (arrival,) = inbox.arrivals
    assert (arrival.signal, arrival.body, arrival.items) == (signal, bodies[signal], 1)


def test_a_signal_that_no_destination_takes_is_unimplemented(
    make_intake, stopping, connect, bodies
) -> None:
    """The message says what to look at; the others are served."""
    door = stopping(GrpcDoor(make_intake(), "127.0.0.1", 0, signals={Signal.TRACES}))
    error = refused(connect(door, Signal.LOGS), bodies[Signal.LOGS])
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "no destination takes logs" in error.details()
    assert connect(door)(bodies[Signal.TRACES], timeout=30) == b""


def test_allowed_headers_travel_on(make_intake, stopping, connect, one_span, inbox) -> None:
    """Metadata that is not on the list stays behind."""
    allowed = AllowList(["X-Scope-OrgID"])
    door = stopping(GrpcDoor(make_intake(), "127.0.0.1", 0, signals=Signal, headers=allowed))
    sent = (("x-scope-orgid", "tenant"), ("authorization", "secret"), ("x-otel-raglog-via", "a"))
    connect(door)(one_span, timeout=30, metadata=sent)
    assert inbox.arrivals[0].headers == (("x-scope-orgid", "tenant"), ("x-otel-raglog-via", "a"))


def test_an_absurd_value_of_an_allowed_header_is_refused_for_good(
    make_intake, stopping, connect, one_span, inbox, observer
) -> None:
    """The message names the header and not its value; nothing is accepted for another tenant."""
    allowed = AllowList(["x-scope-orgid"])
    door = stopping(GrpcDoor(make_intake(), "127.0.0.1", 0, signals=Signal, headers=allowed))
    error = refused(connect(door), one_span, metadata=(("x-scope-orgid", "a" * 1025),))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert error.details() == "header x-scope-orgid: longer than 1024 bytes"
    assert (observer.reasons, inbox.items) == ({"malformed": 1}, 0)


def test_a_loop_is_refused_for_good(open_door, connect, one_span, observer) -> None:
    """What went through this instance before must not go round for ever."""
    error = refused(connect(open_door()), one_span, metadata=(("x-otel-raglog-via", "other,me"),))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert observer.reasons == {"loop": 1}


def test_calls_without_a_message_do_not_keep_others_out(
    make_intake, stopping, connect, one_span
) -> None:
    """More calls than threads wait for a message that never comes; others are served meanwhile."""
    door = stopping(
        GrpcDoor(
            make_intake(), "127.0.0.1", 0, signals=Signal, request_timeout_seconds=60, threads=2
        )
    )
    silence = threading.Event()

    def never() -> Iterator[bytes]:
        silence.wait(60)
        yield b""

    with grpc.insecure_channel(f"127.0.0.1:{door.port}") as channel:
        export = channel.stream_unary(f"/{SERVICES[Signal.TRACES]}/Export")
        stalled = [export.future(never()) for _ in range(4)]
        assert connect(door)(one_span, timeout=30) == b""
        assert stalled[0].code() is grpc.StatusCode.CANCELLED
        silence.set()


def test_a_flood_of_calls_without_a_message_passes_quickly(
    make_intake, stopping, connect, one_span
) -> None:
    """Hundreds of them are ended in the time that each alone would get."""
    door = stopping(
        GrpcDoor(
            make_intake(), "127.0.0.1", 0, signals=Signal, request_timeout_seconds=60, threads=2
        )
    )
    silence = threading.Event()

    def never() -> Iterator[bytes]:
        silence.wait(60)
        yield b""

    with contextlib.ExitStack() as channels:
        for _ in range(2):  # a channel has 64 calls at once
            own = [("grpc.use_local_subchannel_pool", 1)]
            channel = grpc.insecure_channel(f"127.0.0.1:{door.port}", own)
            channels.enter_context(channel)
            export = channel.stream_unary(f"/{SERVICES[Signal.TRACES]}/Export")
            stalled = [export.future(never()) for _ in range(60)]
        assert connect(door)(one_span, timeout=15) == b""
        assert stalled[0].code() is grpc.StatusCode.CANCELLED
        silence.set()


def test_messages_in_memory_are_bounded(
    make_intake, stopping, connect, inbox, observer, pack, make_span
) -> None:
    """Beyond twice the largest request one is refused, to be sent again; smaller ones pass."""
    large = pack(make_span(name="n" * 800))
    door = stopping(GrpcDoor(make_intake(max_request_bytes=1000), "127.0.0.1", 0, signals=Signal))
    working, may_end = threading.Semaphore(0), threading.Event()
    accept = inbox.accept

    def accept_slowly(arrival: Arrival) -> None:
        working.release()
        may_end.wait(30)
        accept(arrival)

    inbox.accept = accept_slowly
    call = connect(door)
    under_way = [call.future(large, timeout=30) for _ in range(2)]
    for _ in under_way:
        assert working.acquire(timeout=30)
    error = refused(call, large)
    small = call.future(pack(make_span()), timeout=30)
    assert working.acquire(timeout=30)
    may_end.set()
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert rpc_status.from_call(error).details[0].Is(RetryInfo.DESCRIPTOR)
    assert [taken.result() for taken in (*under_way, small)] == [b""] * 3
    assert observer.reasons == {"unavailable": 1}


def test_metadata_without_end_is_refused(open_door, connect, one_span) -> None:
    """Nobody may fill the memory with headers."""
    call = connect(open_door())
    error = refused(call, one_span, metadata=(("x-large", "v" * 1024 * 1024),))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert call(one_span, timeout=30) == b""


def test_a_port_in_use_is_a_config_error(open_door, make_intake) -> None:
    """It names the option, and the port is not shared silently."""
    taken = open_door().port
    door = GrpcDoor(make_intake(), "127.0.0.1", taken, signals=Signal, option="receive.grpc.port")
    with pytest.raises(ConfigError, match=f"receive.grpc.port: .*:{taken}"):
        door.start()
    door.stop(0)


TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("sent", [(), (("authorization", "Bearer wrong-0123456789"),)])
@pytest.mark.parametrize("signal", list(Signal))
def test_without_the_token_nothing_comes_in(
    sent, signal, make_intake, stopping, connect, bodies, inbox, observer
) -> None:
    """It is counted, unread, and not to be tried again."""
    door = GrpcDoor(make_intake(), "127.0.0.1", 0, signals=Signal, tokens=Tokens([TOKEN]))
    error = refused(connect(stopping(door), signal), bodies[signal], metadata=sent)
    assert error.code() is grpc.StatusCode.UNAUTHENTICATED
    assert "receive.auth" in error.details()
    assert TOKEN not in error.details()
    assert inbox.arrivals == []
    assert observer.reasons["unauthenticated"] == observer.items_received[signal] == 1


def test_with_the_token_spans_come_in(make_intake, stopping, connect, one_span, inbox) -> None:
    """And the token travels no further."""
    door = GrpcDoor(make_intake(), "127.0.0.1", 0, signals=Signal, tokens=Tokens([TOKEN]))
    sent = (("authorization", f"Bearer {TOKEN}"),)
    assert connect(stopping(door))(one_span, timeout=30, metadata=sent) == b""
    assert inbox.items == 1
    assert inbox.arrivals[0].headers == ()
