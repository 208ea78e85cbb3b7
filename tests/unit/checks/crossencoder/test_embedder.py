"""Embedded texts beside their queries."""

from dataclasses import replace

import pytest
from handbook_runs import QUESTION, FakeCrossEncoder, by_name, make_run, number

from otel_raglog.checks.crossencoder.embedder import EmbedderReading
from otel_raglog.checks.crossencoder.reader import BundledReader
from otel_raglog.model import (
    FieldStatus,
    RewriteKind,
    Run,
    Stage,
    StageState,
    UnknownReason,
    missing,
)

CHECK = EmbedderReading(FakeCrossEncoder())
NAME = "embedder.same_meaning"
OTHER = "best pizza recipes"


def test_the_worst_text_counts_against_its_nearest_query() -> None:
    """Question and rewrites are both fine to embed."""
    rewrite = "parental leave in Germany"
    good = by_name(CHECK, make_run(rewrites=[rewrite], embedded=[QUESTION, rewrite]))
    bad = by_name(CHECK, make_run(rewrites=[rewrite], embedded=[QUESTION, OTHER]))
    assert number(good, NAME) > 0 > number(bad, NAME)
    assert good[NAME].evidence == ""
    assert bad[NAME].evidence == "the embedded text seems to ask something else than its query"


def test_every_step_is_read_for_itself() -> None:
    """Measurements carry their step."""
    run = make_run(embedded=[QUESTION])
    run = replace(run, embedders=(*run.embedders, *make_run(embedded=[OTHER]).embedders))
    first, second = CHECK.measure(run)
    assert (first.step, second.step) == (0, 1)
    assert first.value is not None
    assert second.value is not None
    assert first.value > second.value


def _with_step(run: Run, **changes: object) -> Run:
    return replace(run, embedders=(replace(run.embedders[0], **changes),))  # type: ignore[arg-type]


def _without_rewrites(run: Run) -> Run:
    steps = tuple(replace(step, rewrites=missing(FieldStatus.REDACTED)) for step in run.rewriters)
    state = StageState(len(steps), reason=UnknownReason.REDACTED)
    bare = tuple(replace(s, query=missing(FieldStatus.REDACTED)) for s in run.retrievers)
    stages = {**run.stages, Stage.REWRITER: state}
    return replace(run, rewriters=steps, retrievers=bare, stages=stages)


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (make_run(embedded=[]), "no embedded query text"),
        (make_run(embedded=[" "]), "no embedded query text"),
        (make_run("", embedded=[OTHER]), "nothing to compare"),
        (_with_step(make_run(embedded=[OTHER]), passage=True), "no embedded query text"),
        (
            _with_step(make_run(embedded=[OTHER]), texts=missing(FieldStatus.REDACTED)),
            "no embedded query text",
        ),
        (
            _without_rewrites(make_run(rewrites=["x"], embedded=[OTHER])),
            "what a rewriter wrote is not readable",
        ),
    ],
)
def test_what_cannot_be_compared_has_a_reason(run: Run, reason: str) -> None:
    """Passages that are embedded, missing texts, rewrites that nobody may read."""
    found = by_name(CHECK, run)
    assert found[NAME].value is None
    assert reason in found[NAME].reason


def test_a_hypothetical_passage_is_no_query() -> None:
    """What is embedded is compared with the question."""
    hyde = make_run(rewrites=[OTHER], kind=RewriteKind.HYDE, embedded=[OTHER])
    plain = make_run(embedded=[OTHER])
    assert number(by_name(CHECK, hyde), NAME) == number(by_name(CHECK, plain), NAME)


def test_a_model_that_compares_no_meanings_measures_nothing_here() -> None:
    """A named one tells answers alone."""
    named = EmbedderReading(FakeCrossEncoder(answers_only=True))
    found = by_name(named, make_run(embedded=[QUESTION]))
    assert found[NAME].reason == "this model does not compare meanings"


def test_the_bundled_reader_sees_that_another_question_was_embedded(reader: BundledReader) -> None:
    """About the same matter."""
    check = EmbedderReading(reader)
    same = by_name(check, make_run(embedded=["number of vacation days of full-time employees"]))
    other = by_name(check, make_run(embedded=["When do unused vacation days expire?"]))
    assert number(same, NAME) > number(other, NAME)
