"""Traces that are a part of a run, and wait for the others of it: a state machine without I/O."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from otel_raglog.analysis import Analyser, Assessed, Mapped
from otel_raglog.clock import Clock
from otel_raglog.mapping.fragments import Fragment, JoinBy, fragment_of
from otel_raglog.mapping.joining import Apart, Joiner, Outcome, Together
from otel_raglog.mapping.uniting import NOT_ONE_RUN, unite, united
from otel_raglog.model import HeldTrace, Run, Trace, WireSpan

EVICTED = "judged before its wait for other traces of its run was over: too many wait"
STOPPED = "judged before its wait for other traces of its run was over: the service stops"
TOO_LARGE = "these traces match, but are too large together"

_COPIES = 4
"""A trace that waits is there as bytes, decoded, and as texts to compare."""


@dataclass(frozen=True, slots=True)
class JoinLimits:
    """What may be joined, and how much may wait for how long."""

    by: JoinBy = JoinBy.SESSION
    window_seconds: float = 10.0
    max_fragments: int = 10_000
    max_bytes: int = 64 * 1024 * 1024


@dataclass(slots=True)
class Waiting:
    """A fragment that waits, with the spans of its trace that came since."""

    held: HeldTrace
    mapped: Mapped
    deadline: float
    size_bytes: int
    late: list[WireSpan] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Leaving:
    """Fragments that wait no longer, and what becomes of them."""

    members: tuple[Waiting, ...]
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Settled:
    """Traces that leave at once, with what is said of their runs."""

    members: tuple[Waiting, ...]
    assessed: tuple[Assessed, ...]


class WaitingRoom:
    """Where fragments wait for the other traces of their run, for a while and so many at most.

    The one that waits longest decides when: then it leaves with all that it is to be joined
    with, or by itself. All but :meth:`__contains__` and the sizes is for one thread.
    """

    def __init__(self, limits: JoinLimits, clock: Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._joiner = Joiner(limits.window_seconds)
        self._waiting: OrderedDict[bytes, Waiting] = OrderedDict()
        self._bytes = 0

    def __contains__(self, trace_id: bytes) -> bool:
        return trace_id in self._waiting

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def size_bytes(self) -> int:
        """Memory that waiting fragments take, roughly."""
        return self._bytes

    def offer(self, held: HeldTrace, mapped: Mapped) -> bool:
        """Let a trace wait if it is a fragment; ``False`` when it is to be judged now."""
        if held.trace_id in self._waiting:
            return False
        fragment = fragment_of(mapped.trace, mapped.runs, self._limits.by)
        if fragment is None:
            return False
        deadline = self._clock.monotonic() + self._limits.window_seconds
        waiting = Waiting(held, mapped, deadline, _COPIES * held.size_bytes)
        self._joiner.add(fragment)
        self._waiting[held.trace_id] = waiting
        self._bytes += waiting.size_bytes
        return True

    def add_late(self, span: WireSpan) -> bool:
        """Let a late span wait with its trace; ``False`` when that does not wait."""
        waiting = self._waiting.get(span.trace_id)
        if waiting is None:
            return False
        waiting.late.append(span)
        waiting.size_bytes += span.size_bytes
        self._bytes += span.size_bytes
        return True

    def next_leaving(self) -> Leaving | None:
        """Return what is to leave now, if anything is; call :meth:`forget` when it has left."""
        if not self._waiting:
            return None
        trace_id, oldest = next(iter(self._waiting.items()))
        if oldest.deadline <= self._clock.monotonic():
            return self._leaving(self._joiner.outcome(trace_id))
        limits = self._limits
        if len(self._waiting) > limits.max_fragments or self._bytes > limits.max_bytes:
            return self._leaving(Apart((trace_id,), EVICTED))
        return None

    def next_of_all(self) -> Leaving | None:
        """Return what is to leave next when nothing more may wait."""
        if not self._waiting:
            return None
        return self._leaving(Apart((next(iter(self._waiting)),), STOPPED))

    def forget(self, leaving: Leaving) -> None:
        """Forget what has left."""
        for trace_id in leaving.outcome.trace_ids:
            self._bytes -= self._waiting.pop(trace_id).size_bytes
        self._joiner.remove(leaving.outcome.trace_ids)

    def clear(self) -> list[Waiting]:
        """Return all that waits, and let nothing wait any more."""
        waiting = list(self._waiting.values())
        self._waiting.clear()
        self._bytes = 0
        self._joiner = Joiner(self._limits.window_seconds)
        return waiting

    def _leaving(self, outcome: Outcome) -> Leaving:
        return Leaving(tuple(self._waiting[item] for item in outcome.trace_ids), outcome)


def settle(
    leaving: Leaving, analyser: Analyser, is_too_large: Callable[[Trace], bool]
) -> Iterator[Settled]:
    """Yield the traces of ``leaving`` with what is said of them: joined at once, or one by one."""
    for members, mapped in _runs_of(leaving, analyser, is_too_large):
        yield Settled(members, analyser.assess_all(mapped))


def _runs_of(
    leaving: Leaving, analyser: Analyser, is_too_large: Callable[[Trace], bool]
) -> Iterator[tuple[tuple[Waiting, ...], Mapped]]:
    if isinstance(leaving.outcome, Together):
        joined = _join(leaving.members, leaving.outcome, analyser, is_too_large)
        if isinstance(joined, Mapped):
            yield leaving.members, joined
            return
        note = joined
    else:
        note = leaving.outcome.note
    for member in leaving.members:
        runs = tuple(_with_note(run, note) for run in member.mapped.runs)
        yield (member,), replace(member.mapped, runs=runs)


def _join(
    members: Sequence[Waiting],
    together: Together,
    analyser: Analyser,
    is_too_large: Callable[[Trace], bool],
) -> Mapped | str:
    """Return the run of several traces, or why they are none."""
    traces = [member.mapped.trace for member in members]
    runs = {member.held.trace_id: member.mapped.runs[0] for member in members}
    whole = united(traces, runs[together.generator])
    if is_too_large(whole):
        return TOO_LARGE
    seconds = sum(member.mapped.seconds for member in members)
    mapped = analyser.mapped(whole)
    run = unite(traces, runs, together, mapped.runs)
    if run is None:
        return NOT_ONE_RUN
    return Mapped(whole, (run,), seconds + mapped.seconds)


def _with_note(run: Run, note: str) -> Run:
    return replace(run, notes=(*run.notes, note)) if note else run


def runs_of_all(
    traces: Sequence[HeldTrace], analyser: Analyser, by: JoinBy, window_seconds: float
) -> Iterator[Mapped]:
    """Yield the runs of traces that are all here, joined where they belong together; none is judged.

    A joined run comes where the first of its traces would.
    """
    joiner = Joiner(window_seconds)
    waiting = [Waiting(held, analyser.mapped(analyser.decode(held)), 0.0, 0) for held in traces]
    by_id = {item.held.trace_id: item for item in waiting}
    for item in waiting:
        fragment: Fragment | None = fragment_of(item.mapped.trace, item.mapped.runs, by)
        if fragment is not None:
            joiner.add(fragment)
    done: set[bytes] = set()
    for trace_id in by_id:
        if trace_id in done:
            continue
        outcome = joiner.outcome(trace_id) if trace_id in joiner else Apart((trace_id,))
        leaving = Leaving(tuple(by_id[item] for item in outcome.trace_ids), outcome)
        done.update(outcome.trace_ids)
        for _, mapped in _runs_of(leaving, analyser, lambda _: False):
            yield mapped
