"""Requests, an observer that remembers, and doors that are really open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span

from otel_raglog.receive.inbox import MemoryInbox
from otel_raglog.receive.intake import Intake
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers

TRACE_ID = bytes(range(1, 17))


class RememberingObserver:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.spans_received = 0
        self.reasons: Counter[str] = Counter()

    def received(self, spans: int) -> None:
        self.spans_received += spans

    def rejected(self, reason: str, spans: int) -> None:
        self.reasons[reason] += spans


@pytest.fixture
def observer() -> RememberingObserver:
    return RememberingObserver()


@pytest.fixture
def markers() -> Markers:
    return Markers(key_prefixes=(b"openinference.", b"gen_ai."), names=(b"Retriever.",))


@pytest.fixture
def inbox() -> MemoryInbox:
    return MemoryInbox(max_spans=1000, max_bytes=256 * 1024 * 1024)


@pytest.fixture
def make_intake(
    inbox: MemoryInbox, observer: RememberingObserver, markers: Markers
) -> Callable[..., Intake]:
    def make(**limits: int) -> Intake:
        return Intake(inbox, observer, Limits(**limits), markers)

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
        resource = ResourceSpans(scope_spans=[scope])
        resource.resource.attributes.add(key="service.name").value.string_value = "bot"
        return ExportTraceServiceRequest(resource_spans=[resource]).SerializeToString()

    return pack_spans


@pytest.fixture
def one_span(make_span: Callable[..., Span], pack: Callable[..., bytes]) -> bytes:
    """A request of one good span."""
    return pack(make_span())


@pytest.fixture
def hostile_spans() -> bytes:
    """8 MiB that protobuf reads as 4.2 million empty spans."""
    return _wrap(1, _wrap(2, b"\x12\x00" * (4 * 1024 * 1024)))


@pytest.fixture
def wrap() -> Callable[[int, bytes], bytes]:
    """Puts bytes into a length-delimited protobuf field."""
    return _wrap


def _wrap(number: int, payload: bytes) -> bytes:
    length, size = b"", len(payload)
    while size > 0x7F:
        length += bytes([size & 0x7F | 0x80])
        size >>= 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + payload


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
