"""Captured calls to spans on their way: one thread makes them safe and lines them up."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from otel_raglog_proxy_bridge.carried_secrets import CarriedSecrets
from otel_raglog_proxy_bridge.frames import Begun, Event, Forgotten
from otel_raglog_proxy_bridge.masking import mask_text
from otel_raglog_proxy_bridge.model import Call, Side
from otel_raglog_proxy_bridge.safety import DEFAULT_RULES, RawCall, SafetyRules, safe_call
from otel_raglog_proxy_bridge.secret_formats import MASK

_LOG = logging.getLogger(__name__)
_MARK_BYTES = 1024
"""What a queued event costs in memory beside bodies, about."""
_MASKED_KEYS = frozenset({"stringValue", "name", "message"})

Run = TypeVar("Run")


class WrittenRun(Protocol):
    """A run as one element of ``resourceSpans``."""

    @property
    def resource_spans(self) -> Mapping[str, object]:
        """The element."""


class CallLine(Protocol[Run]):
    """What takes calls and gives the runs that they make up."""

    def begin(self, call_id: str, started_ns: int) -> None:
        """Note that an outbound call started."""

    def begin_front(self, call_id: str, started_ns: int, traceparent: str = "") -> None:
        """Note that the pipeline's own API was called."""

    def forget(self, call_id: str) -> None:
        """Note that a call that began will not be added."""

    def add(self, call: Call) -> Iterable[Run]:
        """Take an ended call."""

    def tick(self, now_ns: int) -> Iterable[Run]:
        """Return the runs that are over."""

    def flush(self) -> Iterable[Run]:
        """Return the runs that are open."""

    def spans(self, run: Run) -> WrittenRun:
        """Write a run."""


class SpanSink(Protocol):
    """What takes spans."""

    def put(self, resource_spans: Mapping[str, object]) -> bool:
        """Take one element of ``resourceSpans``; return whether there was room for it."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How much may wait for the worker, and how often it asks for runs that are over."""

    max_bytes: int = 64 * 1024 * 1024
    tick_seconds: float = 0.5


