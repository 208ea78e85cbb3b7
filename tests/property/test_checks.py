"""Checks and detector over arbitrary runs."""

import math
from dataclasses import replace

from handbook_runs import FakeCrossEncoder, FakeEncoder, make_run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_raglog.checks.registry import build_checks
from otel_raglog.checks.runner import measure
from otel_raglog.checks.text.edits import edit_distance
from otel_raglog.checks.text.survival import PromptText
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.model import (
    Chunk,
    FieldStatus,
    MeasurementStatus,
    RewriteKind,
    Run,
    Stage,
    StageVerdict,
    Tier,
    missing,
    present,
)
from otel_raglog.report.building import build_report

CHECKS = build_checks(FakeEncoder(), FakeCrossEncoder())
PIECES = st.sampled_from(
    ["Full-time", "in 2011", "Anna Schmidt", "not", "25%", "\n\n", "?", "why", "context:", "[1]",
     "| a | b |", "\ufffd", "\ud800", "three hundred", "it's", "‘’", "{context}", "I don't know."]
)  # fmt: skip
TEXT = st.one_of(
    st.text(max_size=80), st.lists(PIECES, max_size=12).map(" ".join), st.just("word " * 400)
)
CHUNKS = st.lists(
    st.builds(Chunk, text=TEXT, id=st.one_of(st.none(), st.sampled_from("abc")), title=st.one_of(st.none(), TEXT)),
    max_size=5,
).map(tuple)  # fmt: skip


@st.composite
def runs(draw: st.DrawFn) -> Run:
    """Runs whose texts, chunks and statuses are arbitrary."""
    run = make_run(
        draw(TEXT),
        draw(TEXT),
        prompt=draw(TEXT),
        rewrites=draw(st.one_of(st.none(), st.lists(TEXT, max_size=3))),
        kind=draw(st.sampled_from(RewriteKind)),
        embedded=draw(st.one_of(st.none(), st.lists(TEXT, max_size=2))),
        selected=draw(st.one_of(st.none(), st.just(["vacation"]))),
        history=draw(st.lists(st.tuples(st.just("user"), TEXT), max_size=2)),
        finish_reason=draw(st.one_of(st.none(), st.sampled_from(["stop", "length", ""]))),
    )
    chunks = present(draw(CHUNKS))
    run = replace(run, retrievers=(replace(run.retrievers[0], chunks=chunks),))
    if draw(st.booleans()):
        run = replace(run, assemblies=(replace(run.assemblies[0], selected=chunks),))
    for name in draw(st.lists(st.sampled_from(["question", "answer"]), unique=True)):
        gone = missing(draw(st.sampled_from([FieldStatus.REDACTED, FieldStatus.EVICTED])))
        run = replace(run, **{name: gone})
    return run


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(runs())
def test_any_run_is_measured_judged_and_explained(run: Run) -> None:
    """No check fails; probabilities are in [0, 1]; explanations are short; all stages are there."""
    measurements = measure(run, CHECKS)
    assert [m for m in measurements if m.status is MeasurementStatus.FAILED] == []
    assert all(m.value is None or math.isfinite(m.value) for m in measurements)
    verdicts = Rules1().judge(run, measurements)
    assert set(verdicts) == set(Stage)
    report = build_report(run, measurements, verdicts, "rules-1", Tier.LOCAL, 0.0, quote_text=True)
    for verdict in report.verdicts.values():
        assert verdict.explanation
        assert len(verdict.explanation) < 1_500
        assert len(verdict.explanation.encode()) < 2_000
        judged = verdict.verdict in {StageVerdict.FAULTY, StageVerdict.OK}
        assert judged == (verdict.probability is not None)
        assert (verdict.verdict is StageVerdict.FAULTY) == bool(verdict.fault_types)
        if verdict.probability is not None:
            assert 0 <= verdict.probability <= 1


@given(st.text("ab", max_size=8), st.text("ab", max_size=8))
def test_edit_distance_is_symmetric_and_zero_only_for_equals(one: str, other: str) -> None:
    """As a distance is."""
    assert edit_distance(one, other) == edit_distance(other, one)
    assert (edit_distance(one, other) == 0) == (one == other)


@settings(deadline=None)
@given(TEXT, TEXT, TEXT)
def test_a_chunk_pasted_into_a_prompt_survives(before: str, chunk: str, after: str) -> None:
    """Whatever stands around it."""
    assert PromptText(f"{before}\n{chunk}\n{after}").survival(chunk).kept == 1.0
