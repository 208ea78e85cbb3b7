"""Rewrites against the question, word by word."""

import pytest
from handbook_runs import FakeEncoder, by_name, make_run, number

from otel_raglog.checks.alignment.rewriter import RewriterAlignment
from otel_raglog.model import RewriteKind

CHECK = RewriterAlignment(FakeEncoder())
QUESTION = "How many vacation days do employees in Germany get since 2011?"


@pytest.mark.parametrize(
    ("rewrite", "suspect"),
    [
        ("vacation days employees Germany", "rewriter.entity_kept_least"),
        ("vacation days employees 2011", "rewriter.token_kept_least"),
        ("vacation days employees Austria 2011", "rewriter.entity_backed_least"),
        ("vacation days for managers in Germany since 2011", "rewriter.token_backed_least"),
        ("bonus rules", "rewriter.token_agreement"),
    ],
)
def test_what_a_rewrite_lost_or_added_has_no_match(rewrite: str, suspect: str) -> None:
    """A faithful one, keywords too, has one for every word."""
    good = by_name(CHECK, make_run(QUESTION, rewrites=["vacation days employees Germany 2011"]))
    bad = by_name(CHECK, make_run(QUESTION, rewrites=[rewrite]))
    assert number(good, suspect) > 0.99 > 0.6 > number(bad, suspect)
    assert number(bad, "rewriter.token_weakest") < 0.6
    assert number(good, "rewriter.token_weakest") > 0.99


def test_what_the_history_says_is_backed() -> None:
    """A follow-up is completed from the talk before."""
    history = [("user", "How many vacation days do employees get?")]
    found = by_name(
        CHECK,
        make_run(
            "And interns?",
            rewrites=["vacation days interns get"],
            kind=RewriteKind.CONDENSE,
            history=history,
        ),
    )
    assert number(found, "rewriter.token_backed_least") > 0.99


def test_one_strange_rewrite_among_several_shows() -> None:
    """Though the others keep everything."""
    found = by_name(CHECK, make_run(QUESTION, rewrites=[QUESTION, "laptops for sale"]))
    assert number(found, "rewriter.token_kept_least") > 0.99
    assert number(found, "rewriter.token_backed_worst_rewrite") < 0.5


def test_a_hypothetical_passage_is_exempt() -> None:
    """HyDE invents on purpose."""
    found = by_name(CHECK, make_run(QUESTION, rewrites=["They get 99."], kind=RewriteKind.HYDE))
    assert all(item.value is None and item.reason for item in found.values())
