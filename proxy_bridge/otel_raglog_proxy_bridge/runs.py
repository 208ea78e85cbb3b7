"""Calls, as they begin and end, to the runs that they belong to: one run per question answered.

No clocks, no I/O, no randomness: calls and times come in, closed runs go out. A run is told, in
this order, by the front proxy's marks, by trace headers, by what calls hand to each other (a
vector, a query, documents, a model's words) and by their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from otel_raglog_proxy_bridge.fronts import FrontCall
from otel_raglog_proxy_bridge.joining import Strength, arrival_of, best_thread
from otel_raglog_proxy_bridge.linking import (
    closeness,
    direction_of,
    is_in,
    stored_vectors,
    ties_of,
)
from otel_raglog_proxy_bridge.model import Call, CallStage, LlmReading, ReadCall
from otel_raglog_proxy_bridge.text_pieces import plain
from otel_raglog_proxy_bridge.threads import Thread

_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class GroupingOptions:
    """How long a run is waited for, in seconds, and how much is kept.

    ``quiet_seconds``: after its last call, once a model has answered. ``idle_seconds``: after its
    last call, when none has. ``front_seconds``: after that a question that the pipeline has not
    answered no longer competes with others for calls. ``most_runs`` open at once, ``most_calls``
    in one, ``most_characters`` in the bodies of all: beyond, the oldest runs are closed, or the
    run itself.
    """

    quiet_seconds: float = 5.0
    idle_seconds: float = 60.0
    front_seconds: float = 900.0
    most_runs: int = 1_000
    most_calls: int = 500
    most_characters: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CapturedRun:
    """The calls of one question, in order of their start.

    ``front`` is the pipeline's own API call, where a front proxy saw it. ``told_by`` says how the
    calls were put together: ``front``, ``trace``, ``content`` or ``order``. ``trace_id`` is that
    of the calls' trace headers when they agree, else "". ``answered`` tells that a model
    answered from what was found, ``indexing`` that passages were embedded to be stored.
    ``answer`` is the run's answer where the last call of a model is not it, or not by itself.
    """

    calls: tuple[ReadCall, ...]
    front: FrontCall | None
    told_by: str
    trace_id: str
    answered: bool
    indexing: bool = False
    answer: str = ""

    @property
    def is_rag(self) -> bool:
        """Whether something was searched, ranked, or given to a model beside the question."""
        if self.front is not None:
            return True
        if self.indexing:
            return False
        stages = {call.decision.stage for call in self.calls}
        if stages & {CallStage.RETRIEVER, CallStage.RERANKER}:
            return True
        if stages >= {CallStage.EMBEDDER, CallStage.LLM}:
            return True
        return any(
            isinstance(call.reading, LlmReading)
            and (call.reading.documents or call.reading.retrieved)
            for call in self.calls
        )


@dataclass(slots=True)
class _Front:
    """A question that is open. Answered, it waits for calls that began before and still go on."""

    started_ns: int
    trace_id: str = ""
    answered: FrontCall | None = None
    waits_for: frozenset[str] = frozenset()

    def saw(self, call: Call) -> bool:
        """Whether ``call`` began while the question was open."""
        if self.answered is not None and call.started_ns > self.answered.call.ended_ns:
            return False
        return self.started_ns <= call.started_ns


@dataclass(slots=True)
class Grouper:
    """Puts calls into runs. ``begin`` a call when it starts, ``add`` it when it ended."""

    options: GroupingOptions = field(default_factory=GroupingOptions)
    _threads: list[Thread] = field(default_factory=list)
    _fronts: dict[str, _Front] = field(default_factory=dict)
    _in_flight: dict[str, int] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=count)
    _characters: int = 0
    _traces_tell: bool = False

    def begin(self, call_id: str, started_ns: int) -> None:
        """Note that an outbound call started, so that its run waits for it."""
        self._in_flight[call_id] = started_ns

    def begin_front(self, call_id: str, started_ns: int, trace_id: str = "") -> None:
        """Note that the pipeline was asked something."""
        self._fronts[call_id] = _Front(started_ns, trace_id)
        if len(self._fronts) > self.options.most_runs:  # some will never be answered
            self._fronts.pop(next(iter(self._fronts)))

    def forget(self, call_id: str) -> None:
        """Note that a call that began is not looked at any more."""
        self._in_flight.pop(call_id, None)

    def add(self, read: ReadCall) -> tuple[CapturedRun, ...]:
        """Put an ended call into its run; return runs that had to be closed for room."""
        call = read.call
        self._in_flight.pop(call.id, None)
        if read.reading is None:
            self._mark_indexing(read)
            return ()
        ties = ties_of(read.reading)
        fronts = self._fronts_of(call)
        new = arrival_of(read, ties, traces_tell=self._traces_tell)
        thread, strength = best_thread(self._threads, new, fronts)
        if thread is None:
            thread = Thread(next(self._numbers), fronts)
            self._threads.append(thread)
        elif strength is Strength.ORDER:
            thread.told_by = "order"
        self._traces_tell = self._traces_tell or strength is Strength.TRACE
        before = thread.characters
        thread.take(read, ties, fronts)
        self._characters += thread.characters - before
        return tuple(self._make_room(thread))

    def end_front(self, front: FrontCall | None, call_id: str) -> tuple[CapturedRun, ...]:
        """Close the run of a question that the pipeline has answered.

        A call that began before the answer's end is waited for, ``quiet_seconds`` at most: a
        client that has read the last word of a stream need not wait for its end.
        ``None``: the call turned out to be no question; its mark is taken back.
        """
        mark = self._fronts.get(call_id)
        if mark is None or front is None:
            self._fronts.pop(call_id, None)
            for thread in self._threads:
                thread.fronts -= {call_id}
            return ()
        mark.answered = front
        mark.waits_for = frozenset(
            waiting
            for waiting, started in self._in_flight.items()
            if mark.started_ns <= started <= front.call.ended_ns
        )
        return () if mark.waits_for else self._finish(call_id, front)

    def _fronts_of(self, call: Call) -> frozenset[str]:
        """Return the questions during which a call began; those long open only where no other is."""
        open_then = {key: front for key, front in self._fronts.items() if front.saw(call)}
        oldest = call.started_ns - int(self.options.front_seconds * _SECOND)
        recent = frozenset(key for key, front in open_then.items() if front.started_ns >= oldest)
        return recent or frozenset(open_then)

    def _finish(self, call_id: str, front: FrontCall) -> tuple[CapturedRun, ...]:
        mark = self._fronts.pop(call_id)
        mine = self._claimed_by(front, call_id, mark)
        for thread in self._threads:
            thread.fronts -= {call_id}
        for thread in mine:
            self._drop(thread)
        return (_captured(mine, front),)

    def _finish_answered(self, now_ns: int | None) -> Iterator[CapturedRun]:
        """Yield the runs of answered questions that wait no more; with ``None`` of all."""
        for call_id, mark in list(self._fronts.items()):
            front = mark.answered
            if front is None:
                continue
            waited = now_ns is None or (
                now_ns - front.call.ended_ns >= self.options.quiet_seconds * _SECOND
            )
            if waited or not mark.waits_for & self._in_flight.keys():
                yield from self._finish(call_id, front)

    def _make_room(self, latest: Thread) -> Iterator[CapturedRun]:
        """Close the run that has too many calls, and the oldest while there is too much."""
        options = self.options
        if len(latest.calls) >= options.most_calls:
            yield self._close(latest)
        while self._threads and (
            len(self._threads) > options.most_runs or self._characters > options.most_characters
        ):
            yield self._close(min(self._threads, key=lambda each: each.last_ended_ns))

    def _drop(self, thread: Thread) -> None:
        self._threads.remove(thread)
        self._characters -= thread.characters

    def tick(self, now_ns: int) -> tuple[CapturedRun, ...]:
        """Return the runs that are over at ``now_ns``."""
        answered = tuple(self._finish_answered(now_ns))
        over = [thread for thread in self._threads if self._is_over(thread, now_ns)]
        closed = tuple(self._close(thread) for thread in over if thread in self._threads)
        return (*answered, *closed)

    def flush(self) -> tuple[CapturedRun, ...]:
        """Return all that is open."""
        answered = tuple(self._finish_answered(None))
        self._fronts.clear()
        self._in_flight.clear()
        everything = list(self._threads)
        closed = tuple(self._close(thread) for thread in everything if thread in self._threads)
        return (*answered, *closed)

    def _mark_indexing(self, read: ReadCall) -> None:
        """Mark the threads whose vectors a call stores: they embedded passages."""
        if read.call.method not in {"POST", "PUT", "PATCH"} or not self._threads:
            return
        stored = [direction_of(each) for each in stored_vectors(read.exchange.request)]
        for thread in self._threads if stored else ():
            if not thread.searched and any(
                closeness(one, made) for one in stored for made in thread.vectors
            ):
                thread.indexing = True

    @property
    def open_runs(self) -> int:
        """Runs that are waited for."""
        return len(self._threads)

    def _is_over(self, thread: Thread, now_ns: int) -> bool:
        if thread.fronts & self._fronts.keys():
            return False
        options = self.options
        waits = options.quiet_seconds if thread.answered else options.idle_seconds
        if now_ns - thread.last_ended_ns < waits * _SECOND:
            return False
        # A model may think for longer than that: a call that began soon after the last one may
        # be this run's. It is waited for until it ends, and no longer than an unanswered run is.
        latest = thread.last_ended_ns + options.quiet_seconds * _SECOND
        pending = any(
            thread.last_started_ns <= started <= latest for started in self._in_flight.values()
        )
        return not pending or now_ns - thread.last_ended_ns >= options.idle_seconds * _SECOND

    def _close(self, thread: Thread) -> CapturedRun:
        comments = [other for other in self._threads if other.comments_on(thread)]
        for each in (thread, *comments):
            self._drop(each)
        if comments:
            # What was said about the answer comes after it, and is not the answer.
            thread.conclusion = thread.conclusion or thread.answers[-1]
        return _captured([thread, *comments], None)

    def _claimed_by(self, front: FrontCall, call_id: str, mark: _Front) -> list[Thread]:
        """Return the threads that answered ``front``: by trace, content, or as the only ones."""
        trace_id = mark.trace_id or front.trace_id
        traced = [thread for thread in self._threads if trace_id and trace_id in thread.traces]
        could = [
            thread
            for thread in self._threads
            if call_id in thread.fronts
            and thread not in traced
            and not thread.indexing
            and not (traced and thread.traces)  # another trace, where traces tell
        ]
        mine = [*traced, *(thread for thread in could if thread.fronts == {call_id})]
        left = [each for each in could if each not in mine]
        told = [each for each in left if _has_question(each, front)]
        if not any(_has_answer(each, front) for each in told):
            # Only now: other questions may well have the same answer.
            told += [each for each in left if each not in told and _has_answer(each, front)]
        # Where the same was asked twice at once, each has one of the threads that are alike.
        for thread in sorted(told, key=lambda each: not _has_answer(each, front)):
            if not any(other.repeats(read.call) for other in mine for read in thread.calls):
                mine.append(thread)
        return mine


def _has_answer(thread: Thread, front: FrontCall) -> bool:
    answer = plain(front.answer)
    return any(is_in(answer, said) for said in thread.answers)


def _has_question(thread: Thread, front: FrontCall) -> bool:
    question = plain(front.question)
    if question in thread.asked or question in thread.parts:
        return True
    return any(is_in(asked, question) for asked in thread.asked) or any(
        is_in(seen, question) for seen in thread.last_seen
    )


def _captured(threads: Sequence[Thread], front: FrontCall | None) -> CapturedRun:
    calls = sorted(
        (read for thread in threads for read in thread.calls),
        key=lambda read: (read.call.started_ns, read.call.ended_ns),
    )
    traces = {trace for thread in threads for trace in thread.traces}
    ways = [thread.told_by for thread in threads]
    if front is not None:
        told_by = "front"
    else:
        told_by = next((way for way in ("order", "trace") if way in ways), "content")
    return CapturedRun(
        tuple(calls),
        front,
        told_by,
        traces.pop() if len(traces) == 1 else "",
        any(thread.answered for thread in threads),
        all(thread.indexing for thread in threads) and bool(threads),
        next((thread.conclusion for thread in threads if thread.conclusion), ""),
    )
