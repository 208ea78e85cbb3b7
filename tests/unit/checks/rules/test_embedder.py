"""What the embedder was given instead of the query."""

import pytest
from handbook_runs import make_run

from otel_raglog.checks.rules.embedder import EmbedderRules
from otel_raglog.model import Measurement, RewriteKind, Run

QUESTION = "How long is parental leave in Germany since 2011?"


def found(run: Run) -> dict[str, Measurement]:
    return {m.name.removeprefix("embedder."): m for m in EmbedderRules().measure(run)}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cut_share", "How long is parental leave"),
        ("misspelled_words", "How long is parentla leave in Germany since 2011?"),
        ("words_dropped_share", "How long is leave in Germany since 2011?"),
        ("words_added_share", "How long is parental leave in Germany since 2011? pizza recipes"),
        ("numbers_changed", "How long is parental leave in Germany since 2012?"),
        ("corrupted_share", "How long is parental leave \ufffd\ufffd\ufffd in Germany since 2011?"),
        ("empty", "  "),
    ],
)
def test_minimal_pairs(name: str, text: str) -> None:
    """The query word for word measures zero; an altered text more."""
    assert found(make_run(QUESTION, embedded=[QUESTION.lower()]))[name].value == 0
    bad = found(make_run(QUESTION, embedded=[text]))[name].value
    assert bad is not None
    assert bad > 0


def test_the_text_is_held_against_the_rewrite_where_there_is_one() -> None:
    """The rewriter's fault is not the embedder's."""
    run = make_run(QUESTION, rewrites=["parental leave France"], embedded=["parental leave France"])
    assert found(run)["faithful"].value == 1


@pytest.mark.parametrize(
    "instruction",
    [
        "query: ",
        "Represent this sentence for searching relevant passages: ",
        "Instruct: Given a question, retrieve passages\nQuery: ",
    ],
)
def test_an_embedding_models_instruction_is_no_addition(instruction: str) -> None:
    """Several models want one in front of every query."""
    assert found(make_run(QUESTION, embedded=[instruction + QUESTION]))["faithful"].value == 1


def test_hypothetical_passages_are_exempt() -> None:
    """HyDE embeds a passage on purpose."""
    passage = "Parental leave in Germany is fourteen months."
    run = make_run(QUESTION, rewrites=[passage], kind=RewriteKind.HYDE, embedded=[passage])
    assert found(run)["words_added_share"].value is None


def test_a_misspelling_is_named_with_what_was_meant() -> None:
    """So that a reader sees it at once."""
    run = make_run(QUESTION, embedded=[QUESTION.replace("Germany", "Gemrany")])
    assert "germany as gemrany" in found(run)["misspelled_words"].evidence


@pytest.mark.timeout(10)
def test_a_question_with_a_long_document_is_compared_fast() -> None:
    """Word for word it is faithful; other words are still told."""
    long = " ".join(f"word{number}" for number in range(10_000))
    for question, embedded, faithful in (
        (long, long, 1),
        (long, f"query: {long}", 1),
        (long, long.replace("word", "thing"), 0),
        (QUESTION, long, 0),
        (long, QUESTION, 0),
    ):
        assert found(make_run(question, embedded=[embedded]))["faithful"].value == faithful


@pytest.mark.timeout(5)
@pytest.mark.parametrize("text", ["A" * 50_000, "A1+" * 16_000, "\\x" * 25_000, "Ã" * 50_000])
def test_no_text_takes_long_to_search_for_corruption(text: str) -> None:
    """Work grows with its length, no faster."""
    assert found(make_run(QUESTION, embedded=[text]))["corrupted_share"].value is not None


def test_a_long_hypothetical_passage_is_exempt() -> None:
    """Of both sides the same is read."""
    passage = " Parental leave in Germany is fourteen months.\n" * 1_000
    run = make_run(QUESTION, rewrites=[passage], kind=RewriteKind.HYDE, embedded=[passage])
    assert found(run)["words_added_share"].value is None
