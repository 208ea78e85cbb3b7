"""What becomes of traces whose runs an LLM is asked about."""

from concurrent.futures import Future
from dataclasses import replace

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from prometheus_client import CollectorRegistry
from samples import TOP, TRACE_ID, decoded_span, make_report, span_message, wire_span

from otel_raglog.analysis import Assessed
from otel_raglog.asking import Asking, Recent
from otel_raglog.clock import ManualClock
from otel_raglog.judged import Judged
from otel_raglog.llm_tier import Asked
from otel_raglog.model import Completion, HeldTrace, JudgeUse, SpanLink, Tier
from otel_raglog.report.annotations import AnnotationOptions
from otel_raglog.telemetry import RunMetrics

OTHER = bytes(range(16, 32))


class FakeTier:
    """Asks in vain until told; its reports are the futures' results."""

    def __init__(self):
        self.asked = []

    def final(self, local, future):
        return future.result()

    def again(self, run):
        asked = Asked(self, Future())
        self.asked.append(asked)
        return asked


class Rig:
    """The room on a clock that stands still, and what was sent."""

    def __init__(self, remember_bytes=1_000_000):
        self.clock = ManualClock()
        self.tier = FakeTier()
        self.sent = []
        self.registry = CollectorRegistry()
        self.asking = Asking(
            self.tier,
            self.send,
            RunMetrics(self.registry),
            AnnotationOptions(),
            self.clock,
            bytes,
            hold_seconds=10,
            remember_bytes=remember_bytes,
        )

    def send(self, spans, headers):
        self.sent.append((spans, headers))
        return True

    def judged(self, trace_id=TRACE_ID, *, asked=True):
        span = replace(
            wire_span(span_message(trace_id=trace_id)), headers=(("x-scope-orgid", "a"),)
        )
        trace = HeldTrace(trace_id, (span,), Completion.ROOT_QUIET, 0.0)
        future = Future()
        assessed = Assessed(make_report(), Asked(self.tier, future) if asked else None)
        return Judged((trace,), (assessed,), {TOP: decoded_span(TOP)}), future


@pytest.fixture
def rig():
    return Rig()


def leave(rig, judged):
    """Let traces leave with what is said of them by now."""
    rig.asking.has_left(judged, judged.settle())


def test_a_trace_waits_until_the_llm_has_answered(rig):
    """Then it leaves at once, and its memory is free again."""
    judged, future = rig.judged()
    rig.asking.hold(judged)
    assert TRACE_ID in rig.asking
    assert rig.asking.size_bytes == 4 * judged.size_bytes
    assert rig.asking.next_leaving() is None
    future.set_result(make_report(tier=Tier.LLM))
    assert rig.asking.next_leaving() is judged
    assert TRACE_ID in rig.asking  # late spans still wait: its own are not out yet
    leave(rig, judged)
    assert TRACE_ID not in rig.asking
    assert rig.asking.size_bytes == 0


def test_no_trace_waits_longer_than_it_may(rig):
    """After ``hold_seconds`` it leaves unanswered."""
    judged, _ = rig.judged()
    rig.asking.hold(judged)
    rig.clock.advance(9.9)
    assert rig.asking.next_leaving() is None
    rig.clock.advance(0.1)
    assert rig.asking.next_leaving() is judged


def test_at_the_end_nothing_waits_any_more(rig):
    """A shutdown lets all go, answered or not."""
    judged, _ = rig.judged()
    rig.asking.hold(judged)
    assert rig.asking.next_leaving(all_now=True) is judged


def test_late_spans_wait_with_their_trace(rig):
    """They leave with it; those of other traces do not wait."""
    judged, _ = rig.judged()
    rig.asking.hold(judged)
    late = wire_span(span_message(b"\x09" * 8))
    assert rig.asking.add_late(late)
    assert judged.late == [late]
    assert rig.asking.size_bytes == 4 * judged.size_bytes + late.size_bytes
    assert not rig.asking.add_late(wire_span(span_message(trace_id=OTHER)))
    rig.asking.drop(rig.asking.next_leaving(all_now=True))
    assert rig.asking.size_bytes == 0


