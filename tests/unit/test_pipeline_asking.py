"""What the pipeline promises of runs that an LLM is asked about: held for a while, counted once."""

import time
from concurrent.futures import Future

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from prometheus_client import CollectorRegistry
from samples import GENERATOR, RETRIEVER, TOP, TRACE_ID, make_report, span_message, wire_span

from otel_raglog.analysis import Assessed, Mapped
from otel_raglog.asking import Asking
from otel_raglog.clock import ManualClock
from otel_raglog.llm_tier import Asked
from otel_raglog.marking import Marking
from otel_raglog.model import Completion, FaultType, HeldTrace, JudgeUse, Stage, Tier, Trace
from otel_raglog.outlet import Outlet
from otel_raglog.pipeline import Pipeline
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.span import decode_span
from otel_raglog.report.annotations import AnnotationOptions
from otel_raglog.telemetry import ExemplarChoice, RunMetrics

FAULTY = {Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK}


class FakeAnalyser:
    """Finds every run in order, and asks an LLM that answers when the test says so."""

    def __init__(self):
        self.futures = []

    def decode(self, held):
        return Trace(held.trace_id, tuple(map(decode_span, held.spans)), held.completion)

    def mapped(self, trace):
        return Mapped(trace, (), 0.0)

    def assess_all(self, mapped):
        future = Future()
        self.futures.append(future)
        return (Assessed(make_report(), Asked(self, future)),)

    def final(self, local, future):
        return future.result()

    def again(self, run):
        future = Future()
        self.futures.append(future)
        return Asked(self, future)


class Rig:
    """A pipeline that asks; the room's clock stands still until it is moved."""

    def __init__(self):
        self.registry = CollectorRegistry()
        self.metrics = RunMetrics(self.registry)
        self.clock = ManualClock()
        self.analyser = FakeAnalyser()
        self.spans = []
        self.own = []
        self.told = []
        asking = Asking(
            self.analyser,
            self.send,
            self.metrics,
            AnnotationOptions(),
            self.clock,
            bytes,
            hold_seconds=10,
            remember_bytes=1_000_000,
        )
        self.pipeline = Pipeline(
            self.analyser,
            Outlet(self.decide),
            self.metrics,
            Marking(self.metrics, ExemplarChoice(10, ManualClock()), AnnotationOptions()),
            backlog_traces=10,
            backlog_bytes=1_000_000,
            remember_traces=100,
            asking=asking,
            recent=self,
        )

    def send(self, spans, headers):
        self.own.extend(spans)
        return True

    def add(self, reports, spans, *, traces, size_bytes):
        self.told += [(report.tier, report.verdict.value, len(spans)) for report in reports]

    def decide(self, decisions, payloads):
        for payload in payloads:
            self.spans.extend(split_protobuf(payload.body, Limits(), Markers((), ())).spans)

    def release(self):
        messages = [span_message(span_id) for span_id in (TOP, RETRIEVER, GENERATOR)]
        spans = tuple(wire_span(message) for message in messages)
        self.pipeline.release(HeldTrace(TRACE_ID, spans, Completion.ROOT_QUIET, 5.0))
        wait_until(lambda: self.pipeline.asking)

    def answer(self, report):
        self.analyser.futures[0].set_result(report)

    def runs(self, verdict):
        labels = {"service": "shop", "verdict": verdict}
        return self.registry.get_sample_value("raglog_runs_total", labels) or 0

    def top(self):
        return attributes(next(span.raw for span in self.spans if span.span_id == TOP))


def attributes(raw):
    """Return the attributes that are texts."""
    found = SpanMessage.FromString(raw).attributes
    return {item.key: item.value.string_value for item in found}


@pytest.fixture
def rig():
    """A started pipeline, stopped afterwards."""
    rig = Rig()
    rig.pipeline.start()
    yield rig
    for future in rig.analyser.futures:
        if not future.done():
            future.set_result(make_report())
    rig.pipeline.stop(5)


def wait_until(condition):
    """Wait for another thread, at most five seconds."""
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it never happened")


def test_spans_wait_for_the_llm_and_leave_with_its_verdict(rig):
    """Nothing is counted, and nothing leaves, before the answer."""
    rig.release()
    assert not rig.spans
    assert rig.pipeline.waiting_bytes > 0
    rig.answer(make_report(FAULTY, tier=Tier.LLM))
    wait_until(lambda: len(rig.spans) == 3)
    assert rig.top()["raglog.run.verdict"] == "faulty"
    assert rig.top()["raglog.detector.tier"] == "llm"
    wait_until(lambda: rig.runs("faulty") == 1)
    assert rig.pipeline.asking == 0
    assert not rig.own


