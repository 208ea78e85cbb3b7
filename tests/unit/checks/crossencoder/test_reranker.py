"""Excluded against selected chunks."""

from dataclasses import replace

import pytest
from handbook_runs import FakeCrossEncoder, by_name, make_run, number

from otel_raglog.checks.crossencoder.reader import BundledReader
from otel_raglog.checks.crossencoder.reranker import RerankerReading
from otel_raglog.model import Chunk, FieldStatus, Run, missing, present

CHECK = RerankerReading(FakeCrossEncoder())
SELECTED, EXCLUDED, GAP = CHECK.measures


def test_an_excluded_chunk_with_the_answer_is_named() -> None:
    """By rank and id; in the right order nothing is said."""
    wrong = by_name(CHECK, make_run(selected=["remote"]))
    right = by_name(CHECK, make_run(selected=["vacation"]))
    assert number(wrong, SELECTED) < 0 < number(wrong, EXCLUDED)
    assert number(wrong, GAP) == number(wrong, EXCLUDED) - number(wrong, SELECTED)
    assert number(right, GAP) < 0
    assert "chunk 1 (vacation) seems to hold what is asked" in wrong[GAP].evidence
    assert wrong[GAP].quotes == ("25",)
    assert (right[GAP].evidence, right[GAP].quotes) == ("", ())


def test_nothing_is_said_when_a_selected_chunk_has_the_answer_too() -> None:
    """What was excluded was not needed."""
    run = make_run(selected=["vacation"])
    again = Chunk("Vacation days that full-time employees get: 25.", id="again")
    step = run.rerankers[0]
    candidates = present((*(step.candidates.value or ()), again))
    found = by_name(CHECK, replace(run, rerankers=(replace(step, candidates=candidates),)))
    assert number(found, EXCLUDED) > 0
    assert found[GAP].evidence == ""


def test_every_step_is_read_for_itself() -> None:
    """Measurements carry their step."""
    run = make_run(selected=["remote"])
    run = replace(run, rerankers=(*run.rerankers, *make_run(selected=["vacation"]).rerankers))
    gaps = {m.step: m.value for m in CHECK.measure(run) if m.name == GAP}
    assert gaps[0] is not None
    assert gaps[1] is not None
    assert gaps[0] > 0 > gaps[1]


def _with_step(run: Run, **changes: object) -> Run:
    return replace(run, rerankers=(replace(run.rerankers[0], **changes),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "run",
    [
        make_run(selected=["vacation", "remote", "expenses"]),
        make_run(selected=[]),
        make_run("", selected=["remote"]),
        replace(make_run(selected=["remote"]), question=missing(FieldStatus.REDACTED)),
        _with_step(make_run(selected=["remote"]), selected=missing(FieldStatus.NOT_CAPTURED)),
        _with_step(make_run(selected=["remote"]), candidates=present((Chunk("", id="a"),))),
    ],
    ids=[
        "nothing excluded",
        "nothing selected",
        "empty question",
        "redacted question",
        "unknown selection",
        "candidates without text",
    ],
)
def test_with_nothing_to_compare_there_is_a_reason(run: Run) -> None:
    """For each measurement."""
    found = by_name(CHECK, run)
    assert set(found) == set(CHECK.measures)
    assert all(item.value is None and item.reason for item in found.values())


def test_a_model_without_spans_quotes_nothing() -> None:
    """But measures the same."""
    named = by_name(
        RerankerReading(FakeCrossEncoder(answers_only=True)), make_run(selected=["remote"])
    )
    assert number(named, GAP) > 0
    assert named[GAP].evidence
    assert named[GAP].quotes == ()


def test_the_bundled_reader_sees_that_the_answer_was_excluded(reader: BundledReader) -> None:
    """The gap is wider than in the right order."""
    check = RerankerReading(reader)
    leave = "How long is parental leave in Germany?"
    chunks = ("vacation", "parental", "laptops")
    right = by_name(check, make_run(leave, retrieved=chunks, selected=["parental", "vacation"]))
    wrong = by_name(check, make_run(leave, retrieved=chunks, selected=["vacation", "laptops"]))
    assert number(wrong, GAP) > 0 > number(right, GAP)
