"""What the pipeline promises: every span goes on, whatever the detector or the journal does."""

import threading
import time
from dataclasses import replace

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from prometheus_client import CollectorRegistry
from samples import GENERATOR, RETRIEVER, TOP, TRACE_ID, make_report, span_message, wire_span

from otel_raglog.analysis import Assessed, Mapped
from otel_raglog.clock import ManualClock
from otel_raglog.errors import Unavailable
from otel_raglog.marking import Marking
from otel_raglog.model import Completion, FaultType, HeldTrace, RunVerdict, Stage, Trace
from otel_raglog.outlet import Outlet
from otel_raglog.pipeline import Pipeline, TraceLimits
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.span import decode_span
from otel_raglog.report.annotations import AnnotationOptions
from otel_raglog.telemetry import ExemplarChoice, RunMetrics


class Decisions:
    """A journal that takes all, or nothing while ``full``."""

    def __init__(self):
        self.decisions = []
        self.spans = []
        self.full = False
        self.refusals = 0

    def decide(self, decisions, payloads):
        if self.full:
            self.refusals += 1
            raise Unavailable("full", 0.1)
        self.decisions.extend(decisions)
        for payload in payloads:
            self.spans.extend(split_protobuf(payload.body, Limits(), Markers((), ())).spans)


class FakeAnalyser:
    """Judges every trace alike; raises, or waits, when told to."""

    def __init__(self):
        self.error = None
        self.seconds = 0
        self.go_on = threading.Event()
        self.go_on.set()

    def decode(self, held):
        return Trace(
            held.trace_id, tuple(decode_span(span) for span in held.spans), held.completion
        )

    def mapped(self, trace):
        return Mapped(trace, (), 0.0)

    def assess_all(self, mapped):
        self.go_on.wait(5)
        time.sleep(self.seconds)
        if self.error:
            raise self.error
        return (Assessed(make_report({Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK})),)


class Recent:
    """Is told of reports; raises when told to."""

    def __init__(self):
        self.told = []
        self.error = None

    def add(self, reports, spans, *, traces, size_bytes):
        if self.error:
            raise self.error
        self.told.append((list(reports), spans, traces, size_bytes))


class Rig:
    """A pipeline between a fake detector and fake queues."""

    def __init__(self, backlog=10, limits=None, backlog_bytes=1_000_000):
        self.recent = Recent()
        self.registry = CollectorRegistry()
        self.queue = Decisions()
        self.outlet = Outlet(self.queue.decide)
        self.analyser = FakeAnalyser()
        metrics = RunMetrics(self.registry)
        self.pipeline = Pipeline(
            self.analyser,
            self.outlet,
            metrics,
            Marking(metrics, ExemplarChoice(10, ManualClock()), AnnotationOptions()),
            backlog_traces=backlog,
            backlog_bytes=backlog_bytes,
            remember_traces=100,
            limits=limits or TraceLimits(),
            recent=self.recent,
        )

    def value(self, name, **labels):
        return self.registry.get_sample_value(name, labels)

    def raw(self):
        return [span.raw for span in self.queue.spans]


def span_message_of(attributes):
    """Return the bytes of a span message with nothing but attributes."""
    return SpanMessage(
        attributes=[
            KeyValue(key=key, value=AnyValue(string_value=value))
            for key, value in attributes.items()
        ]
    ).SerializeToString()


def held(trace_id=TRACE_ID, spans=(TOP, RETRIEVER, GENERATOR)):
    """Return a released trace."""
    messages = [span_message(span_id, trace_id=trace_id) for span_id in spans]
    return HeldTrace(
        trace_id, tuple(wire_span(message) for message in messages), Completion.ROOT_QUIET, 5.0
    )


@pytest.fixture
def rig():
    """A started pipeline, stopped afterwards."""
    rig = Rig()
    rig.pipeline.start()
    yield rig
    rig.analyser.go_on.set()
    rig.pipeline.stop(5)


def wait_until(condition):
    """Wait for another thread, at most five seconds."""
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it never happened")


def test_a_released_trace_goes_on_with_its_verdict(rig):
    """All of its spans, in their order, each starting with its own bytes."""
    trace = held()
    rig.pipeline.release(trace)
    wait_until(lambda: len(rig.queue.spans) == 3)
    for before, after in zip(trace.spans, rig.queue.spans, strict=True):
        assert after.raw.startswith(before.raw)
    assert b"raglog.run.verdict" in rig.queue.spans[0].raw
    assert b"no_relevant_chunk" in rig.queue.spans[1].raw
    assert rig.value("raglog_runs_total", service="shop", verdict="faulty") == 1


