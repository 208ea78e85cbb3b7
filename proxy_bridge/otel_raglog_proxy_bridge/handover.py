"""Captured calls to a process of their own, so that the proxy's thread has its interpreter alone."""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from otel_raglog_proxy_bridge.frames import Begun, Event, Forgotten, frame_of, headed
from otel_raglog_proxy_bridge.model import Side
from otel_raglog_proxy_bridge.safety import RawCall

_LOG = logging.getLogger(__name__)
_EVENT_BYTES = 1024
_LEAST_SECONDS = 0.2
_HELD_SECONDS = 65.0
"""So long a process may hold a call: a run without an answer waits a minute for one."""
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from otel_raglog_proxy_bridge.capture_process import main; sys.exit(main())"
)


@dataclass(frozen=True, slots=True)
class HandoverOptions:
    """How much may wait to be handed over, and how soon a process that ended is followed by another."""

    max_bytes: int = 64 * 1024 * 1024
    restart_seconds: float = 10.0


class Handover:
    """Hands events to a process that makes spans of them, and never holds anybody up.

    ``begin``, ``put`` and ``forget`` neither wait nor raise: what does not fit is dropped and
    counted. A process that ends is replaced; what it held is lost (the calls that it may have held are
    counted as ``lost_at_most``), and calls are dropped and counted until the next one is there.
    """

    def __init__(
        self,
        values: Mapping[str, object],
        options: HandoverOptions | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._values = values
        self._options = options or HandoverOptions()
        self._clock = clock
        self._changed = threading.Condition()
        self._events: deque[Event] = deque()
        self._bytes = 0
        self._closing = False
        self._over = False
        self._process: subprocess.Popen[bytes] | None = None
        self._next_start = 0.0
        self._threads = [
            threading.Thread(target=self._hand_over, name="raglog-handover", daemon=True)
        ]
        self._counts: Counter[str] = Counter()
        self._told: dict[str, int] = {}
        self._given: deque[float] = deque()  # when the process that is there was given its calls

    def start(self) -> None:
        """Begin to hand over."""
        self._threads[0].start()

    @property
    def counts(self) -> Mapping[str, int]:
        """What was dropped here and, after the end, what the process counted."""
        return dict(Counter(self._counts) + Counter(self._told))

    def begin(self, call_id: str, started_ns: int, side: Side, traceparent: str = "") -> None:
        """Tell that a call started."""
        self._queue(Begun(call_id, started_ns, side, traceparent))

    def put(self, raw: RawCall) -> None:
        """Take an ended call."""
        if not self._queue(raw):
            self.forget(raw.id)  # or its run would wait for it

    def forget(self, call_id: str) -> None:
        """Tell that a call that began is of no interest."""
        self._queue(Forgotten(call_id))

    def close(self, timeout_seconds: float) -> None:
        """Let the process end in peace; when the time is over it is killed."""
        deadline = self._clock() + timeout_seconds
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._join(deadline - self._clock())
        process = self._process
        if process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(_LEAST_SECONDS, deadline - self._clock()))
            self._over = True
            process.kill()
            process.wait()
            self._join(_LEAST_SECONDS)  # who waited for it drops what is left, and ends

    def _join(self, timeout_seconds: float) -> None:
        deadline = self._clock() + timeout_seconds
        for thread in list(self._threads):
            if thread.ident is not None:
                thread.join(max(0.0, deadline - self._clock()))

    # ------------------------------------------------------------------ the threads

    def _queue(self, event: Event) -> bool:
        size = _size(event)
        with self._changed:
            if self._closing or (size and self._bytes + size > self._options.max_bytes):
                if isinstance(event, RawCall):
                    reason = "shutdown" if self._closing else "queue_full"
                    self._counts[f"dropped_{reason}"] += 1
                return False
            self._events.append(event)
            self._bytes += size
            self._changed.notify()
            return True

    def _hand_over(self) -> None:
        self._is_there()  # it takes a moment to start
        while (event := self._next()) is not None:
            if not self._is_there() or not self._write(frame_of(event)):
                reason = "shutdown" if self._over else "no_process"
                self._counts[f"dropped_{reason}"] += isinstance(event, RawCall)
            elif isinstance(event, RawCall):
                self._given.append(self._clock())
                self._forget_settled()
        self._end_input()

    def _end_input(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError, ValueError):
                self._process.stdin.close()

    def _next(self) -> Event | None:
        """Wait for an event; ``None`` when there will be no more."""
        with self._changed:
            while not self._events:
                if self._closing:
                    return None
                self._changed.wait()
            event = self._events.popleft()
            self._bytes -= _size(event)
            return event

    def _is_there(self) -> bool:
        """Return whether a process takes events, after starting one if it is time to."""
        if self._process is not None:
            if self._process.poll() is None:
                return True
            self._end_input()
            self._tell_end(self._process.returncode)
            self._process = None
        if self._over or self._clock() < self._next_start:
            return False
        self._next_start = self._clock() + self._options.restart_seconds
        try:
            self._process = _started(str(self._values.get("raglog_python") or sys.executable))
        except OSError as error:
            _LOG.warning("raglog: no capturing process (%s)", type(error).__name__)
            return False
        reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._threads.append(reader)
        reader.start()
        return self._write((headed(self._values),))

    def _tell_end(self, status: int) -> None:
        self._forget_settled()
        lost = len(self._given)
        self._given.clear()
        self._counts["lost_at_most"] += lost
        _LOG.warning(
            "raglog: the capturing process ended (%s); of the last minute's calls up to %d are lost, and "
            "another process is started",
            status,
            lost,
        )

    def _forget_settled(self) -> None:
        now = self._clock()
        while self._given and now - self._given[0] > _HELD_SECONDS:
            self._given.popleft()

    def _write(self, parts: tuple[bytes, ...]) -> bool:
        assert self._process is not None  # noqa: S101
        assert self._process.stdin is not None  # noqa: S101
        try:
            for part in parts:
                self._process.stdin.write(part)
            self._process.stdin.flush()
        except (OSError, ValueError):
            return False
        return True

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        """Pass the log lines of a process on, and keep what it counted."""
        assert process.stdout is not None  # noqa: S101
        with process.stdout:
            for line in process.stdout:
                try:
                    told = json.loads(line)
                except (ValueError, RecursionError):  # some package printed: it may be anything
                    continue
                match told:
                    case ["log", int(level), str(message)]:
                        _LOG.log(level, "%s", message)
                    case ["counts", dict(counts)]:
                        self._told = counts


def _started(python: str) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own: a Ctrl-C is the proxy's, which then closes it."""
    parent = str(Path(__file__).resolve().parents[1])
    return subprocess.Popen(  # noqa: S603 - a Python that the options name, and our own words
        [python, "-P", "-c", _PROGRAM, parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _size(event: Event) -> int:
    match event:
        case RawCall():
            return _EVENT_BYTES + len(event.request_body) + len(event.response_body)
        case Begun():
            return _EVENT_BYTES
        case _:
            return 0
