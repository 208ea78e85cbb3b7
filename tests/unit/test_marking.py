"""What reports put on spans and into metrics."""

from prometheus_client import CollectorRegistry
from samples import GENERATOR, RETRIEVER, TOP, decoded_span, make_report

from otel_raglog.clock import ManualClock
from otel_raglog.marking import Marking
from otel_raglog.model import FaultType, JudgeUse, Stage
from otel_raglog.report.annotations import AnnotationOptions
from otel_raglog.telemetry import ExemplarChoice, RunMetrics

SPANS = {span_id: decoded_span(span_id) for span_id in (TOP, RETRIEVER, GENERATOR)}


def rig():
    registry = CollectorRegistry()
    metrics = RunMetrics(registry)
    marking = Marking(metrics, ExemplarChoice(10, ManualClock()), AnnotationOptions())
    return marking, registry.get_sample_value


def test_marks_are_made_without_counting():
    """Counters wait for the final verdict, which may come later than the spans leave."""
    marking, value = rig()
    report = make_report({Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK})
    marks = marking.marks([report], SPANS)
    assert marks.additions.keys() == {TOP, RETRIEVER, GENERATOR}
    assert marks.late_addition
    assert marks.exemplars == {report.run.run_id}
    assert value("raglog_runs_total", {"service": "shop", "verdict": "faulty"}) is None
    marking.count([report], marks.exemplars)
    assert value("raglog_runs_total", {"service": "shop", "verdict": "faulty"}) == 1


def test_what_is_no_rag_run_marks_nothing_and_is_counted_as_skipped():
    """A trace without retrieval leaves byte for byte."""
    marking, value = rig()
    report = make_report(skip_reason="no_retrieval")
    marks = marking.marks([report], SPANS)
    assert not marks.additions
    assert not marks.late_addition
    marking.count([report], frozenset())
    assert value("raglog_skipped_total", {"reason": "no_retrieval"}) == 1


def test_what_an_llm_was_asked_is_counted_with_the_run():
    """Calls, tokens by kind, cost, checks without an answer, suspected texts."""
    marking, value = rig()
    use = JudgeUse(
        "m",
        "",
        5,
        100,
        20,
        30,
        0.25,
        1.0,
        (("statements", "timeout"),),
        (("instruction", "answer"), ("instruction", "question")),
    )
    marking.count([make_report(judge=use)], frozenset())
    assert value("raglog_llm_calls_total", {"model": "m"}) == 5
    assert value("raglog_llm_tokens_total", {"model": "m", "kind": "prompt"}) == 70
    assert value("raglog_llm_tokens_total", {"model": "m", "kind": "cached"}) == 30
    assert value("raglog_llm_tokens_total", {"model": "m", "kind": "completion"}) == 20
    assert value("raglog_llm_cost_usd_total", {"model": "m"}) == 0.25
    abstained = {"check": "statements", "reason": "timeout"}
    assert value("raglog_judge_abstained_total", abstained) == 1
    suspected = {"service": "shop", "kind": "instruction"}
    assert value("raglog_judge_injection_suspected_total", suspected) == 1


def test_why_no_llm_was_asked_is_counted():
    """Budget, schedule, certainty: each by its word."""
    marking, value = rig()
    marking.count([make_report(judge=JudgeUse("m", skipped="budget"))], frozenset())
    assert value("raglog_judge_skipped_total", {"reason": "budget"}) == 1
    marking.count_judge([make_report(judge=JudgeUse("m", cost_usd=None))])
    assert value("raglog_llm_cost_usd_total", {"model": "m"}) == 0
