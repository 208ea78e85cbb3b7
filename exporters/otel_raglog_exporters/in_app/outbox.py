"""Ended spans turned into requests by a thread of its own, in bounded memory and bounded time."""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from queue import Empty
from random import Random
from typing import Protocol

from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, attach, detach, set_value
from opentelemetry.sdk.trace import ReadableSpan

from otel_raglog.clock import Clock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog_exporters.in_app.posting import is_too_large
from otel_raglog_exporters.in_app.process import Counts, Flush, Process
from otel_raglog_exporters.in_app.settings import InAppConfig
from otel_raglog_exporters.in_app.traces import Ended, into_requests

_FIRST_BACKOFF_SECONDS, _BACKOFF_GROWTH, _MOST_BACKOFF_SECONDS = 0.5, 1.5, 15.0
_MOST_RETRY_AFTER_SECONDS = 60.0
_LEAST_SECONDS = 0.05
_DEFECT_SECONDS = 1.0
_ENDED = "ended"
_MOST_CUT_TRACES = 1_024
_LOOK_SECONDS = 0.5
_TAKEN_AT_ONCE = 10_000
_MIB = 1024 * 1024
_log = logging.getLogger("otel_raglog_exporters.in_app")


class Post(Protocol):
    """Where requests go: see :class:`.posting.Door`."""

    def post(self, body: bytes, seconds: float | None = None) -> str:
        """Send once; raises ``Unavailable`` or ``Rejected``."""
        ...

    def close(self) -> None:
        """Break off."""
        ...

    def forget(self) -> None:
        """Leave the connection to the parent process."""
        ...


