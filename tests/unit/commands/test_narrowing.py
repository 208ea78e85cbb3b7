"""Which traces of a file are read for the sake of some of them."""

import pytest
from fragment_traces import QUESTION, Call, wire_spans

from otel_raglog.analysis import Analyser
from otel_raglog.checks.registry import build_checks
from otel_raglog.clock import ManualClock
from otel_raglog.commands.narrowing import MOST_WANTED, begins, needed
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.model import Completion, HeldTrace
from otel_raglog.options import Join

ANALYSER = Analyser(build_checks(["rules"]), Rules1(), ManualClock())


def held(*traces):
    return [
        HeldTrace(trace.trace_id, wire_spans(trace), Completion.FILE_END, 0.0) for trace in traces
    ]


def numbers(traces):
    return [int.from_bytes(trace.trace_id, "big") for trace in traces]


def first(traces):
    return traces[0].trace_id.hex()


@pytest.mark.parametrize("how", [None, Join(enabled=True)])
def test_traces_of_the_same_session_are_needed(how):
    """They tell the turn, and may be joined with it; those of another one do neither."""
    call = Call()
    mine = [call.embed(session="chat-12"), call.answer(session="chat-12")]
    others = [call.embed(session="chat-34"), call.answer(session="chat-34")]
    traces = held(*mine, *others)
    assert numbers(needed(traces, first(traces), ANALYSER, how)) == [1, 2]


def test_without_a_session_the_question_tells():
    """A later run may have it in its history."""
    call = Call(session=None)
    turns = [("user", QUESTION), ("assistant", "At 22:15."), ("user", "And back?")]
    traces = held(call.answer(), call.chat(turns, "At 6."), call.answer("Are dogs allowed there?"))
    assert numbers(needed(traces, first(traces), ANALYSER, None)) == [1, 2]


@pytest.mark.parametrize("session", ["17", "äöü", "a/b"])
def test_a_session_that_may_not_stand_as_it_is_needs_all(session):
    """A number has no text in protobuf, other letters have escapes in JSON."""
    call = Call(session=session)
    traces = held(call.embed(), call.answer(), call.answer(session="other"))
    assert len(needed(traces, first(traces), ANALYSER, None)) == 3


def test_a_join_by_service_needs_all():
    """Nothing but texts tells which traces belong together."""
    call = Call()
    traces = held(call.embed(), call.answer(session="other"))
    assert len(needed(traces, first(traces), ANALYSER, Join(by="service"))) == 2


def test_many_wanted_traces_need_all():
    """And none needs none."""
    call = Call()
    traces = held(*(call.embed(session=f"chat-{n}") for n in range(MOST_WANTED + 2)))
    assert needed(traces, "", ANALYSER, None) == traces
    assert needed(traces, "ff", ANALYSER, None) == []


def test_ids_are_compared_by_their_beginning():
    """In hex."""
    assert begins(b"\xab\xcd", "abc")
    assert not begins(b"\xab\xcd", "bc")
