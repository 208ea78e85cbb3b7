"""What assembly lost beside the question."""

from dataclasses import replace

import pytest
from handbook_runs import HANDBOOK, FakeCrossEncoder, by_name, chunk, make_run, number

from otel_raglog.checks.crossencoder.assembly import AssemblyReading
from otel_raglog.checks.crossencoder.reader import BundledReader
from otel_raglog.model import Chunk, FieldStatus, Run, missing, present

CHECK = AssemblyReading(FakeCrossEncoder())
LOST, GAP = CHECK.measures
LEAVE = "How long is parental leave in Germany?"
ALL = ("vacation", "parental", "laptops")
DROPPED = make_run(LEAVE, retrieved=ALL, in_prompt=["vacation", "laptops"])
KEPT = make_run(LEAVE, retrieved=ALL, in_prompt=["vacation", "parental"])


def test_a_dropped_chunk_with_the_answer_is_named() -> None:
    """By rank and id; of another dropped chunk nothing is said."""
    bad, good = by_name(CHECK, DROPPED), by_name(CHECK, KEPT)
    assert number(bad, LOST) > 0 > number(good, LOST)
    assert number(bad, GAP) > 0 > number(good, GAP)
    assert bad[GAP].evidence == (
        "what the prompt lacks of chunk 2 (parental) seems to hold what is asked, "
        "and nothing in the prompt does"
    )
    assert good[GAP].evidence == ""


def test_a_cut_off_end_with_the_answer_is_lost_too() -> None:
    """What is left of the chunk counts as being in the prompt."""
    start, _, end = HANDBOOK["expenses"].partition(" Anna")
    run = make_run("Who is Anna Schmidt?", retrieved=["expenses"], prompt=f"Context:\n{start}")
    whole = make_run("Who is Anna Schmidt?", retrieved=["expenses"])
    found = by_name(CHECK, run)
    assert end
    assert number(found, LOST) > 0
    assert number(found, GAP) > 0
    assert "chunk 1 (expenses)" in found[GAP].evidence
    assert by_name(CHECK, whole)[LOST].reason == "no chunk was dropped or cut"


def test_nothing_is_said_when_the_prompt_has_the_answer_too() -> None:
    """The lost chunk was not needed."""
    (assembly,) = KEPT.assemblies
    again = Chunk("In Germany, parental leave is four months.", id="again")
    selected = present((again, chunk("parental")))
    found = by_name(CHECK, replace(KEPT, assemblies=(replace(assembly, selected=selected),)))
    assert number(found, LOST) > 0
    assert found[GAP].value is not None
    assert found[GAP].evidence == ""


def test_when_everything_was_lost_there_is_no_gap() -> None:
    """But what was lost is still measured, and said."""
    found = by_name(CHECK, make_run(LEAVE, retrieved=["parental"], prompt="Please answer."))
    assert number(found, LOST) > 0
    assert "chunk 1 (parental)" in found[LOST].evidence
    assert found[GAP].reason == "no chunk is in the prompt"


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (make_run(LEAVE, retrieved=ALL), "no chunk was dropped or cut"),
        (make_run(LEAVE, retrieved=[]), "no chunk was dropped or cut"),
        (make_run("", retrieved=ALL, in_prompt=[]), "no question"),
        (replace(DROPPED, question=missing(FieldStatus.REDACTED)), "no question"),
        (
            replace(
                DROPPED,
                assemblies=(
                    replace(
                        DROPPED.assemblies[0],
                        prompt=missing(FieldStatus.REDACTED),
                    ),
                ),
                generators=(),
            ),
            "prompt",
        ),
    ],
    ids=["nothing lost", "nothing selected", "empty question", "redacted question", "no prompt"],
)
def test_without_a_loss_or_a_text_there_is_a_reason(run: Run, reason: str) -> None:
    """For each measurement."""
    found = by_name(CHECK, run)
    assert set(found) == set(CHECK.measures)
    assert all(item.value is None and reason in item.reason for item in found.values())


def test_a_model_that_tells_answers_alone_is_enough() -> None:
    """Spans are not needed here."""
    named = AssemblyReading(FakeCrossEncoder(answers_only=True))
    assert by_name(named, DROPPED) == by_name(CHECK, DROPPED)


def test_the_bundled_reader_sees_that_the_answer_was_dropped(reader: BundledReader) -> None:
    """Dropping another chunk opens no gap."""
    check = AssemblyReading(reader)
    assert number(by_name(check, DROPPED), GAP) > 0 > number(by_name(check, KEPT), GAP)
