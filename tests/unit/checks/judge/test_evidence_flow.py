"""The evidence flow check."""

import pytest

from otel_raglog.checks.judge.answers import EvidenceFlow
from otel_raglog.checks.judge.evidence_flow import EvidenceFlowCheck

CHECK = EvidenceFlowCheck()


def flow(
    *pieces: tuple[str, str, str], unsupported: int = 0, refusal: bool = False
) -> EvidenceFlow:
    rows = [
        {"piece": f"piece {n}", "passed": passed, "excluded": excluded, "answer": answer}
        for n, (passed, excluded, answer) in enumerate(pieces)
    ]
    return EvidenceFlow.model_validate(
        {"pieces": rows, "unsupported_statements": unsupported, "refusal": refusal}
    )


@pytest.mark.parametrize(
    ("piece", "ones"),
    [
        (("yes", "no", "stated"), {"passed_yes", "excluded_no", "held", "stated"}),
        (("yes", "no", "omitted"), {"passed_yes", "excluded_no", "held", "omitted", "omits_held"}),
        (
            ("no", "yes", "said_unknown"),
            {"passed_no", "excluded_yes", "held", "lost", "said_unknown"},
        ),
        (("partly", "yes", "stated"), {"passed_partly", "excluded_yes", "held", "lost", "stated"}),
        (("no", "no", "stated"), {"passed_no", "excluded_no", "nowhere", "stated", "unfounded"}),
        (
            ("no", "partly", "different"),
            {"passed_no", "excluded_partly", "different", "unfounded"},
        ),
        (
            ("yes", "yes", "different"),
            {"passed_yes", "excluded_yes", "held", "different", "omits_held"},
        ),
    ],
)
def test_a_piece_counts_by_where_it_is_and_what_the_answer_does(
    piece: tuple[str, str, str], ones: set[str]
) -> None:
    """Of one piece every share is 1 or 0."""
    values = CHECK.values(flow(piece))
    shares = {name: value for name, value in values.items() if name not in COUNTED}
    assert {name.partition("flow_")[2] for name, value in shares.items() if value == 1.0} == ones
    assert set(shares.values()) == {0.0, 1.0}


COUNTED = {"retriever.flow_pieces", "generator.flow_unsupported", "generator.flow_refuses"}


def test_shares_are_of_all_pieces() -> None:
    """One of four lost is a quarter."""
    held = ("yes", "no", "stated")
    values = CHECK.values(flow(held, held, held, ("no", "yes", "omitted")))
    assert values["reranker.flow_lost"] == 0.25
    assert values["retriever.flow_passed_yes"] == 0.75
    assert values["retriever.flow_pieces"] == 4.0


def test_counts_and_refusal_are_told_as_they_are() -> None:
    """As numbers."""
    values = CHECK.values(flow(("yes", "no", "stated"), unsupported=3, refusal=True))
    assert values["generator.flow_unsupported"] == 3.0
    assert values["generator.flow_refuses"] == 1.0
    assert set(values) == set(CHECK.measures)


def test_without_pieces_there_are_no_shares() -> None:
    """A share of nothing is no number."""
    assert set(CHECK.values(flow())) == COUNTED


def test_pieces_are_quoted_short_and_few() -> None:
    """Three of those that make the share, whatever an LLM wrote."""
    answer = flow(*[("no", "no", "omitted")] * 9)
    long = answer.model_copy(
        update={"pieces": tuple(p.model_copy(update={"piece": "x" * 900}) for p in answer.pieces)}
    )
    quotes = CHECK.quotes(long)["retriever.flow_nowhere"]
    assert [len(quote) for quote in quotes] == [200, 200, 200]
    assert CHECK.quotes(long)["retriever.flow_held"] == ()


def test_what_is_asked_with_yes_or_no_is_about_all_pieces_or_any() -> None:
    """Those shares that a yes or no can say; each is declared."""
    asked = {question.measurement for question in CHECK.questions}
    assert asked == {
        "retriever.flow_passed_yes",
        "retriever.flow_passed_no",
        "retriever.flow_held",
        "retriever.flow_nowhere",
        "reranker.flow_lost",
        "generator.flow_omits_held",
        "generator.flow_unfounded",
        "generator.flow_refuses",
    }
    assert asked < set(CHECK.measures)
