"""Answers that decline."""

import pytest

from otel_raglog.checks.text.refusals import refusal_share, refuses


@pytest.mark.parametrize(
    "answer",
    [
        "The context does not contain the answer to this question.",
        "I'm sorry, but I don't know.",
        "The handbook doesn't specify the number of days.",
        "No information is available.",
        "No idea, sorry!",
        "Sorry, no info on that.",
        "The context is silent about the leadership of Contoso.",
        "Based on the given context, there is no mention of the year.",
        "This information is not provided in the given documents.",
        "I found nothing about shipping to Norway.",
        "Nothing in the handbook says whether dogs are allowed.",
        "None of the passages answers this question.",
    ],
)
def test_refusals_are_recognised(answer: str) -> None:
    """Whatever the answer calls its sources."""
    assert refuses(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "Paris",
        "",
        "You cannot carry over days.",
        "Travel insurance is not included.",
        "The plan does not include dental care.",
        "25 days. Please contact HR for more.",
        "No dogs on the aft deck.",
        "None of the cabins is open on Sundays.",
    ],
)
def test_answers_with_a_negation_are_no_refusals(answer: str) -> None:
    """A negative fact is an answer."""
    assert not refuses(answer)


def test_a_partial_refusal_counts_by_its_share() -> None:
    """An answer that leaves one point open is still an answer."""
    answer = "It is 25 days. It starts in May. The context does not say who approves it."
    assert refusal_share(answer) == pytest.approx(1 / 3)
    assert not refuses(answer)
