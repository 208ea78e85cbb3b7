"""Journals for tests: what they count, what they journal, and stores that fail when told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_raglog.clock import Clock, ManualClock
from otel_raglog.errors import Unavailable
from otel_raglog.journal.cursors import Cursors, MemoryCursors
from otel_raglog.journal.feed import Feed
from otel_raglog.journal.journal import Journal, JournalLimits
from otel_raglog.journal.memory import MemoryStore
from otel_raglog.journal.store import Damaged, Missing, Store
from otel_raglog.model import Decision, Headers, Payload, Piece, Signal
from otel_raglog.receive.picking import pick
from otel_raglog_exporters.grouping import encode_payload, encode_request
from otel_raglog_exporters.sending import Pull, Taken

EVERYTHING = frozenset(Signal)
NOW = Pull(items=1_000_000, bytes=1_000_000_000, seconds=0.0)
MEGABYTE = 1024 * 1024


class Tally:
    """A journal's observer that keeps what it is told."""

    def __init__(self) -> None:
        self.dropped_items: Counter[tuple[str, Signal, str]] = Counter()
        self.damaged_records = 0

    def dropped(self, exporter: str, signal: Signal, reason: str, count: int) -> None:
        self.dropped_items[exporter, signal, reason] += count

    def damaged(self, count: int) -> None:
        self.damaged_records += count

    def lost(self, exporter: str, signal: Signal) -> int:
        """Return the items dropped for one feed, whatever the reason."""
        return sum(
            count
            for (name, kind, _), count in self.dropped_items.items()
            if (name, kind) == (exporter, signal)
        )


