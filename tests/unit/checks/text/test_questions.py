"""What a question asks for."""

import pytest

from otel_raglog.checks.text.questions import AnswerKind, answer_kind, kinds_differ


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("who sings it", AnswerKind.PERSON),
        ("when does it start", AnswerKind.TIME),
        ("What year did Tesla die?", AnswerKind.TIME),
        ("how many days", AnswerKind.COUNT),
        ("What is the population of Berlin?", AnswerKind.COUNT),
        ("which country is it", AnswerKind.PLACE),
        ("why is it so", AnswerKind.REASON),
        ("Is it allowed?", AnswerKind.YES_NO),
        ("what film is it", AnswerKind.THING),
        ("vacation days full-time", None),
        ("", None),
    ],
)
def test_kind_of_a_question(question: str, kind: AnswerKind | None) -> None:
    """The question word decides, with its noun; keywords ask for nothing in particular."""
    assert answer_kind(question) is kind


def test_kinds_differ_for_certain_only_when_both_are_specific() -> None:
    """Which film and who may be one question; why and when never are."""
    assert kinds_differ(AnswerKind.REASON, AnswerKind.TIME) == 1.0
    assert kinds_differ(AnswerKind.THING, AnswerKind.PERSON) == 0.5
    assert kinds_differ(None, AnswerKind.TIME) == 0.0
