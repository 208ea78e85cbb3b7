"""What every registered check promises."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from handbook_runs import FakeCrossEncoder, FakeEncoder, make_run

from otel_raglog.checks.check import Check
from otel_raglog.checks.registry import build_checks
from otel_raglog.detect.rules1_weights import CLUES, WARNINGS
from otel_raglog.model import (
    NOT_CAPTURED,
    Chunk,
    FieldStatus,
    MeasurementStatus,
    Run,
    missing,
    present,
)
from otel_raglog.report.explanations import EVIDENCE, WARNING_EVIDENCE

CHECKS = build_checks(FakeEncoder(), FakeCrossEncoder())
ANSWERS_ONLY = [
    check
    for check in build_checks(None, FakeCrossEncoder(answers_only=True))
    if check.name.startswith(("crossencoder.", "support."))
]
BY_NAME = [
    *(pytest.param(check, id=check.name) for check in CHECKS),
    *(pytest.param(check, id=f"{check.name} of a named model") for check in ANSWERS_ONLY),
]


def full_run() -> Run:
    return make_run(
        rewrites=["vacation days", "paid leave 2011"],
        embedded=["vacation days"],
        selected=["vacation", "remote"],
        model="gpt-4",
        prompt_tokens=100,
    )


def redacted_run() -> Run:
    run = full_run()
    gone = missing(FieldStatus.REDACTED)
    hidden = present((Chunk("", id="a", text_status=FieldStatus.REDACTED),))
    return replace(
        run,
        question=gone,
        answer=gone,
        rewriters=tuple(replace(s, rewrites=gone) for s in run.rewriters),
        embedders=tuple(replace(s, texts=gone) for s in run.embedders),
        retrievers=tuple(replace(s, chunks=hidden) for s in run.retrievers),
        rerankers=tuple(replace(s, candidates=hidden, selected=hidden) for s in run.rerankers),
        assemblies=tuple(
            replace(s, selected=hidden, prompt=gone, context=gone) for s in run.assemblies
        ),
        generators=tuple(replace(s, messages=gone, answer=gone) for s in run.generators),
    )


def bare_run() -> Run:
    run = full_run()
    return replace(
        run,
        question=NOT_CAPTURED,
        answer=NOT_CAPTURED,
        rewriters=(),
        embedders=(),
        retrievers=(),
        rerankers=(),
        assemblies=(),
        generators=(),
        stages={},
    )


RUNS = {
    "full": full_run(),
    "redacted": redacted_run(),
    "bare": bare_run(),
    "no chunks": make_run(retrieved=[], prompt="Context:\n\nQuestion: x", rewrites=[], embedded=[]),
    "empty texts": make_run("", "", rewrites=[""], embedded=[""], prompt=""),
    "odd characters": make_run(
        "\x00\ud800 ŚŁ 🙂 ?" * 40, "\ufffd" * 500, rewrites=["\u202e" * 50], embedded=["\x07"]
    ),
    "huge": make_run("why " * 5_000, "1,2,3 " * 9_000, prompt="Aa. \n" * 40_000),
}


@pytest.mark.parametrize("check", BY_NAME)
@pytest.mark.parametrize("run", [pytest.param(run, id=name) for name, run in RUNS.items()])
def test_every_check_measures_finitely_or_says_why_not(check: Check, run: Run) -> None:
    """On any run: no exception, no NaN, only declared names, in their range, a reason where a value is missing."""
    units = {item.name: item.unit for item in check.declarations}
    for measurement in check.measure(run):
        assert measurement.name in check.measures
        assert measurement.stage is check.stage
        if measurement.status is MeasurementStatus.MEASURED:
            assert measurement.value is not None
            assert math.isfinite(measurement.value)
            low, high = units[measurement.name].bounds
            assert low <= measurement.value <= high, measurement
        else:
            assert measurement.value is None
            assert measurement.reason
        steps = run.steps(measurement.stage)
        assert measurement.step is None or measurement.step < len(steps)


@pytest.mark.parametrize("check", BY_NAME)
def test_every_declared_measurement_is_yielded_once_per_step(check: Check) -> None:
    """A measurement that is not defined is yielded with a reason, not left out."""
    names = [(m.name, m.step) for m in check.measure(full_run())]
    assert len(names) == len(set(names))
    assert {name for name, _ in names} == set(check.measures)


@pytest.mark.parametrize("check", BY_NAME)
def test_every_check_is_deterministic(check: Check) -> None:
    """The same run gives the same measurements."""
    assert tuple(check.measure(full_run())) == tuple(check.measure(full_run()))


@pytest.mark.parametrize("check", BY_NAME)
def test_evidence_quotes_no_chunk(check: Check) -> None:
    """Passages of documents appear in quotes only."""
    chunks = [c.text for step in full_run().retrievers for c in step.chunks.value or ()]
    for measurement in check.measure(full_run()):
        assert not any(text[i : i + 30] in measurement.evidence for text in chunks for i in (0, 20))


@pytest.mark.parametrize("check", BY_NAME)
def test_every_measurement_is_declared(check: Check) -> None:
    """With a stage, a unit that bounds it, and what it says."""
    assert check.measures == tuple(item.name for item in check.declarations)
    for item in check.declarations:
        assert item.stage is check.stage
        assert item.unit.bounds[0] < item.unit.bounds[1]
        assert item.meaning


def test_no_two_checks_measure_the_same() -> None:
    """A measurement has one source."""
    names = [name for check in CHECKS for name in check.measures]
    assert len(names) == len(set(names))


def test_detector_and_explanations_name_measurements_that_exist() -> None:
    """A renamed measurement would otherwise silently stop counting."""
    known = {name for check in CHECKS for name in check.measures}
    used = {clue.measurement for clues in CLUES.values() for clue in clues}
    used |= {name for clues in CLUES.values() for clue in clues for name, _ in clue.given}
    used |= {rule.measurement for rules in WARNINGS.values() for rule in rules}
    used |= {name for names in EVIDENCE.values() for name in names}
    used |= {name for names in WARNING_EVIDENCE.values() for name in names}
    assert used <= known


def test_every_measurement_and_every_clue_is_documented() -> None:
    """A constant without its reason is not finished."""
    docs = Path(__file__).parents[2] / "docs"
    detector = (docs / "detector.md").read_text("utf-8")
    measurements = (docs / "reference" / "measurements.md").read_text("utf-8")
    assert [n for check in CHECKS for n in check.measures if f"`{n}`" not in measurements] == []
    used = {clue.measurement for clues in CLUES.values() for clue in clues}
    assert sorted(name for name in used if f"`{name}`" not in detector) == []
