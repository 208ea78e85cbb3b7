"""What retrieval returned, by counts and words."""

from dataclasses import replace

import pytest
from handbook_runs import make_run

from otel_raglog.checks.rules.retriever import RetrieverRules
from otel_raglog.model import Chunk, FieldStatus, Measurement, Run, missing, present


def found(run: Run) -> dict[str, Measurement]:
    return {m.name.removeprefix("retriever."): m for m in RetrieverRules().measure(run)}


def with_texts(*texts: str) -> Run:
    run = make_run()
    chunks = present(tuple(Chunk(text) for text in texts))
    return replace(run, retrievers=(replace(run.retrievers[0], chunks=chunks),))


def test_an_empty_result_is_measured_and_has_no_words() -> None:
    """A first-class finding, never an exception."""
    measurements = found(make_run(retrieved=[]))
    assert measurements["empty"].value == 1
    assert measurements["best_coverage"].value is None
    assert found(make_run())["empty"].value == 0


def test_fewer_chunks_than_asked_for_is_a_shortfall() -> None:
    """As a share of top_k."""
    assert found(make_run(top_k=3))["shortfall"].value == 0
    assert found(make_run(top_k=6))["shortfall"].value == 0.5


def test_repeated_texts_are_duplicates_whatever_their_ids() -> None:
    """White space and case do not make another text."""
    assert found(with_texts("One text.", "one  TEXT."))["duplicate_share"].value == 0.5
    assert found(with_texts("One text.", "Another."))["duplicate_share"].value == 0


def test_coverage_falls_when_the_questions_words_are_missing() -> None:
    """The best chunk counts."""
    good = found(make_run())["best_coverage"].value
    bad = found(make_run(retrieved=["laptops"]))["best_coverage"].value
    assert good is not None
    assert bad is not None
    assert good > 0.7 > 0.4 > bad


def test_names_and_years_that_no_chunk_has_are_measured() -> None:
    """An answer about another country or year is none."""
    near = make_run("Is there parental leave in Germany?", retrieved=["parental"])
    far = make_run("Is there parental leave in France in 2011?", retrieved=["parental"])
    assert found(near)["names_missing_share"].value == 0
    assert found(far)["names_missing_share"].value == 1
    assert found(near)["numbers_missing"].value == 0
    assert found(far)["numbers_missing"].value == 1


def test_ingestion_damage_is_hinted_at() -> None:
    """Garbled text, open sentences, table rows without a heading."""
    whole = "Employees receive 25 days of paid vacation in every year."
    for name, text in (
        ("garbled_share", "\ufffd\ufffdmployees rec\ufffdive 25 days"),
        ("sentence_cut_share", "receive 25 days of paid vacation in every year and they"),
        ("table_cut_share", "| Berlin | 25 |\n| Vienna | 26 |"),
    ):
        assert found(with_texts(whole))[name].value == 0, name
        assert found(with_texts(text))[name].value == 1, name


def test_chunks_that_were_not_recorded_measure_nothing() -> None:
    """With the reason why."""
    run = make_run()
    hidden = replace(run.retrievers[0], chunks=missing(FieldStatus.REDACTED))
    measurements = found(replace(run, retrievers=(hidden,)))
    assert all(m.value is None and m.reason for m in measurements.values())


@pytest.mark.timeout(5)
@pytest.mark.parametrize(
    "text",
    [
        "a" + "\n" * 50_000,
        "|-\n" * 17_000,
        "|" * 50_000,
        "| |" + " " * 50_000 + "x",
        "|:\n\n" * 12_500,
    ],
    ids=range(5),
)
def test_no_chunk_takes_long(text: str) -> None:
    """Work grows with its length, no faster."""
    assert found(with_texts(text + "\nend"))["table_cut_share"].value is not None


def test_a_table_without_its_rule_is_cut_wherever_it_stands() -> None:
    """Also between blank lines, indented, with line ends of Windows."""
    for rows, cut in (
        ("Text\n\n  | a | b |\r\n\n", 1),
        ("| a | b |\r\n|---|:-:|\r\n| c | d |", 0),
        ("| a |\n \n\t|\u00a0--- |\t\n| c |", 0),
    ):
        assert found(with_texts(rows))["table_cut_share"].value == cut
