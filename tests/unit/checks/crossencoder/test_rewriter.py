"""Rewrites beside the question."""

from dataclasses import replace

import pytest
from handbook_runs import QUESTION, FakeCrossEncoder, by_name, make_run, number

from otel_raglog.checks.crossencoder.reader import BundledReader
from otel_raglog.checks.crossencoder.rewriter import RewriterReading
from otel_raglog.model import FieldStatus, RewriteKind, Run, missing

CHECK = RewriterReading(FakeCrossEncoder())
BEST, LEAST = "rewriter.same_meaning", "rewriter.same_meaning_least"
GOOD = "vacation days of full-time employees"
BAD = "How often are laptops replaced?"


def test_a_rewrite_that_asks_something_else_is_told() -> None:
    """Its words are quoted apart; of one that asks the same nothing is said."""
    good = by_name(CHECK, make_run(rewrites=[GOOD]))
    bad = by_name(CHECK, make_run(rewrites=[BAD]))
    for name in (BEST, LEAST):
        assert number(good, name) > 0 > number(bad, name)
        assert (good[name].evidence, good[name].quotes) == ("", ())
    assert bad[BEST].evidence == "no rewrite seems to ask what the question does"
    assert bad[LEAST].quotes == (BAD,)


def test_one_strange_rewrite_among_several_shows() -> None:
    """Though another asks the same."""
    found = by_name(CHECK, make_run(rewrites=[GOOD, BAD, QUESTION]))
    alone = by_name(CHECK, make_run(rewrites=[BAD]))
    assert number(found, BEST) == number(by_name(CHECK, make_run(rewrites=[QUESTION])), BEST)
    assert number(found, LEAST) == number(alone, LEAST)
    assert found[BEST].evidence == ""
    assert (
        found[LEAST].evidence == "one of the rewrites seems to ask something else than the question"
    )
    assert found[LEAST].quotes == (BAD,)


def test_every_step_is_read_for_itself() -> None:
    """Measurements carry their step."""
    run = make_run(rewrites=[GOOD])
    bad = make_run(rewrites=[BAD])
    run = replace(run, rewriters=(*run.rewriters, *bad.rewriters))
    values = {m.step: m.value for m in CHECK.measure(run) if m.name == BEST}
    assert values == {
        0: number(by_name(CHECK, make_run(rewrites=[GOOD])), BEST),
        1: number(by_name(CHECK, bad), BEST),
    }


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (make_run(rewrites=["They get 99."], kind=RewriteKind.HYDE), "hypothetical passage"),
        (make_run(rewrites=[]), "no rewrite"),
        (make_run(rewrites=["", " "]), "no rewrite"),
        (make_run("", rewrites=[GOOD]), "no question"),
        (
            replace(make_run(rewrites=[GOOD]), question=missing(FieldStatus.REDACTED)),
            "no question",
        ),
        (make_run(rewrites=[GOOD], kind=RewriteKind.CONDENSE), "conversation"),
        (make_run(rewrites=[GOOD], history=[("user", "Hello?")]), "conversation"),
    ],
)
def test_what_need_not_ask_the_same_is_not_compared(run: Run, reason: str) -> None:
    """Nor what is missing; the reason says so."""
    found = by_name(CHECK, run)
    assert set(found) == set(CHECK.measures)
    assert all(item.value is None and reason in item.reason for item in found.values())


def test_a_model_that_compares_no_meanings_measures_nothing_here() -> None:
    """A named one tells answers alone."""
    named = RewriterReading(FakeCrossEncoder(answers_only=True))
    found = by_name(named, make_run(rewrites=[GOOD]))
    assert set(found) == set(CHECK.measures)
    assert {item.reason for item in found.values()} == {"this model does not compare meanings"}


def test_without_a_rewriter_there_is_nothing_to_measure() -> None:
    """Not even a reason."""
    assert by_name(CHECK, make_run()) == {}


def test_the_bundled_reader_sees_a_changed_year(reader: BundledReader) -> None:
    """All other words are the same."""
    check = RewriterReading(reader)
    question = "Which bridges were opened in Hamburg in 1931?"
    same = by_name(check, make_run(question, rewrites=["bridges opened in Hamburg in 1931"]))
    other = by_name(check, make_run(question, rewrites=["bridges opened in Hamburg in 1984"]))
    assert number(same, BEST) > number(other, BEST)
