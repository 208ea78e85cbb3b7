"""What the pipeline promises of traces that wait for one another: none is lost, one verdict."""

import time

import pytest
from fragment_traces import Call, wire_spans
from prometheus_client import CollectorRegistry
from samples import span_message, wire_span

from otel_raglog.analysis import Analyser
from otel_raglog.checks.registry import build_checks
from otel_raglog.clock import ManualClock
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.errors import Unavailable
from otel_raglog.marking import Marking
from otel_raglog.model import Completion, HeldTrace
from otel_raglog.outlet import Outlet
from otel_raglog.pipeline import Pipeline, TraceLimits
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.span import decode_span
from otel_raglog.report.annotations import AnnotationOptions
from otel_raglog.telemetry import ExemplarChoice, RunMetrics
from otel_raglog.waiting import JoinLimits, WaitingRoom


class Decisions:
    """A journal that keeps each call's decisions, or refuses while ``full``."""

    def __init__(self):
        self.calls = []
        self.spans = []
        self.full = False

    def decide(self, decisions, payloads):
        if self.full:
            raise Unavailable("full", 0.1)
        self.calls.append(list(decisions))
        for payload in payloads:
            self.spans.extend(split_protobuf(payload.body, Limits(), Markers((), ())).spans)


class Rig:
    """A pipeline with a waiting room on a clock that stands still until it is moved."""

    def __init__(self, limits=None, **join):
        self.registry = CollectorRegistry()
        self.journal = Decisions()
        self.outlet = Outlet(self.journal.decide)
        self.clock = ManualClock()
        self.room = WaitingRoom(JoinLimits(**join), self.clock)
        metrics = RunMetrics(self.registry)
        self.pipeline = Pipeline(
            Analyser(build_checks(None), Rules1(), ManualClock()),
            self.outlet,
            metrics,
            Marking(metrics, ExemplarChoice(10, ManualClock()), AnnotationOptions()),
            backlog_traces=1_000,
            backlog_bytes=10_000_000,
            remember_traces=100,
            limits=limits or TraceLimits(),
            room=self.room,
        )

    def value(self, name, **labels):
        return self.registry.get_sample_value(name, labels) or 0

    def release(self, *traces):
        for trace in traces:
            spans = wire_spans(trace)
            self.pipeline.release(HeldTrace(trace.trace_id, spans, Completion.ROOT_QUIET, 5.0))

    def sent(self):
        """Return the decoded spans that left, by trace id."""
        return {span.trace_id: decode_span(span) for span in self.journal.spans}


@pytest.fixture
def rig():
    """A started pipeline, stopped afterwards."""
    rig = Rig()
    rig.pipeline.start()
    yield rig
    rig.outlet.give_up()
    rig.pipeline.stop(5)


def wait_until(condition):
    """Wait for another thread, at most five seconds."""
    for _ in range(500):
        if condition():
            return
        time.sleep(0.01)
    pytest.fail("it never happened")


def three(call=None):
    """Return the traces of one run."""
    call = call or Call()
    return [call.embed(), call.search(), call.answer()]


def test_traces_of_one_run_are_judged_once_and_leave_at_once(rig):
    """One decision for each, in one go; each span keeps its own trace."""
    traces = three()
    rig.release(*traces)
    wait_until(lambda: rig.pipeline.waiting_fragments == 3)
    assert rig.pipeline.waiting_bytes > 0
    assert rig.journal.calls == []
    rig.clock.advance(10)
    wait_until(lambda: len(rig.journal.spans) == 3)
    (decisions,) = rig.journal.calls
    assert [decision.trace_id for decision in decisions] == [t.trace_id for t in traces]
    assert len({decision.late_addition for decision in decisions}) == 1
    embedding, search, answer = (rig.sent()[trace.trace_id].attributes for trace in traces)
    assert embedding["raglog.stage"] == "embedder"
    assert search["raglog.stage"] == "retriever"
    assert answer["raglog.run.id"] == traces[2].trace_id.hex()
    assert answer["raglog.run.joined_traces"] == tuple(t.trace_id.hex() for t in traces)
    assert embedding["raglog.run.id"] == search["raglog.run.id"] == answer["raglog.run.id"]
    assert "raglog.run.verdict" in answer
    assert "raglog.run.verdict" not in search
    assert rig.value("raglog_joined_traces_total") == 3
    assert rig.value("raglog_analysis_seconds_count") == 1
    wait_until(lambda: rig.pipeline.waiting_fragments == 0)
    assert rig.pipeline.waiting_bytes == 0


def test_a_fragment_that_stays_alone_is_judged_as_ever(rig):
    """After its wait."""
    (trace, *_) = three()
    rig.release(trace)
    wait_until(lambda: rig.pipeline.waiting_fragments == 1)
    rig.clock.advance(10)
    wait_until(lambda: rig.journal.spans)
    assert rig.sent()[trace.trace_id].attributes["raglog.skip_reason"] == "embedding_only"
    assert rig.value("raglog_joined_traces_total") == 0


