"""OTLP over a real gRPC channel."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from grpc_status import rpc_status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from otel_raglog.errors import ConfigError
from otel_raglog.receive.grpc_door import SERVICE, GrpcDoor
from otel_raglog.receive.inbox import MemoryInbox
from otel_raglog.receive.intake import Intake

MIB = 1024 * 1024


@pytest.fixture
def open_door(make_intake: Callable[..., Intake], stopping) -> Callable[..., GrpcDoor]:
    """Opens a door with the given limits."""

    def open_one(**limits: int) -> GrpcDoor:
        return stopping(GrpcDoor(make_intake(**limits), "127.0.0.1", 0))

    return open_one


@pytest.fixture
def connect() -> Iterator[Callable[..., Callable[..., bytes]]]:
    """Connects to a door and returns a method of it."""
    channels: list[grpc.Channel] = []

    def to(door: GrpcDoor, method: str = f"/{SERVICE}/Export") -> Callable[..., bytes]:
        unlimited = [("grpc.max_send_message_length", -1)]
        channels.append(grpc.insecure_channel(f"127.0.0.1:{door.port}", options=unlimited))
        return channels[-1].unary_unary(method)

    yield to
    for channel in channels:
        channel.close()


def refused(call: Callable[..., bytes], body: bytes, **options: object) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as error:
        call(body, timeout=30, **options)
    return error.value


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_spans_are_accepted(compression, open_door, connect, one_span, inbox: MemoryInbox) -> None:
    """Full success is an empty response, whatever the compression."""
    answer = connect(open_door())(one_span, timeout=30, compression=compression)
    assert answer == b""
    assert inbox.spans == 1


def test_an_empty_request_succeeds(open_door, connect) -> None:
    """Without partial success."""
    answer = ExportTraceServiceResponse.FromString(connect(open_door())(b"", timeout=30))
    assert not answer.HasField("partial_success")


def test_spans_with_invalid_ids_are_a_partial_success(
    open_door, connect, make_span, pack, inbox: MemoryInbox
) -> None:
    """The good ones are kept, and the client learns how many were not and why."""
    body = pack(make_span(), make_span(trace_id=b"short"))
    answer = ExportTraceServiceResponse.FromString(connect(open_door())(body, timeout=30))
    assert answer.partial_success.rejected_spans == 1
    assert answer.partial_success.error_message == "invalid_trace_id: 1"
    assert inbox.spans == 1


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
    open_door, connect, make_span, pack, inbox: MemoryInbox
) -> None:
    """grpc's own limit is 4 MiB."""
    span = make_span()
    span.attributes.add(key="k").value.string_value = "x" * (16 * MIB)
    assert connect(open_door())(pack(span), timeout=30) == b""
    assert inbox.spans == 1


def test_a_full_inbox_is_unavailable_with_retry_info(
    connect, one_span, make_intake, markers, observer, stopping
) -> None:
    """The client learns when to come back."""
    full = MemoryInbox(1, 1, retry_after_seconds=2.5)
    door = stopping(GrpcDoor(Intake(full, observer, make_intake().limits, markers), "127.0.0.1", 0))
    call = connect(door)
    call(one_span, timeout=30)
    error = refused(call, one_span)
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    retry = RetryInfo()
    assert rpc_status.from_call(error).details[0].Unpack(retry)
    assert retry.retry_delay.ToTimedelta().total_seconds() == 2.5


def test_other_signals_are_not_served(open_door, connect) -> None:
    """They are refused, not read as traces."""
    method = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
    assert refused(connect(open_door(), method), b"").code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_port_in_use_is_a_config_error(open_door, make_intake) -> None:
    """It names the option, and the port is not shared silently."""
    taken = open_door().port
    door = GrpcDoor(make_intake(), "127.0.0.1", taken, option="receive.grpc_port")
    with pytest.raises(ConfigError, match=f"receive.grpc_port: .*:{taken}"):
        door.start()
    door.stop(0)