def test_after_the_hold_they_leave_with_the_local_verdict(rig):
    """The LLM's follows on spans of our own, and the run is counted once, by the final verdict."""
    rig.release()
    rig.clock.advance(10)
    wait_until(lambda: len(rig.spans) == 3)
    assert rig.top()["raglog.detector.tier"] == "local"
    assert rig.runs("ok") == rig.runs("faulty") == 0
    rig.answer(make_report(FAULTY, tier=Tier.LLM))
    wait_until(lambda: rig.runs("faulty") == 1)
    assert rig.runs("ok") == 0
    assert {SpanMessage.FromString(span.raw).links[0].span_id for span in rig.own} == {
        TOP,
        RETRIEVER,
        GENERATOR,
    }
    assert attributes(rig.own[0].raw)["raglog.supersedes"] == "rules-1"


def test_an_llm_that_never_answers_leaves_the_local_verdict_to_be_counted(rig):
    """Its time-out ends the wait; no span of our own follows."""
    rig.release()
    rig.clock.advance(10)
    wait_until(lambda: len(rig.spans) == 3)
    rig.answer(make_report(judge=JudgeUse("m", abstained=(("all", "timeout"),))))
    wait_until(lambda: rig.runs("ok") == 1)
    assert not rig.own


def test_late_spans_of_a_held_trace_leave_after_it_with_its_verdict(rig):
    """They were never passed before their trace."""
    rig.release()
    late = wire_span(span_message(b"\x09" * 8))
    rig.pipeline.late([late])
    wait_until(lambda: rig.pipeline.backlog == 0)
    assert not rig.spans
    rig.answer(make_report(FAULTY, tier=Tier.LLM))
    wait_until(lambda: len(rig.spans) == 4)
    assert rig.spans[-1].span_id == b"\x09" * 8
    assert attributes(rig.spans[-1].raw)["raglog.run.verdict"] == "faulty"


def test_other_traces_go_on_while_one_is_asked_about(rig):
    """The thread waits for no LLM."""
    rig.release()
    rig.analyser.assess_all = lambda _: (Assessed(make_report()),)
    other = wire_span(span_message(trace_id=b"\x05" * 16))
    rig.pipeline.release(HeldTrace(b"\x05" * 16, (other,), Completion.ROOT_QUIET, 0.0))
    wait_until(lambda: len(rig.spans) == 1)
    assert rig.pipeline.asking == 1


def test_at_shutdown_what_is_asked_about_leaves_with_its_local_verdict():
    """And is counted so: nothing is lost, and nobody waits longer than the grace."""
    rig = Rig()
    rig.pipeline.start()
    rig.release()
    assert rig.pipeline.stop(0.2)
    assert len(rig.spans) == 3
    assert rig.top()["raglog.detector.tier"] == "local"
    assert rig.runs("ok") == 1


def test_a_defect_of_the_second_detector_costs_its_verdict_alone(rig):
    """The spans pass unjudged; the thread goes on."""
    rig.release()
    rig.analyser.futures[0].set_exception(ValueError("a defect"))
    wait_until(lambda: len(rig.spans) == 3)
    skipped = rig.registry.get_sample_value("raglog_skipped_total", {"reason": "error"})
    assert skipped == 1


def test_a_defect_after_the_spans_have_left_leaves_the_local_verdict_to_be_counted(rig):
    """No later run is lost for it."""
    rig.release()
    rig.clock.advance(10)
    wait_until(lambda: len(rig.spans) == 3)
    rig.analyser.futures[0].set_exception(ValueError("a defect"))
    wait_until(lambda: rig.runs("ok") == 1)
    assert rig.pipeline.asking == 0


DISLIKE = {
    "annotations.0.annotation.label": "thumbs_down",
    "annotations.0.annotation.annotator_kind": "HUMAN",
}


def test_a_late_span_never_overtakes_its_trace(rig):
    """Not even while the trace is being marked: it leaves after it, with its verdict."""
    late = wire_span(span_message(b"\x09" * 8))
    final = rig.analyser.final

    def slow(local, future):
        rig.pipeline.late([late])
        return final(local, future)

    rig.analyser.final = slow
    rig.release()
    rig.answer(make_report(FAULTY, tier=Tier.LLM))
    wait_until(lambda: len(rig.spans) == 4)
    assert rig.spans[-1].span_id == b"\x09" * 8
    assert attributes(rig.spans[-1].raw)["raglog.run.verdict"] == "faulty"


def local_trace(rig):
    """Release a trace that no LLM is asked about, and wait until it has left."""
    rig.analyser.assess_all = lambda _: (Assessed(make_report()),)
    spans = tuple(wire_span(span_message(span_id)) for span_id in (TOP, RETRIEVER, GENERATOR))
    rig.pipeline.release(HeldTrace(TRACE_ID, spans, Completion.ROOT_QUIET, 5.0))
    wait_until(lambda: rig.runs("ok") == 1)


