"""Requests, an observer that remembers, and doors that are really open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from otel_raglog.errors import TooLarge, Unavailable
from otel_raglog.model import Signal
from otel_raglog.receive.inbox import Arrival
from otel_raglog.receive.intake import Intake
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.sifting import Sifter
from otel_raglog.wire import wrap as put_into_field

TRACE_ID = bytes(range(1, 17))


class RememberingObserver:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.items_received: Counter[Signal] = Counter()
        self.reasons: Counter[str] = Counter()

    @property
    def spans_received(self) -> int:
        return self.items_received[Signal.TRACES]

    def received(self, signal: Signal, items: int) -> None:
        self.items_received[signal] += items

    def rejected(self, signal: Signal, reason: str, items: int) -> None:
        self.reasons[reason] += items


class RecordingInbox:
    """Keeps what it accepts; refuses while it is told to."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.retry_after_seconds: float | None = None
        self.too_small = False

    @property
    def items(self) -> int:
        return sum(arrival.items for arrival in self.arrivals)

    def accept(self, arrival: Arrival) -> None:
        if self.retry_after_seconds is not None:
            raise Unavailable("the journal is full", self.retry_after_seconds)
        if self.too_small:
            raise TooLarge("more than the whole journal may hold")
        self.arrivals.append(arrival)


@pytest.fixture
def observer() -> RememberingObserver:
    return RememberingObserver()


@pytest.fixture
def markers() -> Markers:
    return Markers(key_prefixes=(b"openinference.", b"gen_ai."), names=(b"Retriever.",))


@pytest.fixture
def inbox() -> RecordingInbox:
    return RecordingInbox()


@pytest.fixture
def make_intake(
    inbox: RecordingInbox, observer: RememberingObserver, markers: Markers
) -> Callable[..., Intake]:
    """Builds an intake with some limits, and with options such as ``why_refuse``."""

    def make(
        instance_id: str = "me",
        why_refuse: Callable[[int], str | None] | None = None,
        **limits: int,
    ) -> Intake:
        chosen = Limits(**limits)
        sifter = Sifter(chosen, markers)
        return Intake(inbox, observer, chosen, sifter, instance_id, why_refuse)

    return make


@pytest.fixture
def make_span() -> Callable[..., Span]:
    """Builds a span with valid ids unless told otherwise."""

    def make(**fields: object) -> Span:
        return Span(**{"trace_id": TRACE_ID, "span_id": b"spanspan", "name": "s", **fields})

    return make


@pytest.fixture
def pack() -> Callable[..., bytes]:
    """Serializes spans as one export request."""

    def pack_spans(*spans: Span) -> bytes:
        scope = ScopeSpans(spans=spans)
        scope.scope.name = "the scope"
        scope.scope.version = "1.2"
        resource = ResourceSpans(scope_spans=[scope])
        resource.resource.attributes.add(key="service.name").value.string_value = "bot"
        return ExportTraceServiceRequest(resource_spans=[resource]).SerializeToString()

    return pack_spans


@pytest.fixture
def one_span(make_span: Callable[..., Span], pack: Callable[..., bytes]) -> bytes:
    """A request of one good span."""
    return pack(make_span())


@pytest.fixture
def bodies(one_span: bytes) -> dict[Signal, bytes]:
    """A request of one item of each signal."""
    logs = ExportLogsServiceRequest()
    logs.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=1)
    metrics = ExportMetricsServiceRequest()
    metric = metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    metric.gauge.data_points.add(time_unix_nano=1, as_int=1)
    return {
        Signal.TRACES: one_span,
        Signal.METRICS: metrics.SerializeToString(),
        Signal.LOGS: logs.SerializeToString(),
    }


@pytest.fixture
def hostile_spans() -> bytes:
    """8 MiB that protobuf reads as 4.2 million empty spans."""
    return put_into_field(1, put_into_field(2, b"\x12\x00" * (4 * 1024 * 1024)))


@pytest.fixture
def wrap() -> Callable[[int, bytes], bytes]:
    """Puts bytes into a length-delimited protobuf field."""
    return put_into_field


@pytest.fixture
def nest(wrap: Callable[[int, bytes], bytes]) -> Callable[[int], bytes]:
    """Serializes a request of one span whose attribute has that many arrays in each other."""

    def nest_arrays(depth: int) -> bytes:
        value = b"\x10\x01"
        for _ in range(depth):
            value = wrap(5, wrap(1, value))
        attribute = wrap(9, wrap(1, b"deep") + wrap(2, value))
        span = wrap(1, TRACE_ID) + wrap(2, b"spanspan") + attribute
        return wrap(1, wrap(2, wrap(2, span)))

    return nest_arrays


@pytest.fixture
def stopping() -> Iterator[Callable[[object], object]]:
    """Starts doors and servers, and stops them after the test."""
    started: list = []

    def start(door):
        door.start()
        started.append(door)
        return door

    yield start
    for door in started:
        door.stop(1.0)
