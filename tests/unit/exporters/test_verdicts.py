"""Verdicts read back from the spans that bear them."""

from __future__ import annotations

from dataclasses import replace

from judged_spans import judged_payload, later_payload, plain_payload
from samples import GENERATOR, RETRIEVER, TOP, TRACE_ID, make_report, make_run

from otel_raglog.model import FaultType, Payload, Signal, Stage
from otel_raglog_exporters.verdicts import read_verdicts

FAULT = {Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK}


def by_span(payload: Payload):
    return {bytes.fromhex(judged.span_id): judged for judged in read_verdicts(payload)}


def test_the_top_span_tells_of_the_run():
    """What the service writes there is read as it was."""
    run = make_run(session_id="s1", turn=2)
    (top,) = [j for j in read_verdicts(judged_payload(report=make_report(FAULT, run=run))) if j.run]
    assert top.trace_id == TRACE_ID.hex()
    assert top.span_id == TOP.hex()
    assert top.run_id == run.run_id
    assert (top.service, top.project) == ("shop", "shop")
    assert (top.run.verdict, top.run.faulty_stages) == ("faulty", ("retriever",))
    assert top.run.first_faulty_stage == "retriever"
    assert (top.run.session_id, top.run.session_turn) == ("s1", 2)
    assert (top.run.detector_version, top.run.tier) == ("rules-1", "local")


def test_each_step_s_span_tells_of_its_stages():
    """With probability, threshold, types and explanation, as the report has them."""
    report = make_report(FAULT)
    (stage,) = by_span(judged_payload(report=report))[RETRIEVER].stages
    verdict = report.verdicts[Stage.RETRIEVER]
    assert (stage.stage, stage.verdict) == ("retriever", "faulty")
    assert stage.probability == verdict.probability
    assert stage.threshold == verdict.threshold
    assert stage.fault_types == ("no_relevant_chunk",)
    assert stage.explanation == verdict.explanation


def test_a_span_with_several_stages_tells_of_all():
    """Each has an event; only one of them has attributes beside it."""
    stages = {stage.stage: stage for stage in by_span(judged_payload())[GENERATOR].stages}
    assert "generator" in stages
    assert all(stage.verdict for stage in stages.values())


def test_a_step_belongs_to_the_run_of_the_span_above_it():
    """Its own span does not name the run."""
    found = by_span(judged_payload())
    assert found[RETRIEVER].run_id == found[TOP].run_id == TRACE_ID.hex()


def test_a_later_verdict_is_about_the_span_it_is_linked_to():
    """Not about the span that carries it, and it names what it supersedes."""
    found = by_span(later_payload())
    assert set(found) == {TOP, RETRIEVER, GENERATOR}
    assert {judged.supersedes for judged in found.values()} == {"rules-1"}
    assert {judged.trace_id for judged in found.values()} == {TRACE_ID.hex()}
    assert found[TOP].run.detector_version == "llm-1"


def test_what_is_not_judged_yields_nothing():
    """Spans of others, other signals, and bytes that are no request."""
    assert read_verdicts(plain_payload()) == ()
    assert read_verdicts(replace(judged_payload(), signal=Signal.LOGS)) == ()
    assert read_verdicts(Payload(Signal.TRACES, b"raglog.\xff", 1)) == ()
