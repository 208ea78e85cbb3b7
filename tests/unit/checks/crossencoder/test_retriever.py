"""What was retrieved beside the question."""

from dataclasses import replace

import pytest
from handbook_runs import (
    HANDBOOK,
    QUESTION,
    FakeCrossEncoder,
    by_name,
    make_run,
    number,
)

from otel_raglog.checks.crossencoder.reader import BundledReader
from otel_raglog.checks.crossencoder.retriever import RetrieverReading
from otel_raglog.model import Chunk, FieldStatus, Run, missing, present

CHECK = RetrieverReading(FakeCrossEncoder())
ANSWERABLE, SPAN = "retriever.answerable", "retriever.answer_span"


def retrieving(question: str, *texts: str) -> Run:
    """Return a run that retrieved these texts."""
    run = make_run(question)
    chunks = present(tuple(Chunk(text) for text in texts))
    return replace(run, retrievers=(replace(run.retrievers[0], chunks=chunks),))


def test_chunks_without_the_answer_are_told() -> None:
    """The nearest is named by rank and id."""
    good = by_name(CHECK, make_run(retrieved=["remote", "vacation"]))
    bad = by_name(CHECK, make_run(retrieved=["laptops", "expenses"]))
    for name in (ANSWERABLE, SPAN):
        assert number(good, name) > 0 > number(bad, name)
    assert good[ANSWERABLE].evidence == ""
    assert bad[ANSWERABLE].evidence == (
        "no retrieved chunk seems to hold what is asked; chunk 2 (expenses) comes nearest"
    )


def test_the_likeliest_answer_is_quoted_apart() -> None:
    """It is document text, which explanations leave out unless they are told to quote."""
    found = by_name(CHECK, make_run())
    assert found[SPAN].quotes == ("25",)
    assert not any("25" in item.evidence for item in found.values())


def test_a_follow_up_is_answered_in_its_conversation() -> None:
    """Alone it says little."""
    alone = by_name(CHECK, make_run("And in all?"))
    told = by_name(CHECK, make_run("And in all?", history=[("user", QUESTION)]))
    assert number(told, ANSWERABLE) > number(alone, ANSWERABLE)


def test_a_title_is_read_with_its_text() -> None:
    """It may say whom the text is about."""
    chunk = Chunk("They receive 25 days.", title="Vacation of full-time employees")
    run = make_run()
    run = replace(run, retrievers=(replace(run.retrievers[0], chunks=present((chunk,))),))
    bare = retrieving(QUESTION, chunk.text)
    assert number(by_name(CHECK, run), ANSWERABLE) > number(by_name(CHECK, bare), ANSWERABLE)


@pytest.mark.parametrize(
    "run",
    [
        make_run(""),
        make_run(retrieved=[]),
        retrieving(QUESTION, "", "  "),
        replace(make_run(), question=missing(FieldStatus.REDACTED)),
        replace(
            make_run(),
            retrievers=(
                replace(make_run().retrievers[0], chunks=missing(FieldStatus.NOT_CAPTURED)),
            ),
        ),
    ],
    ids=["empty question", "no chunks", "empty chunks", "redacted question", "unknown chunks"],
)
def test_without_question_or_chunk_text_there_is_nothing_to_read(run: Run) -> None:
    """With a reason."""
    found = by_name(CHECK, run)
    assert set(found) == set(CHECK.measures)
    assert {item.reason for item in found.values()} == {"no question or no chunk text"}


def test_a_model_without_spans_still_tells_whether_it_is_answered() -> None:
    """The other measurement has a reason."""
    named = by_name(RetrieverReading(FakeCrossEncoder(answers_only=True)), make_run())
    assert number(named, ANSWERABLE) == number(by_name(CHECK, make_run()), ANSWERABLE)
    assert named[SPAN].reason == "this model tells no spans"


def test_the_bundled_reader_misses_the_answer_in_a_chunk_about_the_same(
    reader: BundledReader,
) -> None:
    """All words of the question are there, the answer is not."""
    check = RetrieverReading(reader)
    good = by_name(check, make_run(retrieved=["vacation"]))
    topical = "Managers approve the vacation days that full-time employees get, in the HR portal."
    bad = by_name(check, retrieving(QUESTION, topical))
    for name in (ANSWERABLE, SPAN):
        assert number(good, name) > number(bad, name)


def test_the_bundled_reader_finds_the_answer_at_the_end_of_a_long_chunk(
    reader: BundledReader,
) -> None:
    """Though a pair is cut at 160 tokens."""
    filler = "The canteen serves a warm meal every day of the week. " * 200
    check = RetrieverReading(reader)
    without = by_name(check, retrieving(QUESTION, filler))
    found = by_name(check, retrieving(QUESTION, filler + HANDBOOK["vacation"]))
    assert number(found, ANSWERABLE) > number(without, ANSWERABLE)
    assert number(found, SPAN) > number(without, SPAN)