def test_feedback_that_comes_late_asks_and_leaves_at_once(rig):
    """The run is not counted again; the calls are."""
    local_trace(rig)
    rig.pipeline.late([wire_span(span_message(b"\x09" * 8, attributes=DISLIKE))])
    assert rig.spans[-1].span_id == b"\x09" * 8
    assert attributes(rig.spans[-1].raw)["raglog.run.verdict"] == "ok"
    wait_until(lambda: rig.analyser.futures)
    use = JudgeUse("m", calls=5)
    rig.answer(make_report(FAULTY, tier=Tier.LLM, judge=use))
    wait_until(lambda: rig.own)
    wait_until(lambda: rig.registry.get_sample_value("raglog_llm_calls_total", {"model": "m"}) == 5)
    assert rig.runs("ok") == 1
    assert rig.runs("faulty") == 0


def test_a_defect_in_feedback_costs_nothing_else(rig):
    """The span has left, and the thread goes on."""
    local_trace(rig)

    def broken(_run):
        raise RuntimeError("can't start new thread")

    rig.analyser.again = broken
    rig.pipeline.late([wire_span(span_message(b"\x09" * 8, attributes=DISLIKE))])
    other = wire_span(span_message(trace_id=b"\x05" * 16))
    rig.pipeline.release(HeldTrace(b"\x05" * 16, (other,), Completion.ROOT_QUIET, 0.0))
    wait_until(lambda: len(rig.spans) == 5)
    assert rig.pipeline.backlog == 0


def test_a_defect_while_counting_sends_nothing_twice(rig):
    """The trace has left; what was to be counted is not, and the next one goes on."""
    marking = rig.pipeline._marking

    def broken(*_):
        raise ValueError("a defect")

    marking.count = broken
    rig.release()
    rig.answer(make_report(FAULTY, tier=Tier.LLM))
    wait_until(lambda: len(rig.spans) == 3)
    rig.analyser.assess_all = lambda _: (Assessed(make_report()),)
    other = wire_span(span_message(trace_id=b"\x05" * 16))
    rig.pipeline.release(HeldTrace(b"\x05" * 16, (other,), Completion.ROOT_QUIET, 0.0))
    wait_until(lambda: len(rig.spans) == 4)
    assert rig.pipeline.asking == 0


def test_a_defect_of_the_way_out_leaves_the_trace_in_the_journal(rig):
    """Undecided; others are not held up behind it."""
    put = rig.pipeline._outlet.put_together
    broken = [True]

    def put_once_broken(*arguments, **options):
        if broken and broken.pop():
            raise ValueError("a defect")
        put(*arguments, **options)

    rig.pipeline._outlet.put_together = put_once_broken
    rig.release()
    rig.answer(make_report(FAULTY, tier=Tier.LLM))
    wait_until(lambda: rig.pipeline.asking == 0)
    rig.analyser.assess_all = lambda _: (Assessed(make_report()),)
    other = wire_span(span_message(trace_id=b"\x05" * 16))
    rig.pipeline.release(HeldTrace(b"\x05" * 16, (other,), Completion.ROOT_QUIET, 0.0))
    wait_until(lambda: len(rig.spans) == 1)


def test_a_dislike_on_a_span_that_waited_is_heeded(rig):
    """It came while its trace was held; the run is asked about again if the LLM said nothing."""
    rig.release()
    rig.pipeline.late([wire_span(span_message(b"\x09" * 8, attributes=DISLIKE))])
    wait_until(lambda: rig.pipeline.backlog == 0)
    rig.answer(make_report(judge=JudgeUse("m", abstained=(("all", "timeout"),))))
    wait_until(lambda: len(rig.analyser.futures) == 2)


def test_a_later_verdict_is_told_of_too(rig):
    """The local one when the spans leave, the LLM's when it comes: for the JSON API."""
    rig.release()
    rig.clock.advance(11)
    wait_until(lambda: rig.told)
    assert rig.told == [(Tier.LOCAL, "ok", 3)]
    rig.answer(make_report(FAULTY, tier=Tier.LLM, judge=JudgeUse("m", calls=5)))
    wait_until(lambda: len(rig.told) > 1)
    assert rig.told[1:] == [(Tier.LLM, "faulty", 0)]


def test_a_verdict_that_comes_in_time_is_told_of_once(rig):
    """The spans have it from the start."""
    rig.release()
    rig.answer(make_report(FAULTY, tier=Tier.LLM, judge=JudgeUse("m", calls=5)))
    wait_until(lambda: rig.told)
    wait_until(lambda: not rig.pipeline.asking)
    assert rig.told == [(Tier.LLM, "faulty", 3)]
