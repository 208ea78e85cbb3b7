"""Joining under any order of arrival: the same runs, never across sessions, never in doubt."""

from __future__ import annotations

import random

from fragment_traces import CHUNKS, Call
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_raglog.mapping.fragments import JoinBy, fragment_of
from otel_raglog.mapping.joining import Joiner, Outcome, Together
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Trace

patiently = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60, derandomize=True
)
QUESTIONS = (
    "When does the night ferry to Sandmouth leave?",
    "Where may dogs stay on the Aurelia?",
    "How long is lost property kept in Ellery?",
)


def outcomes(traces: list[Trace], by: JoinBy = JoinBy.SESSION) -> dict[bytes, Outcome]:
    """Return what becomes of each trace when they come in this order."""
    joiner = Joiner(10)
    for trace in traces:
        fragment = fragment_of(trace, map_trace(trace), by)
        if fragment is not None:
            joiner.add(fragment)
    return {trace.trace_id: joiner.outcome(trace.trace_id) for trace in traces}


@st.composite
def talks(draw: st.DrawFn) -> list[Trace]:
    """Some calls of a few questions in a few sessions, at any times, some of them missing."""
    call = Call()
    traces: list[Trace] = []
    for _ in range(draw(st.integers(1, 4))):
        session = draw(st.sampled_from(["s1", "s2"]))
        question = draw(st.sampled_from(QUESTIONS))
        at = draw(st.integers(0, 30)) * 100
        chunks = draw(st.sampled_from([CHUNKS, CHUNKS[:1], CHUNKS[1:]]))
        if draw(st.booleans()):
            traces.append(call.embed(question, at=at, session=session))
        if draw(st.booleans()):
            query = draw(st.sampled_from([question, None]))
            traces.append(call.search(query, chunks, at=at + 200, session=session))
        if draw(st.booleans()):
            traces.append(call.answer(question, chunks, at=at + 400, session=session))
    return traces


@patiently
@given(talks(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_does_not_matter(traces: list[Trace], source: random.Random):
    """Each trace is joined with the same others, whichever came first."""
    expected = outcomes(traces)
    shuffled = list(traces)
    source.shuffle(shuffled)
    assert outcomes(shuffled) == expected


@patiently
@given(talks(), st.sampled_from(JoinBy))
def test_nothing_is_joined_across_sessions(traces: list[Trace], by: JoinBy):
    """Whatever they have in common, and whatever else is to be in common."""
    session_of = {trace.trace_id: trace.spans[0].attributes["session.id"] for trace in traces}
    for outcome in outcomes(traces, by).values():
        if isinstance(outcome, Together):
            assert len({session_of[trace_id] for trace_id in outcome.trace_ids}) == 1


@patiently
@given(talks())
def test_every_trace_is_in_one_outcome(traces: list[Trace]):
    """What a trace is joined with agrees with what its fellows are; a run has one answer."""
    found = outcomes(traces)
    for trace_id, outcome in found.items():
        assert trace_id in outcome.trace_ids
        assert len(set(outcome.trace_ids)) == len(outcome.trace_ids)
        if isinstance(outcome, Together):
            assert all(found[other] == outcome for other in outcome.trace_ids)
            assert outcome.generator in outcome.trace_ids


@patiently
@given(st.sampled_from(QUESTIONS), st.integers(0, 3))
def test_two_interleaved_questions_that_are_the_same_stay_apart(question: str, delay: int):
    """Whenever the second one is asked before the first one is answered."""
    call = Call()
    at = delay * 100
    traces = [
        call.embed(question),
        call.embed(question, at=at),
        call.search(question),
        call.search(question, at=200 + at),
        call.answer(question),
        call.answer(question, at=400 + at),
    ]
    assert not any(isinstance(outcome, Together) for outcome in outcomes(traces).values())