def test_late_spans_that_a_joined_run_brings_are_counted_too(rig):
    """What is taken in is let out, to the byte."""
    judged, future = rig.judged()
    judged.late.append(wire_span(span_message(b"\x09" * 8)))
    rig.asking.hold(judged)
    future.set_result(make_report(tier=Tier.LLM))
    leave(rig, judged)
    assert rig.asking.size_bytes == 0


def test_a_trace_that_waits_already_is_not_held_again(rig):
    """The second part of it leaves at once; none of the first is lost."""
    first, second = rig.judged()[0], rig.judged()[0]
    assert rig.asking.hold(first)
    assert not rig.asking.hold(second)
    leave(rig, second)
    assert rig.asking.next_leaving(all_now=True) is first
    leave(rig, first)
    assert len(rig.asking) == 2  # both are still asked about
    assert rig.asking.next_leaving(all_now=True) is None


def test_what_has_left_unanswered_still_takes_memory(rig):
    """Until the LLM has answered."""
    judged, future = rig.judged()
    leave(rig, judged)
    assert rig.asking.size_bytes == 4 * judged.size_bytes
    future.set_result(make_report(tier=Tier.LLM))
    assert rig.asking.next_answered() is judged
    assert rig.asking.size_bytes == 0


def test_an_answer_that_comes_too_late_is_sent_on_a_span_of_its_own(rig):
    """With the headers of the spans that it is about; the local report was on those."""
    judged, future = rig.judged()
    leave(rig, judged)
    assert rig.asking.next_answered() is None
    assert len(rig.asking) == 1
    future.set_result(make_report(tier=Tier.LLM))
    assert rig.asking.next_answered() is judged
    rig.asking.publish(judged, judged.reports())
    ((spans, headers),) = rig.sent
    assert headers == (("x-scope-orgid", "a"),)
    (link,) = SpanMessage.FromString(spans[0].raw).links
    assert (link.trace_id, link.span_id) == (TRACE_ID, TOP)
    assert rig.registry.get_sample_value("raglog_late_verdicts_total") == 1
    assert len(rig.asking) == 0


def test_an_llm_that_did_not_answer_changes_nothing(rig):
    """A final report of the local tier is what is on the spans already."""
    judged, future = rig.judged()
    leave(rig, judged)
    future.set_result(make_report(judge=JudgeUse("m", abstained=(("all", "timeout"),))))
    rig.asking.publish(judged, judged.reports())
    assert not rig.sent


def dislike(trace_id=TRACE_ID, span_id=b"\x07" * 8):
    """Return a late span that says that the user disliked the answer."""
    attributes = {
        "annotations.0.annotation.label": "thumbs_down",
        "annotations.0.annotation.annotator_kind": "HUMAN",
    }
    return wire_span(span_message(span_id, attributes=attributes, trace_id=trace_id))


def test_a_run_that_its_user_dislikes_later_is_asked_about(rig):
    """Once: the metrics have it already, and what the LLM says goes out on a span of its own."""
    judged, _ = rig.judged(asked=False)
    leave(rig, judged)
    assert rig.asking.remembers(TRACE_ID)
    assert TRACE_ID not in rig.asking  # its late spans leave at once
    rig.asking.look_at(dislike())
    rig.asking.look_at(dislike())
    (asked,) = rig.tier.asked
    asked.future.set_result(make_report(tier=Tier.LLM))
    again = rig.asking.next_answered()
    assert again.counted
    rig.asking.publish(again, again.reports())
    assert len(rig.sent) == 1


def test_feedback_may_come_in_a_trace_of_its_own(rig):
    """A span that is linked to the run's trace, as OpenInference has it for what comes later."""
    judged, _ = rig.judged(asked=False)
    leave(rig, judged)
    attributes = {"annotations.0.annotation.name": "feedback", "annotations.0.annotation.score": 0}
    span = replace(
        decoded_span(attributes=attributes),
        trace_id=OTHER,
        links=(SpanLink(TRACE_ID, TOP, {}),),
    )
    rig.asking.look_at_all([replace(span, links=()), replace(span, attributes={})])
    assert not rig.tier.asked
    rig.asking.look_at_all([span])
    assert len(rig.tier.asked) == 1