class Outbox:
    """Takes spans from the application's threads, for which it never waits nor raises.

    The thread begins with the first span, so that what is made before a fork costs none.
    ``encode`` turns spans into a body; it leaves out what cannot be written.
    """

    def __init__(
        self,
        config: InAppConfig,
        door: Post,
        encode: Callable[[Sequence[ReadableSpan]], bytes],
        clock: Clock,
        random: Random | None = None,
    ) -> None:
        self._config = config
        self._door = door
        self._encode = encode
        self._clock = clock
        self._random = random or Random()  # noqa: S311  jitter is no secret
        self._max_bytes = config.max_queue_mib * _MIB
        self._process = Process(config)
        if hasattr(os, "register_at_fork"):
            renew = weakref.WeakMethod(self._renew)

            def after_fork() -> None:
                if method := renew():
                    method()

            os.register_at_fork(after_in_child=after_fork)

    @property
    def counts(self) -> Counts:
        """What became of the spans so far."""
        process = self._here()
        with process.lock:
            return Counts(process.sent, process.dropped, process.waiting)

    def put(self, ended: Ended) -> bool:
        """Take a span, or drop it because too much waits; returns whether it was taken."""
        process = self._here()
        with process.lock:
            if process.deadline is not None:
                process.dropped += 1
                return False
            full = (
                process.waiting >= self._config.max_queue_spans
                or process.waiting_bytes + ended.bytes > self._max_bytes
            )
            if full:
                process.overflowed = True
                self._cut(process, ended.trace_id)
            if full or ended.trace_id in process.cut:
                process.dropped += 1
                return False
            process.waiting += 1
            process.waiting_bytes += ended.bytes
            process.inbox.put(ended)
            if self._fills(process):
                process.bell.ring()
            if process.thread is None:
                self._start(process)
        return True

    def flush(self, seconds: float) -> bool:
        """Send everything now; returns whether it was delivered within ``seconds``."""
        process = self._here()
        with process.lock:
            if process.deadline is not None or process.thread is None:
                return process.waiting == 0
        wish = Flush()
        process.inbox.put(wish)
        process.hurry.set()
        process.bell.ring()
        return wish.done.wait(max(0.0, seconds)) and wish.delivered

    def close(self, seconds: float) -> None:
        """Send what is left for ``seconds`` at most, each request once, then give up.

        Spans that come later are dropped. May be called again.
        """
        process = self._here()
        with process.lock:
            if process.deadline is not None:
                return
            process.deadline = self._clock.monotonic() + max(0.0, seconds)
        if process.thread is not None and process.thread.ident is not None:
            process.inbox.put(None)
            process.hurry.set()
            process.bell.ring()
            process.thread.join(max(_LEAST_SECONDS, seconds))
        elif process.waiting:  # a process that ends starts no thread
            process.inbox.put(None)
            self._run(process)
        process.abandoned.set()
        self._door.close()
        with process.lock:
            left, process.waiting = process.waiting, 0
            process.dropped += left
        if left:
            _log.warning(
                "%d spans were not delivered to otel-raglog when the application ended", left
            )

    def _here(self) -> Process:
        if self._process.pid != os.getpid():  # forked by something that runs no hooks
            self._renew()
        return self._process

    def _renew(self) -> None:
        """Begin anew in a child: locks may be held for ever, and the spans are the parent's."""
        self._door.forget()
        self._process = Process(self._config)

    def _start(self, process: Process) -> None:
        process.thread = threading.Thread(
            target=self._run, args=(process,), name="raglog-spans", daemon=True
        )
        try:
            process.thread.start()
        except RuntimeError:  # no more threads for now, or the interpreter ends: close() sends
            process.thread = None

    @staticmethod
    def _cut(process: Process, trace_id: int) -> None:
        """Note a trace that has lost a span: the rest of it would only take others' place."""
        process.cut[trace_id] = None
        while len(process.cut) > _MOST_CUT_TRACES:
            process.cut.pop(next(iter(process.cut)))

    def _run(self, process: Process) -> None:
        # Instrumented HTTP clients would make spans of our requests, which would be sent, and so on.
        token = attach(set_value(_SUPPRESS_INSTRUMENTATION_KEY, value=True))
        try:
            while not process.abandoned.is_set():
                try:
                    if self._turn(process):
                        return
                except Exception as defect:  # noqa: BLE001  see ADR 5: without it nothing leaves
                    self._tell_defect(process, defect)
                    process.abandoned.wait(_DEFECT_SECONDS)
        finally:
            detach(token)

    def _turn(self, process: Process) -> bool:
        """Take what came, send what is due; returns whether that was all there will be."""
        wishes = self._take(process)
        if wishes or process.ending or self._fills(process):
            due = process.traces.all()
        else:
            due = process.traces.due(self._clock.monotonic())
        delivered = True
        try:
            for request in into_requests(due, self._config.batch_spans):
                delivered &= self._deliver(process, self._without_cut(process, request))
        finally:
            for wish in wishes:
                wish.delivered = delivered
                wish.done.set()
        self._tell_overflow(process)
        return process.ending and process.inbox.empty()

    def _fills(self, process: Process) -> bool:
        """Tell whether so much waits that open traces must go in parts rather than be dropped."""
        return (
            process.waiting * 2 > self._config.max_queue_spans
            or process.waiting_bytes * 2 > self._max_bytes
        )

    def _take(self, process: Process) -> list[Flush]:
        """Wait until something comes or is due; returns wishes to flush.

        While spans wait, further ones are looked for now and then, or when they are many: to wake
        for each would have the application's threads take turns with this one.
        """
        wishes: list[Flush] = []
        seconds = 0.0 if process.ending else process.traces.seconds_left(self._clock.monotonic())
        if seconds:
            process.bell.wait(min(seconds, _LOOK_SECONDS))
        process.bell.quieten()
        process.hurry.clear()
        for _ in range(_TAKEN_AT_ONCE):
            try:
                item = process.inbox.get(block=seconds is None)
            except Empty:
                break
            if item is None:
                process.ending = True
            elif isinstance(item, Flush):
                wishes.append(item)
            else:
                process.traces.add(item, self._clock.monotonic())
            seconds = 0.0
        return wishes

    def _without_cut(self, process: Process, request: list[Ended]) -> list[Ended]:
        """Drop what is left of traces that have lost a span while it waited."""
        with process.lock:
            if not process.cut:
                return request
            kept = [ended for ended in request if ended.trace_id not in process.cut]
            lost = [ended for ended in request if ended.trace_id in process.cut]
        self._settle(process, lost, sent=False)
        return kept

    def _deliver(self, process: Process, request: list[Ended]) -> bool:
        """Send a request until it is answered, or not worth it; returns whether it was taken."""
        if not request:
            return True
        delivered = False
        try:
            refusal = self._send(process, self._encode([ended.span for ended in request]))
            if refusal is not None and is_too_large(refusal) and len(request) > 1:
                middle = len(request) // 2
                first, request = request[:middle], request[middle:]
                halves = [self._deliver(process, first), self._deliver(process, request)]
                request = []
                return all(halves)
            if refusal is not None and refusal.reason == _ENDED:
                request = []  # close() counts what is left, and tells
                return False
            if refusal is not None:
                reason, words = refusal.reason, "spans were dropped: %s; this is told once"
                self._tell(process, reason, words, refusal)
            delivered = refusal is None
        except Exception as defect:  # noqa: BLE001  see ADR 5: it costs this request alone
            self._tell_defect(process, defect)
        finally:
            self._settle(process, request, sent=delivered)
        return delivered

    def _send(self, process: Process, body: bytes) -> Rejected | None:
        """Return why a body was not taken, ``None`` when it was."""
        began = self._clock.monotonic()
        failures = 0
        while not process.abandoned.is_set():
            try:
                refused = self._door.post(body, self._seconds_to_wait(process))
            except Rejected as refusal:
                return refusal
            except Unavailable as failure:
                failures += 1
                self._note_outage(process, failure)
                self._tell_overflow(process)
                delay = self._delay(failures, failure.retry_after_seconds)
                waited = self._clock.monotonic() - began
                if process.deadline is not None:
                    break
                if waited + delay > self._config.retry_seconds:
                    return Rejected(f"not taken for {waited:.0f} s: {failure}", "retry_expired")
                process.hurry.wait(delay)  # somebody who flushes or ends cuts it short
                process.hurry.clear()
            else:
                if refused:
                    self._tell(process, "partial", "of a request %s; this is told once", refused)
                self._note_return(process)
                return None
        return Rejected("the application ended before they were taken", _ENDED)

    def _seconds_to_wait(self, process: Process) -> float | None:
        if process.deadline is None:
            return None
        return max(_LEAST_SECONDS, process.deadline - self._clock.monotonic())

    def _delay(self, failures: int, told: float | None) -> float:
        if told is not None:
            return min(max(told, _LEAST_SECONDS), _MOST_RETRY_AFTER_SECONDS)
        grown = _FIRST_BACKOFF_SECONDS * _BACKOFF_GROWTH ** min(failures - 1, 20)
        return min(grown, _MOST_BACKOFF_SECONDS) * self._random.uniform(0.8, 1.2)

    def _settle(self, process: Process, request: list[Ended], *, sent: bool) -> None:
        with process.lock:
            if process.abandoned.is_set():
                return  # close() has counted them
            process.waiting -= len(request)
            process.waiting_bytes -= sum(ended.bytes for ended in request)
            if sent:
                process.sent += len(request)
            else:
                process.dropped += len(request)
            if process.waiting == 0:
                process.cut.clear()  # what comes now of such a trace takes nobody's place

    def _note_outage(self, process: Process, failure: Unavailable) -> None:
        if not process.failing and process.deadline is None:
            process.failing = True
            _log.warning(
                "otel-raglog cannot be reached, spans wait for it: %s (the address is the endpoint "
                "given, or OTEL_EXPORTER_RAGLOG_ENDPOINT)",
                failure,
            )

    @staticmethod
    def _note_return(process: Process) -> None:
        if process.failing:
            process.failing = False
            _log.info("otel-raglog is reached again")

    def _tell_overflow(self, process: Process) -> None:
        """Tell, from our own thread, what the application's have noticed."""
        if process.overflowed:
            self._tell(
                process,
                "overflow",
                "spans are dropped, since %d spans or %s MiB wait for otel-raglog already "
                "(max_queue_spans, max_queue_mib); this is told once",
                self._config.max_queue_spans,
                self._config.max_queue_mib,
            )

    def _tell_defect(self, process: Process, defect: Exception) -> None:
        self._tell(process, type(defect).__name__, "spans could not be sent: %r", defect)

    @staticmethod
    def _tell(process: Process, kind: str, words: str, *values: object) -> None:
        if kind not in process.told:
            process.told.add(kind)
            _log.warning(words, *values)