class CaptureWorker(Generic[Run]):
    """Takes calls from the proxy without ever holding it up, and works on a thread of its own.

    ``begin``, ``put`` and ``forget`` never wait and never raise. When too much waits, a call is
    dropped and counted; its line is told to forget it. Nothing that goes wrong with one call
    touches another; it is counted, and logged once without a word of the call.
    """

    def __init__(
        self,
        line: CallLine[Run],
        sink: SpanSink,
        rules: SafetyRules = DEFAULT_RULES,
        options: WorkerOptions | None = None,
        *,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._line = line
        self._sink = sink
        self._rules = rules
        self._carried = CarriedSecrets()
        self._options = options or WorkerOptions()
        self._clock_ns = clock_ns
        self._changed = threading.Condition()
        self._events: deque[Event] = deque()
        self._bytes = 0
        self._closing = False
        self._hurry = threading.Event()
        self._logged: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="raglog-capture", daemon=True)
        self.counts: Counter[str] = Counter()

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    def begin(self, call_id: str, started_ns: int, side: Side, traceparent: str = "") -> None:
        """Tell that a call started, before its answer is there."""
        self._queue(Begun(call_id, started_ns, side, traceparent), _MARK_BYTES)

    def put(self, raw: RawCall) -> None:
        """Take an ended call."""
        if not self._queue(raw, _size(raw)):
            self.forget(raw.id)  # or its run would wait for it

    def forget(self, call_id: str) -> None:
        """Tell that a call that began is of no interest."""
        self._queue(Forgotten(call_id), 0)

    def close(self, timeout_seconds: float) -> None:
        """Work off what waits and write the open runs, as far as the time allows."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread.ident is not None:
            self._thread.join(max(0.0, timeout_seconds))
        self._hurry.set()  # a thread that still works stops after the call that it is at
        with self._changed:
            left = sum(isinstance(event, RawCall) for event in self._events)
            self._events.clear()
            if left:
                self.counts["dropped_shutdown"] += left

    # --------------------------------------------------------------- the thread

    def _queue(self, event: Event, size: int) -> bool:
        with self._changed:
            if self._closing or (size and self._bytes + size > self._options.max_bytes):
                if isinstance(event, RawCall):
                    reason = "shutdown" if self._closing else "queue_full"
                    self.counts[f"dropped_{reason}"] += 1
                return False
            self._events.append(event)
            self._bytes += size
            self._changed.notify()
            return True

    def _run(self) -> None:
        tick_ns = int(self._options.tick_seconds * 1e9)
        next_tick = self._clock_ns() + tick_ns
        while not self._hurry.is_set():
            event, closing = self._next()
            if event is not None:
                self._guarded("a call", partial(self._take, event))
            elif closing:
                self._guarded("the last runs", self._flush)
                return
            now = self._clock_ns()
            if now >= next_tick:
                next_tick = now + tick_ns
                self._guarded("a tick", partial(self._tick, now))

    def _next(self) -> tuple[Event | None, bool]:
        with self._changed:
            if not self._events and not self._closing:
                self._changed.wait(self._options.tick_seconds)
            if not self._events:
                return None, self._closing
            event = self._events.popleft()
            self._bytes -= _size(event) if not isinstance(event, Forgotten) else 0
            return event, self._closing

    def _take(self, event: Event) -> None:
        match event:
            case Begun(side=Side.FRONT):
                self._line.begin_front(event.call_id, event.started_ns, event.traceparent)
            case Begun():
                self._line.begin(event.call_id, event.started_ns)
            case Forgotten():
                self._line.forget(event.call_id)
            case RawCall():
                self.counts["calls"] += 1
                self._add(event)

    def _add(self, raw: RawCall) -> None:
        try:
            runs = self._line.add(safe_call(raw, self._rules, self._carried))
        except Exception:
            self._line.forget(raw.id)
            raise
        self._send(runs)

    def _tick(self, now_ns: int) -> None:
        self._send(self._line.tick(now_ns))

    def _flush(self) -> None:
        self._send(self._line.flush())

    def _send(self, runs: Iterable[Run]) -> None:
        for run in runs:
            self._guarded("a run", partial(self._write, run))

    def _write(self, run: Run) -> None:
        self.counts["runs"] += 1
        written = self._line.spans(run)
        self._sink.put(masked_spans(written.resource_spans, self._rules, self._carried))

    def _guarded(self, what: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - one call must not cost another
            self.counts["errors"] += 1
            kind = type(error).__name__
            if kind not in self._logged:
                self._logged.add(kind)
                _LOG.warning("raglog: %s was left out: %s at %s", what, kind, place_of(error))


def place_of(error: BaseException) -> str:
    """Return the file and line where ``error`` was raised: all that may be logged of it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"


def masked_spans(
    resource_spans: Mapping[str, object],
    rules: SafetyRules = DEFAULT_RULES,
    carried: CarriedSecrets | None = None,
) -> Mapping[str, object]:
    """Return spans with the secrets masked that only showed when pieces were put together.

    A streamed answer, say, comes in pieces of which none looks like a key. Texts that cannot be
    masked, and lone surrogates, which are no UTF-8, are replaced.
    """
    masked = _masked(resource_spans, rules, carried or CarriedSecrets())
    assert isinstance(masked, dict)  # noqa: S101
    return masked


def _masked(data: object, rules: SafetyRules, carried: CarriedSecrets) -> object:
    if isinstance(data, Mapping):
        return {
            key: _masked_text(value, rules, carried)
            if key in _MASKED_KEYS and isinstance(value, str)
            else _masked(value, rules, carried)
            for key, value in data.items()
        }
    if isinstance(data, list | tuple):
        return [_masked(item, rules, carried) for item in data]
    return data


def _masked_text(text: str, rules: SafetyRules, carried: CarriedSecrets) -> str:
    try:
        masked = carried.mask(mask_text(text, rules.patterns))
        return masked if masked.isascii() else masked.encode("utf-8", "replace").decode()
    except Exception:  # noqa: BLE001 - a text that cannot be masked is not let through
        return MASK


def _size(event: RawCall | Begun) -> int:
    if isinstance(event, Begun):
        return _MARK_BYTES
    return _MARK_BYTES + len(event.request_body) + len(event.response_body)