class TroubledStore:
    """A store that refuses to append, or to give some records, when told to."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.refusing = False
        self.damaged: set[int] = set()
        self.missing: set[int] = set()
        self.reads = 0
        self.segments_asked = 0

    @property
    def segment_bytes(self) -> int:
        return self.inner.segment_bytes

    @property
    def first(self) -> int:
        return self.inner.first

    @property
    def next(self) -> int:
        return self.inner.next

    @property
    def size_bytes(self) -> int:
        return self.inner.size_bytes

    @property
    def damaged_records(self) -> int:
        return self.inner.damaged_records

    def append(self, records: Sequence[Sequence[bytes]]) -> int:
        if self.refusing:
            raise Unavailable("no space left on device")
        return self.inner.append(records)

    def probe(self, size: int) -> None:
        if self.refusing:
            raise Unavailable("no space left on device")
        self.inner.probe(size)

    def read(self, number: int) -> bytes:
        self.reads += 1
        if number in self.damaged:
            raise Damaged(number)
        if number in self.missing:
            raise Missing(number)
        return self.inner.read(number)

    def numbers(self) -> Iterator[int]:
        return (number for number in self.inner.numbers() if number not in self.missing)

    def segment_end(self, number: int) -> int:
        self.segments_asked += 1
        return self.inner.segment_end(number)

    def drop_before(self, number: int) -> int:
        return self.inner.drop_before(number)

    def skip_to(self, number: int) -> None:
        self.inner.skip_to(number)

    def oldest_age_seconds(self, now_unix: float) -> float:
        return self.inner.oldest_age_seconds(now_unix)

    def close(self) -> None:
        self.inner.close()


class Desk:
    """A journal on stores that outlive it, and all that a test needs to work with it."""

    def __init__(
        self,
        destinations: Iterable[str] = ("one",),
        *,
        limits: JournalLimits | None = None,
        segment_bytes: int = MEGABYTE,
        signals: frozenset[Signal] = EVERYTHING,
        stores: tuple[Store, Store] | None = None,
        cursors: Cursors | None = None,
    ) -> None:
        self.clock = ManualClock(1_000_000.0)
        inner = stores or memory_stores(segment_bytes, self.clock)
        self.requests = TroubledStore(inner[0])
        self.decisions = TroubledStore(inner[1])
        self.cursors = cursors or MemoryCursors()
        self.limits = limits or JournalLimits(100 * MEGABYTE, 3600.0, 0, 10 * MEGABYTE, MEGABYTE)
        self.destinations = dict.fromkeys(destinations, signals)
        self.tally = Tally()
        self.free_bytes: int | None = None
        self.start()

    def start(self) -> None:
        """Open the journal anew, as after a kill."""
        self.journal = Journal(
            self.requests,
            self.decisions,
            self.cursors,
            self.limits,
            self.tally,
            self.clock,
            lambda: self.free_bytes,
        )
        feeds = self.journal.open(self.destinations)
        self.feeds = {(feed.destination, feed.signal): feed for feed in feeds}
        self.recovered = self.journal.recover()

    def feed(self, destination: str = "one", signal: Signal = Signal.TRACES) -> Feed:
        return self.feeds[destination, signal]

    def pass_whole(
        self, body: bytes, items: int, signal: Signal = Signal.TRACES, headers: Headers = ()
    ) -> int:
        """Accept a request that leaves as it is."""
        request = Payload(signal, body, items, headers)
        return self.journal.accept(request, request)

    def pass_some(self, body: bytes, items: int, *ordinals: int, headers: Headers = ()) -> int:
        """Accept a request of which some spans leave at once."""
        passes = encode_payload(pick(body, Piece(0, ordinals)), headers)
        request = Payload(Signal.TRACES, body, items, headers)
        return self.journal.accept(request, passes, ordinals)

    def hold(self, body: bytes, items: int) -> int:
        """Accept a request of which nothing leaves at once."""
        return self.journal.accept(Payload(Signal.TRACES, body, items), None)

    def read(self, number: int) -> bytes:
        """Return the body of a journalled request."""
        from otel_raglog.journal.decisions import decode_request

        return decode_request(self.requests.inner.read(number)).body

    def release(self, *pieces: Piece, trace_id: bytes = b"", late: bytes = b"") -> Payload:
        """Decide that ``pieces`` leave; return their payload."""
        spans = [span for piece in pieces for span in pick(self.read(piece.request), piece)]
        payload = Payload(Signal.TRACES, encode_request(spans), len(spans))
        decision = Decision(Signal.TRACES, len(spans), pieces, trace_id, late)
        self.journal.decide([decision], [payload])
        return payload

    def take(self, destination: str = "one", signal: Signal = Signal.TRACES) -> Taken | None:
        """Return what a feed owes at the moment; ``None`` when that is nothing."""
        feed = self.feed(destination, signal)
        return feed.take(NOW) if feed.pending_items else None

    def deliver(self, destination: str = "one", signal: Signal = Signal.TRACES) -> list[Payload]:
        """Take and settle all that a feed owes."""
        delivered: list[Payload] = []
        while taken := self.take(destination, signal):
            delivered += taken.payloads
            self.feed(destination, signal).settle(taken)
        return delivered


def memory_stores(segment_bytes: int, clock: Clock) -> tuple[Store, Store]:
    """Return stores for requests and decisions."""
    return MemoryStore(segment_bytes, clock), MemoryStore(segment_bytes, clock)


def trace_request(names: Sequence[str], services: Sequence[str] = ("shop",)) -> bytes:
    """Return a request with a span of each name, spread over the services."""
    request = ExportTraceServiceRequest()
    for at, service in enumerate(services):
        block = request.resource_spans.add()
        attribute = block.resource.attributes.add(key="service.name")
        attribute.value.string_value = service
        scope = block.scope_spans.add()
        for name in names[at :: len(services)]:
            scope.spans.append(Span(trace_id=b"t" * 16, span_id=b"s" * 8, name=name))
    return request.SerializeToString()


def span_names(body: bytes) -> list[str]:
    """Return the names of the spans of a request, in the order of its bytes."""
    request = ExportTraceServiceRequest.FromString(body)
    return [
        span.name
        for block in request.resource_spans
        for scope in block.scope_spans
        for span in scope.spans
    ]


def log_request(texts: Sequence[str]) -> bytes:
    """Return a request with a log record of each text."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add().scope_logs.add()
    for text in texts:
        scope.log_records.add().body.string_value = text
    return request.SerializeToString()


def log_texts(body: bytes) -> list[str]:
    """Return the texts of the log records of a request."""
    request = ExportLogsServiceRequest.FromString(body)
    return [
        record.body.string_value
        for block in request.resource_logs
        for scope in block.scope_logs
        for record in scope.log_records
    ]