def test_every_copy_of_a_repeated_span_bears_the_same_verdict(rig):
    """A retry of the application's exporter must not make two verdicts."""
    rig.pipeline.release(held(spans=(TOP, RETRIEVER, RETRIEVER)))
    wait_until(lambda: len(rig.queue.spans) == 3)
    assert rig.queue.spans[1].raw == rig.queue.spans[2].raw
    assert rig.value("raglog_runs_total", service="shop", verdict="faulty") == 1


def test_a_defect_of_the_detector_costs_the_verdict_and_no_span(rig):
    """Fail open, counted by reason, and the next trace is judged again."""
    rig.analyser.error = ValueError("a defect")
    trace = held()
    rig.pipeline.release(trace)
    wait_until(lambda: len(rig.queue.spans) == 3)
    assert rig.raw() == [span.raw for span in trace.spans]
    assert rig.value("raglog_skipped_total", reason="error") == 1
    rig.analyser.error = None
    rig.pipeline.release(held(b"\x09" * 16))
    wait_until(lambda: len(rig.queue.spans) == 6)
    assert b"raglog.run.verdict" in rig.queue.spans[3].raw


def test_a_full_backlog_lets_traces_pass_unjudged(rig):
    """A slow detector does not hold up the pipe."""
    rig.analyser.go_on.clear()
    for number in range(12):
        rig.pipeline.release(held(bytes([number + 1]) * 16))
    wait_until(lambda: len(rig.queue.spans) >= 3)
    assert rig.value("raglog_skipped_total", reason="overloaded") in {1, 2}
    rig.analyser.go_on.set()
    wait_until(lambda: len(rig.queue.spans) == 36)


def test_a_late_span_inherits_the_verdict(rig):
    """At once when it is known; behind its trace while that waits to be judged."""
    late = wire_span(span_message(b"\x07" * 8))
    rig.analyser.go_on.clear()
    rig.pipeline.release(held())
    rig.pipeline.late([late])
    rig.analyser.go_on.set()
    wait_until(lambda: len(rig.queue.spans) == 4)
    assert b"raglog.run.verdict" in rig.queue.spans[3].raw
    rig.pipeline.late([late])
    assert rig.queue.spans[4].raw == rig.queue.spans[3].raw
    assert rig.value("raglog_late_spans_total") == 2


def test_a_late_span_of_a_forgotten_trace_passes_as_it_is(rig):
    """Nothing is invented for it."""
    late = wire_span(span_message(b"\x07" * 8, trace_id=b"\x08" * 16))
    rig.pipeline.late([late])
    assert rig.raw() == [late.raw]


def test_forwarded_spans_lose_spoofed_verdicts_only(rig):
    """The namespace is ours on every path."""
    span = wire_span(span_message(attributes={"a": "x", "raglog.verdict": "ok"}), held=False)
    rig.pipeline.forward([span])
    assert b"raglog" not in rig.queue.spans[0].raw
    assert rig.queue.spans[0].raw == span_message(attributes={"a": "x"}).SerializeToString()


def test_a_journal_that_cannot_be_written_makes_the_outlet_wait_and_lose_nothing(rig):
    """Back-pressure: the thread that released the spans waits."""
    rig.queue.full = True
    span = wire_span(held=False)
    thread = threading.Thread(target=rig.pipeline.forward, args=([span],))
    thread.start()
    wait_until(lambda: rig.queue.refusals)
    assert thread.is_alive()
    rig.queue.full = False
    thread.join(5)
    assert rig.raw() == [span.raw]


def test_giving_up_leaves_undecided_what_cannot_be_written(rig):
    """At the end of a shutdown it stays in the journal, for the next start."""
    rig.queue.full = True
    rig.outlet.give_up()
    rig.pipeline.forward([wire_span(held=False)] * 3)
    assert rig.queue.decisions == []


def test_a_backlog_of_large_traces_is_bounded_by_bytes():
    """A few giant traces must not take the memory of all others; the first is always judged."""
    rig = Rig(backlog_bytes=1)
    rig.pipeline.release(held(b"\x01" * 16))
    assert rig.pipeline.backlog_bytes > 1
    rig.pipeline.release(held(b"\x02" * 16))
    assert rig.value("raglog_skipped_total", reason="overloaded") == 1
    rig.pipeline.start()
    rig.pipeline.stop(5)
    assert rig.pipeline.backlog_bytes == 0
    assert len(rig.queue.spans) == 6


