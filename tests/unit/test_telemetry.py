"""What the metrics promise."""

from dataclasses import replace

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from samples import CHUNKS, make_report, make_run

from otel_raglog.checks.registry import build_checks
from otel_raglog.clock import ManualClock
from otel_raglog.model import (
    FaultType,
    Field,
    FieldStatus,
    Measurement,
    RunVerdict,
    ScoreKind,
    Stage,
    WarningType,
)
from otel_raglog.telemetry import (
    CONTEXT_UTILIZATION,
    OVERFLOW,
    PROMPT_BUDGET,
    WORDS_UNSUPPORTED,
    CappedLabel,
    ExemplarChoice,
    RunMetrics,
)


@pytest.fixture
def registry():
    """A registry of the test's own."""
    return CollectorRegistry()


def value(registry, name, **labels):
    return registry.get_sample_value(name, labels)


def test_a_report_moves_each_counter_once(registry):
    """Runs, verdicts, faults, by service."""
    metrics = RunMetrics(registry)
    metrics.count(make_report({Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK}), exemplar=False)
    assert value(registry, "raglog_runs_total", service="shop", verdict="faulty") == 1
    verdicts = "raglog_stage_verdicts_total"
    assert value(registry, verdicts, service="shop", stage="retriever", verdict="faulty") == 1
    assert value(registry, verdicts, service="shop", stage="generator", verdict="ok") == 1
    assert value(registry, verdicts, service="shop", stage="reranker", verdict="absent") == 1
    assert (
        value(
            registry,
            "raglog_faults_total",
            service="shop",
            stage="retriever",
            fault_type="no_relevant_chunk",
        )
        == 1
    )
    assert value(registry, "raglog_retrieved_chunks_sum", service="shop") == 2
    assert (
        value(registry, "raglog_stage_duration_seconds_sum", service="shop", stage="retriever")
        == 0.5
    )


def test_warnings_and_measured_ratios_are_counted(registry):
    """Context utilization comes from the measurement of that name."""
    report = make_report(
        measurements=(Measurement(CONTEXT_UTILIZATION, Stage.ASSEMBLY, 0.5),),
    )
    verdicts = dict(report.verdicts)
    verdicts[Stage.RETRIEVER] = replace(
        verdicts[Stage.RETRIEVER], warnings=(WarningType.DUPLICATE_CHUNKS,)
    )
    RunMetrics(registry).count(replace(report, verdicts=verdicts), exemplar=False)
    assert value(registry, "raglog_context_utilization_ratio_sum", service="shop") == 0.5
    assert (
        value(
            registry,
            "raglog_warnings_total",
            service="shop",
            stage="retriever",
            warning="duplicate_chunks",
        )
        == 1
    )


@pytest.mark.parametrize(
    ("measurement", "metric", "shown"),
    [
        (CONTEXT_UTILIZATION, "raglog_context_utilization_ratio", 0.25),
        (PROMPT_BUDGET, "raglog_prompt_budget_ratio", 0.25),
        (WORDS_UNSUPPORTED, "raglog_groundedness_ratio", 0.75),
    ],
)
def test_what_ratios_are_taken_from_is_measured_by_the_rules(registry, measurement, metric, shown):
    """A name that no check declares would leave its histogram empty for ever."""
    declared = {item.name for check in build_checks(None) for item in check.declarations}
    assert measurement in declared
    report = make_report(measurements=(Measurement(measurement, Stage.ASSEMBLY, 0.25),))
    RunMetrics(registry).count(report, exemplar=False)
    assert value(registry, f"{metric}_sum", service="shop") == shown
    assert value(registry, f"{metric}_count", service="shop") == 1


def test_a_faulty_run_is_counted_at_its_first_faulty_stage_alone(registry):
    """The shares of the stages add up to the faulty runs; sound runs are not among them."""
    metrics = RunMetrics(registry)
    both = {
        Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK,
        Stage.GENERATOR: FaultType.UNSUPPORTED_CLAIM,
    }
    metrics.count(make_report(both), exemplar=False)
    metrics.count(make_report(), exemplar=False)
    name = "raglog_first_faulty_stage_total"
    assert value(registry, name, service="shop", stage="retriever") == 1
    assert value(registry, name, service="shop", stage="generator") is None


def test_an_empty_retrieval_is_counted_but_a_missing_one_is_not(registry):
    """Only a recorded empty result is empty."""
    metrics = RunMetrics(registry)
    step = make_run().retrievers[0]
    for chunks in (Field((), FieldStatus.EMPTY), Field(None, FieldStatus.NOT_CAPTURED)):
        run = make_run(retrievers=(replace(step, chunks=chunks),))
        metrics.count(make_report(run=run), exemplar=False)
    assert value(registry, "raglog_retrieval_empty_total", service="shop") == 1


def test_the_best_distance_is_the_smallest(registry):
    """Distances and similarities are never mixed."""
    step = make_run().retrievers[0]
    chunks = tuple(replace(chunk, score_kind=ScoreKind.DISTANCE) for chunk in CHUNKS)
    run = make_run(retrievers=(replace(step, chunks=Field(chunks, FieldStatus.PRESENT)),))
    RunMetrics(registry).count(make_report(run=run), exemplar=False)
    name = "raglog_retrieval_top_score_sum"
    assert value(registry, name, service="shop", score_kind="distance") == 0.4
    assert value(registry, name, service="shop", score_kind="similarity") is None


def test_trace_ids_appear_only_as_exemplars_of_marked_runs(registry):
    """An exemplar must point to a trace that samplers keep."""
    metrics = RunMetrics(registry)
    metrics.count(make_report(), exemplar=False)
    assert b"trace_id" not in generate_latest(registry)
    metrics.count(make_report(), exemplar=True)
    assert make_run().trace_id.hex().encode() in generate_latest(registry)


def test_services_beyond_the_cap_share_one_series(registry):
    """A hundred thousand service names do not make a hundred thousand series."""
    metrics = RunMetrics(registry, max_label_values=2)
    for number in range(1000):
        metrics.count(make_report(run=make_run(service=f"s{number}")), exemplar=False)
    assert value(registry, "raglog_runs_total", service=OVERFLOW, verdict="ok") == 998
    assert value(registry, "raglog_runs_total", service="s1", verdict="ok") == 1


def test_label_values_are_printable_and_short():
    """Control characters and endless names do not reach the exposition."""
    label = CappedLabel(5)
    assert label("a\nb\x00") == "a_b_"
    assert len(label("x" * 10_000)) == 120


def test_exemplars_are_few_and_faulty_first():
    """At most so many a minute, one ok run among them."""
    clock = ManualClock()
    choice = ExemplarChoice(3, clock)
    assert choice.choose(RunVerdict.OK)
    assert not choice.choose(RunVerdict.OK)
    assert choice.choose(RunVerdict.FAULTY)
    assert not choice.choose(RunVerdict.UNKNOWN)
    assert choice.choose(RunVerdict.FAULTY)
    assert not choice.choose(RunVerdict.FAULTY)
    clock.advance(60)
    assert choice.choose(RunVerdict.FAULTY)