def test_a_joined_run_is_asked_about_once(rig):
    """Whichever of its traces the feedback is on, or both."""
    judged, _ = rig.judged(asked=False)
    other, _ = rig.judged(OTHER, asked=False)
    judged.traces += other.traces
    leave(rig, judged)
    span = decoded_span(
        attributes={
            "annotations.0.annotation.name": "feedback",
            "annotations.0.annotation.score": 0,
        }
    )
    links = tuple(SpanLink(trace_id, TOP, {}) for trace_id in (TRACE_ID, OTHER))
    rig.asking.look_at_all([replace(span, trace_id=b"\x08" * 16, links=links)])
    assert len(rig.tier.asked) == 1
    assert not rig.asking.remembers(OTHER)


def test_what_was_answered_after_it_had_left_is_remembered_if_nothing_was_said(rig):
    """The LLM abstained: a user's later dislike is worth another try."""
    judged, future = rig.judged()
    leave(rig, judged)
    future.set_result(make_report())
    rig.asking.next_answered()
    rig.asking.has_been_counted(judged, judged.reports())
    assert rig.asking.remembers(TRACE_ID)


def test_runs_of_no_rag_are_not_remembered(rig):
    """They would push out those that are."""
    judged, _ = rig.judged(asked=False)
    judged.assessed = (Assessed(make_report(skip_reason="no_retrieval")),)
    leave(rig, judged)
    assert not rig.asking.remembers(TRACE_ID)


def test_what_an_llm_judged_already_is_not_asked_about_again(rig):
    """Neither is a run that was skipped, nor one that nobody remembers."""
    judged, future = rig.judged()
    future.set_result(make_report(tier=Tier.LLM))
    leave(rig, judged)
    rig.asking.look_at(dislike())
    skipped, _ = rig.judged(OTHER, asked=False)
    skipped.assessed = (Assessed(make_report(skip_reason="no_question")),)
    leave(rig, skipped)
    rig.asking.look_at(dislike(OTHER))
    assert not rig.tier.asked
    assert len(rig.asking) == 0


def test_a_late_span_that_cannot_be_read_asks_nothing(rig):
    """It is forwarded all the same."""
    judged, _ = rig.judged(asked=False)
    leave(rig, judged)
    rig.asking.look_at(replace(dislike(), raw=b"\xff"))
    assert not rig.tier.asked


def test_the_oldest_are_forgotten_first():
    """What is remembered is bounded by bytes; without any, nothing is."""
    rig = Rig()
    first, second = (rig.judged(trace_id, asked=False)[0] for trace_id in (TRACE_ID, OTHER))
    recent = Recent(4 * first.size_bytes + 1)
    recent.remember(first)
    recent.remember(second)
    assert TRACE_ID not in recent
    assert OTHER in recent
    recent.remember(second)
    assert recent.size_bytes == 4 * second.size_bytes
    assert recent.pop(OTHER) is second
    assert recent.size_bytes == 0
    nothing = Recent(0)
    nothing.remember(first)
    assert TRACE_ID not in nothing
    assert nothing.size_bytes == 0


def test_of_several_runs_only_those_that_follow_are_sent(rig):
    """What left with the LLM's verdict is not said again."""
    judged, future = rig.judged()
    early = Future()
    early.set_result(make_report(tier=Tier.LLM))
    judged.assessed = (Assessed(make_report(), Asked(rig.tier, early)), *judged.assessed)
    leave(rig, judged)
    future.set_result(make_report())
    rig.asking.publish(judged, judged.reports())
    assert not rig.sent


def test_a_user_who_cannot_be_heeded_now_may_say_it_again(rig):
    """Too many runs wait: the run is still remembered."""
    judged, _ = rig.judged(asked=False)
    leave(rig, judged)
    rig.tier.again = lambda _run: JudgeUse("m", skipped="overloaded")
    rig.asking.look_at(dislike())
    assert rig.asking.remembers(TRACE_ID)


def test_a_joined_run_counts_as_one(rig):
    """However many traces it is of."""
    judged, _ = rig.judged()
    judged.traces += rig.judged(OTHER)[0].traces
    rig.asking.hold(judged)
    assert len(rig.asking) == 1