def test_what_is_no_fragment_does_not_wait_behind_those_that_are(rig):
    """A whole trace is judged at once."""
    call = Call()
    rig.release(*three(call), call.embed(session=None))
    wait_until(lambda: rig.journal.spans)
    assert len(rig.journal.spans) == 1


def test_a_late_span_of_a_trace_that_waits_leaves_behind_it_with_its_verdict(rig):
    """It waits too; without a verdict it would be worth less."""
    traces = three()
    rig.release(*traces)
    wait_until(lambda: rig.pipeline.waiting_fragments == 3)
    late = wire_span(span_message(b"\x77" * 8, trace_id=traces[1].trace_id))
    rig.pipeline.late([late])
    wait_until(lambda: rig.pipeline.backlog == 0)
    assert rig.journal.spans == []
    rig.clock.advance(10)
    wait_until(lambda: len(rig.journal.spans) == 4)
    last = decode_span(rig.journal.spans[-1])
    assert last.span_id == late.span_id
    assert last.attributes["raglog.run.id"] == traces[2].trace_id.hex()
    rig.pipeline.late([late])
    assert rig.journal.spans[-1].raw == rig.journal.spans[-2].raw


def test_stopping_judges_what_waits_one_by_one():
    """Their spans do not stay behind, and nothing is joined of which a part may be missing."""
    rig = Rig()
    rig.pipeline.start()
    rig.release(*three())
    assert rig.pipeline.stop(10)
    assert len(rig.journal.spans) == 3
    assert rig.value("raglog_joined_traces_total") == 0
    assert rig.pipeline.waiting_fragments == 0


def test_abandoning_leaves_what_waits_in_the_journal():
    """The next start lets it wait again."""
    rig = Rig()
    rig.pipeline.start()
    rig.release(*three())
    wait_until(lambda: rig.pipeline.waiting_fragments == 3)
    rig.pipeline.abandon()
    assert rig.pipeline.stop(5)
    assert rig.journal.calls == []


def test_beyond_the_limit_the_oldest_is_judged_alone():
    """Memory is bounded; nothing is lost."""
    rig = Rig(max_fragments=2)
    rig.pipeline.start()
    traces = three()
    rig.release(*traces)
    wait_until(lambda: len(rig.journal.spans) == 1)
    assert rig.journal.spans[0].trace_id == traces[0].trace_id
    assert rig.pipeline.stop(10)
    assert len(rig.journal.spans) == 3


def test_a_defect_of_joining_costs_the_verdict_and_no_span(rig):
    """All that waits passes unjudged, late spans too, and the next one is judged."""
    traces = three()
    rig.release(*traces)
    wait_until(lambda: rig.pipeline.waiting_fragments == 3)
    rig.pipeline.late([wire_span(span_message(b"\x77" * 8, trace_id=traces[0].trace_id))])
    wait_until(lambda: rig.pipeline.backlog == 0)
    sane = rig.room._joiner.outcome
    rig.room._joiner.outcome = None
    rig.clock.advance(10)
    wait_until(lambda: len(rig.journal.spans) == 4)
    assert rig.value("raglog_skipped_total", reason="error") == 3
    assert not any(b"raglog.run" in span.raw for span in rig.journal.spans)
    assert rig.room._joiner.outcome != sane
    rig.release(*three(Call(session="s9")))
    wait_until(lambda: rig.pipeline.waiting_fragments == 3)
    rig.clock.advance(10)
    wait_until(lambda: rig.value("raglog_joined_traces_total") == 3)


def test_a_defect_of_the_detector_costs_the_verdict_and_no_span(rig, monkeypatch):
    """Each trace of the run passes as it came."""
    traces = three()
    rig.release(*traces)
    wait_until(lambda: rig.pipeline.waiting_fragments == 3)

    def broken(*_):
        raise ValueError("a defect")

    monkeypatch.setattr(Analyser, "assess_all", broken)
    rig.clock.advance(10)
    wait_until(lambda: len(rig.journal.spans) == 3)
    assert rig.value("raglog_skipped_total", reason="error") == 3
    raw = {span.raw for trace in traces for span in wire_spans(trace)}
    assert {span.raw for span in rig.journal.spans} == raw


def test_a_trace_that_is_too_large_does_not_wait():
    """It passes unjudged at once, as without joining."""
    rig = Rig(limits=TraceLimits(max_text_characters=10))
    rig.pipeline.start()
    rig.release(*three())
    wait_until(lambda: len(rig.journal.spans) == 3)
    assert rig.value("raglog_skipped_total", reason="too_large") == 3
    rig.pipeline.stop(5)


def test_a_journal_that_cannot_be_written_keeps_the_traces_of_a_run_together(rig):
    """All of them are decided when it can be, in one go."""
    rig.release(*three())
    wait_until(lambda: rig.pipeline.waiting_fragments == 3)
    rig.journal.full = True
    rig.clock.advance(10)
    time.sleep(0.3)
    assert rig.journal.calls == []
    rig.journal.full = False
    wait_until(lambda: rig.journal.calls)
    assert [len(decisions) for decisions in rig.journal.calls] == [3]
