"""Excluded against selected chunks."""

from handbook_runs import FakeEncoder, by_name, make_run, number

from otel_raglog.checks.alignment.reranker import RerankerAlignment

CHECK = RerankerAlignment(FakeEncoder())


def test_an_excluded_sentence_that_fits_better_is_named() -> None:
    """By rank and id of its chunk; in the right order nothing is said."""
    wrong = by_name(CHECK, make_run(selected=["remote"]))
    right = by_name(CHECK, make_run(selected=["vacation"]))
    name = "reranker.token_fit_gap"
    assert number(wrong, name) > 0.2 > -0.2 > number(right, name)
    assert "chunk 1 (vacation)" in wrong[name].evidence
    assert right[name].evidence == ""
    assert number(wrong, "reranker.token_fit_least_gap") > 0


def test_when_nothing_was_excluded_there_is_nothing_to_compare() -> None:
    """With a reason."""
    found = by_name(CHECK, make_run(selected=["vacation", "remote", "expenses"]))
    assert all(item.value is None and item.reason for item in found.values())