def test_abandoning_decides_nothing_more():
    """A second signal leaves the journal as it is: the next start judges what waited."""
    rig = Rig()
    rig.pipeline.release(held())
    rig.pipeline.abandon()
    rig.pipeline.start()
    assert rig.pipeline.stop(5)
    rig.pipeline.release(held(b"\x02" * 16))
    rig.pipeline.forward([wire_span()])
    rig.pipeline.late([wire_span()])
    assert rig.queue.decisions == []


def test_a_trace_decided_before_a_restart_still_gives_its_late_spans_their_verdict(rig):
    """What the journal says of it is believed."""
    late = wire_span(span_message(b"\x07" * 8))
    addition = span_message_of({"raglog.run.verdict": "ok"})
    rig.pipeline.restore(TRACE_ID, addition)
    rig.pipeline.late([late])
    assert rig.raw() == [late.raw + addition]


def test_an_exemplar_is_marked_on_the_span_that_metrics_point_to(rig):
    """Samplers behind us can keep it."""
    rig.pipeline.release(held())
    wait_until(lambda: rig.queue.spans)
    assert b"raglog.exemplar" in rig.queue.spans[0].raw


def test_stopping_judges_what_waits():
    """A shutdown does not turn verdicts into guesses."""
    rig = Rig()
    for number in range(5):
        rig.pipeline.release(held(bytes([number + 1]) * 16))
    rig.pipeline.start()
    rig.pipeline.stop(5)
    assert rig.value("raglog_runs_total", service="shop", verdict=RunVerdict.FAULTY.value) == 5
    assert len(rig.queue.spans) == 15


def test_what_cannot_be_judged_within_the_grace_passes_unjudged():
    """The span is worth more than its verdict: nothing is lost, and the stop is in time."""
    rig = Rig(backlog=1000)
    traces = [held(number.to_bytes(16, "big")) for number in range(1, 301)]
    rig.analyser.seconds = 0.05
    for trace in traces:
        rig.pipeline.release(trace)
    rig.pipeline.start()
    started = time.monotonic()
    rig.pipeline.stop(0.2)
    assert time.monotonic() - started < 5
    assert len(rig.queue.spans) == 900
    unjudged = rig.value("raglog_skipped_total", reason="shutdown")
    assert 250 < unjudged < 300
    judged = rig.value("raglog_runs_total", service="shop", verdict=RunVerdict.FAULTY.value)
    assert judged + unjudged == 300


@pytest.mark.parametrize("limits", [TraceLimits(max_spans=2), TraceLimits(max_text_characters=100)])
def test_a_trace_that_would_take_minutes_passes_unjudged(limits):
    """One giant agent run must not make the others wait; it is counted by reason."""
    rig = Rig(limits=limits)
    trace = held()
    long = wire_span(span_message(TOP, attributes={"input.value": "x" * 101}))
    trace = replace(trace, spans=(long, *trace.spans[1:]))
    rig.pipeline.release(trace)
    rig.pipeline.start()
    rig.pipeline.stop(5)
    assert rig.raw() == [span.raw for span in trace.spans]
    assert rig.value("raglog_skipped_total", reason="too_large") == 1


def test_stopping_before_a_stuck_journal_ends():
    """A full disk does not keep the process alive."""
    rig = Rig()
    rig.queue.full = True
    rig.pipeline.release(held())
    rig.pipeline.start()
    assert not rig.pipeline.stop(0.1)
    rig.outlet.give_up()
    assert rig.pipeline.stop(1)
    assert rig.queue.decisions == []


def test_reports_are_told_with_their_spans(rig):
    """For the JSON API: once for each trace, with what it takes in memory."""
    trace = held()
    rig.pipeline.release(trace)
    wait_until(lambda: rig.recent.told)
    ((reports, spans, traces, size),) = rig.recent.told
    assert [report.verdict for report in reports] == [RunVerdict.FAULTY]
    assert set(spans) == {TOP, RETRIEVER, GENERATOR}
    assert traces == 1
    assert size >= trace.size_bytes


def test_who_is_told_cannot_cost_a_span_or_its_verdict(rig):
    """Whatever it raises."""
    rig.recent.error = RuntimeError("no room")
    for number in (1, 2):
        rig.pipeline.release(held(bytes([number]) * 16))
    wait_until(lambda: len(rig.queue.spans) == 6)
    assert any(b"raglog.run.verdict" in raw for raw in rig.raw())
    wait_until(lambda: rig.value("raglog_runs_total", service="shop", verdict="faulty") == 2)
