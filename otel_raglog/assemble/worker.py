"""Batches from an inbox turned into calls of a sink: the thread that drives the assembler."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from otel_raglog.assemble.assembler import Actions, Assembler
from otel_raglog.clock import Clock
from otel_raglog.model import HeldTrace, WireSpan

_log = structlog.get_logger()


class Source(Protocol):
    """Where spans come from, in the batches in which they arrived."""

    def get(self, timeout_seconds: float) -> tuple[WireSpan, ...] | None:
        """Return the next batch; ``None`` when none comes in time (0: do not wait)."""
        ...


class Sink(Protocol):
    """Where spans go. Each method takes all of its spans, however long that takes.

    An exception is a defect; the spans are then forwarded unjudged.
    """

    def forward(self, spans: Sequence[WireSpan]) -> None:
        """Send spans on as they are."""
        ...

    def late(self, spans: Sequence[WireSpan]) -> None:
        """Send on spans whose trace was released before."""
        ...

    def release(self, trace: HeldTrace) -> None:
        """Judge a trace and send its spans on."""
        ...


class WorkerObserver(Protocol):
    """What the worker counts."""

    def failed(self, where: str) -> None:
        """Something raised that should not: ``inbox``, ``assembler`` or a sink's method."""
        ...


class Worker:
    """Takes batches, gives them to the assembler and its actions to the sink, in one thread.

    A batch that waited in the inbox while the sink was busy counts as having arrived when the
    inbox was last seen empty, though at most ``max_lag_seconds`` ago: being slow must not
    split traces, and being always busy must not stop time.

    An exception never ends the thread and never loses a span: spans that could not be
    assembled or judged are forwarded as they are.
    """

    def __init__(
        self,
        inbox: Source,
        assembler: Assembler,
        sink: Sink,
        clock: Clock,
        observer: WorkerObserver,
        *,
        poll_seconds: float = 0.25,
        max_lag_seconds: float = 10.0,
    ) -> None:
        self._inbox = inbox
        self._assembler = assembler
        self._sink = sink
        self._clock = clock
        self._observer = observer
        self._poll_seconds = poll_seconds
        self._max_lag_seconds = max_lag_seconds
        self._caught_up_at = clock.monotonic()
        self._logged: set[tuple[str, type[BaseException] | None]] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="assemble", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, grace_seconds: float = 10.0) -> bool:
        """Empty the inbox, release every open trace and end the thread.

        Close the doors first. What the sink has not taken after ``grace_seconds`` is left where
        it is journalled. Returns whether the thread has ended. May be called again.
        """
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(grace_seconds)
        return not self._thread.is_alive()

    def step(self, timeout_seconds: float) -> bool:
        """Take one batch, waiting for it until the next deadline or ``timeout_seconds``.

        Returns whether there was one. What is due is released when the inbox is empty.
        """
        batch = self._inbox.get(0)
        if batch is not None:
            lagging = self._clock.monotonic() - self._max_lag_seconds
            self._add(batch, max(self._caught_up_at, lagging))
            return True
        self._caught_up_at = self._clock.monotonic()
        self._act(self._assembler.tick(self._caught_up_at))
        batch = self._inbox.get(self._patience(timeout_seconds))
        if batch is None:
            return False
        self._caught_up_at = self._clock.monotonic()
        self._add(batch, self._caught_up_at)
        return True

    def finish(self) -> None:
        """Take what is left in the inbox and release every open trace."""
        try:
            while (batch := self._inbox.get(0)) is not None:
                self._add(batch, self._caught_up_at)
        finally:
            self._act(self._assembler.shutdown(self._clock.monotonic()))

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._guarded(lambda: self.step(self._poll_seconds))
        self._guarded(self.finish)

    def _guarded(self, turn: Callable[[], object]) -> None:
        try:
            turn()
        except Exception:  # noqa: BLE001  the thread outlives a defect, else spans are stuck
            self._note_failure("inbox")
            self._stopping.wait(self._poll_seconds)

    def _patience(self, timeout_seconds: float) -> float:
        deadline = self._assembler.next_deadline()
        if deadline is None:
            return timeout_seconds
        return max(0.0, min(timeout_seconds, deadline - self._clock.monotonic()))

    def _add(self, batch: tuple[WireSpan, ...], now: float) -> None:
        try:
            actions = self._assembler.add(batch, now)
        except Exception:  # noqa: BLE001  a defect of the assembler must not cost spans
            self._note_failure("assembler")
            self._forward(batch)
            return
        self._act(actions)

    def _act(self, actions: Actions) -> None:
        if actions.forward:
            self._forward(actions.forward)
        if actions.late:
            spans = actions.late
            if not self._hand_over("late", lambda: self._sink.late(spans)):
                self._forward(spans)
        for trace in actions.released:
            self._release(trace)

    def _release(self, trace: HeldTrace) -> None:
        if not self._hand_over("release", lambda: self._sink.release(trace)):
            self._forward(trace.spans)

    def _forward(self, spans: Sequence[WireSpan]) -> None:
        # When even this fails, the spans stay journalled and undecided until the next start.
        self._hand_over("forward", lambda: self._sink.forward(spans))

    def _hand_over(self, where: str, deliver: Callable[[], None]) -> bool:
        """Deliver, however long it takes; ``False`` when the sink is defective."""
        try:
            deliver()
        except Exception:  # noqa: BLE001  a verdict may fail; the spans go on without it
            self._note_failure(where)
            return False
        return True

    def _note_failure(self, where: str) -> None:
        """Count the exception being handled; log the first of its kind."""
        self._observer.failed(where)
        kind = (where, sys.exc_info()[0])
        if kind not in self._logged:
            self._logged.add(kind)
            _log.exception("assembling failed; its spans go on unjudged", where=where)
