"""The waiting room: how long, how many, and who leaves with whom."""

import pytest
from fragment_traces import QUESTION, Call, wire_spans

from otel_raglog.analysis import Analyser
from otel_raglog.checks.registry import build_checks
from otel_raglog.clock import ManualClock
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.mapping.fragments import JoinBy
from otel_raglog.mapping.joining import Apart, Together
from otel_raglog.model import Completion, HeldTrace, Stage, StageVerdict
from otel_raglog.waiting import (
    EVICTED,
    STOPPED,
    TOO_LARGE,
    JoinLimits,
    WaitingRoom,
    runs_of_all,
    settle,
)

ANALYSER = Analyser(build_checks(None), Rules1(), ManualClock())


def held(trace):
    """Return a trace as the assembler releases it."""
    return HeldTrace(trace.trace_id, wire_spans(trace), Completion.ROOT_QUIET, 5.0)


class Room:
    """A waiting room and its clock."""

    def __init__(self, **limits):
        self.clock = ManualClock()
        self.room = WaitingRoom(JoinLimits(**limits), self.clock)

    def offer(self, *traces):
        return [
            self.room.offer(held(trace), ANALYSER.mapped(ANALYSER.decode(held(trace))))
            for trace in traces
        ]

    def leave(self):
        """Return the ids of those that leave now, and the outcome of each group of them."""
        found = []
        while (leaving := self.room.next_leaving()) is not None:
            self.room.forget(leaving)
            found.append(leaving)
        return found


def test_fragments_leave_together_when_the_first_has_waited_long_enough():
    """Later ones wait shorter: none waits longer than the window."""
    call, room = Call(), Room(window_seconds=10)
    traces = [call.embed(), call.search(), call.answer()]
    for trace in traces:
        assert room.offer(trace) == [True]
        room.clock.advance(3)
    assert room.leave() == []
    room.clock.advance(1)
    (leaving,) = room.leave()
    assert isinstance(leaving.outcome, Together)
    assert [member.held.trace_id for member in leaving.members] == [t.trace_id for t in traces]
    assert len(room.room) == room.room.size_bytes == 0


def test_a_fragment_without_others_leaves_by_itself():
    """Its wait cost time, and no verdict."""
    call, room = Call(), Room()
    room.offer(call.embed())
    room.clock.advance(10)
    (leaving,) = room.leave()
    assert leaving.outcome == Apart((leaving.members[0].held.trace_id,))


@pytest.mark.parametrize("limits", [{"max_fragments": 2}, {"max_bytes": 10_000}])
def test_beyond_the_limits_the_oldest_leaves_alone(limits):
    """By number and by size."""
    call, room = Call(), Room(**limits)
    room.offer(call.embed(), call.search())
    assert room.leave() == []
    room.offer(call.answer())
    (leaving, *_) = room.leave()
    assert leaving.outcome == Apart(((1).to_bytes(16, "big"),), EVICTED)
    assert 1 <= len(room.room) <= 2


def test_what_is_no_fragment_does_not_wait():
    """Nor does a second part of a trace that waits."""
    call, room = Call(), Room()
    assert room.offer(call.embed(session=None)) == [False]
    trace = call.embed()
    assert room.offer(trace, trace) == [True, False]
    assert trace.trace_id in room.room


def test_late_spans_wait_with_their_trace():
    """And count as memory that it takes."""
    call, room = Call(), Room()
    trace = call.embed()
    (span,) = wire_spans(trace)
    assert not room.room.add_late(span)
    room.offer(trace)
    before = room.room.size_bytes
    assert room.room.add_late(span)
    assert room.room.size_bytes == before + span.size_bytes
    room.clock.advance(10)
    assert room.leave()[0].members[0].late == [span]
    assert room.room.size_bytes == 0


def test_at_the_end_all_leave_one_by_one():
    """The others of a run may not have come."""
    call, room = Call(), Room()
    room.offer(call.embed(), call.search(), call.answer())
    notes = []
    while (leaving := room.room.next_of_all()) is not None:
        room.room.forget(leaving)
        notes.append(leaving.outcome.note)
    assert notes == [STOPPED] * 3
    assert room.room.next_leaving() is None


def test_clearing_returns_all_that_waits():
    """Whatever happened to them, their spans go on."""
    call, room = Call(), Room()
    room.offer(call.embed(), call.search())
    assert len(room.room.clear()) == 2
    assert (len(room.room), room.room.size_bytes) == (0, 0)
    assert room.offer(call.embed()) == [True]


def leaving_together():
    """Return three traces that leave as one run."""
    call, room = Call(), Room()
    room.offer(call.embed(), call.search(), call.answer())
    room.clock.advance(10)
    return room.leave()[0]


def test_a_joined_run_is_judged_once():
    """With all stages that its traces show."""
    (settled,) = settle(leaving_together(), ANALYSER, lambda _: False)
    (report,) = (each.report for each in settled.assessed)
    assert len(settled.members) == 3
    assert report.verdicts[Stage.EMBEDDER].verdict is StageVerdict.OK
    assert report.verdicts[Stage.RETRIEVER].verdict is StageVerdict.OK
    assert report.skip_reason is None


def test_traces_that_are_too_large_together_are_judged_one_by_one():
    """The note says so."""
    settled = list(settle(leaving_together(), ANALYSER, lambda _: True))
    assert [len(item.members) for item in settled] == [1, 1, 1]
    assert all(TOO_LARGE in item.assessed[0].report.run.notes for item in settled)


def test_files_are_joined_like_what_the_service_receives():
    """In order of the first trace of each run; what stands alone is there as ever."""
    call = Call()
    traces = [
        call.answer(),
        call.embed("Where is lost property kept?"),
        call.search(),
        call.embed(),
    ]
    runs = [
        [run.run_id for run in found.runs]
        for found in runs_of_all(list(map(held, traces)), ANALYSER, JoinBy.SESSION, 10)
    ]
    assert runs == [[traces[0].trace_id.hex()], [traces[1].trace_id.hex()]]


def test_interleaved_questions_that_are_the_same_say_why_they_are_apart():
    """Each run has the note."""
    call = Call()
    traces = [call.search(), call.search(at=210), call.answer(), call.answer(at=410)]
    found = list(runs_of_all(list(map(held, traces)), ANALYSER, JoinBy.SESSION, 10))
    assert len(found) == 4
    assert all("equally well" in " ".join(run.notes) for item in found for run in item.runs)
    assert QUESTION in {run.question.value for item in found for run in item.runs}
