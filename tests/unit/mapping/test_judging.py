"""Which calls judge answers instead of giving them."""

import pytest

from otel_raglog.mapping.judging import holds_score, is_assessment, is_judgement, is_scored
from otel_raglog.model import Message

SUPPORTED = "Please tell if a given piece of information is supported by the context."
IN_LINE = "Your task is to evaluate if the response for the query is in line with the context."


def judges(prompt, said, role="user"):
    return is_judgement([Message(role, prompt)], said)


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        (SUPPORTED, "YES"),
        (IN_LINE, "NO"),
        ("You are an impartial judge. Assess the answer to the question.", '{"score": 4}'),
        ("In this task you must determine whether the answer is factual.", "hallucinated"),
        ("Indicate whether EACH claim contradicts any facts.", '[{"verdict": "no"}]'),
    ],
)
def test_judgements(prompt, said):
    """A prompt that tells to judge an answer, and a verdict."""
    assert judges(prompt, said)
    assert judges(prompt, said, role="system")


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        (SUPPORTED, "The ferry leaves at 22:15."),
        ("Please answer from the context.\nQuestion: may dogs come along?", "Yes, on deck 4."),
        ("Score every route.\nQuestion: which is best?", "4 is the best."),
        (IN_LINE, ""),
    ],
)
def test_answers(prompt, said):
    """What says no verdict, or was not told to judge, answers."""
    assert not judges(prompt, said)


def test_what_a_tool_says_is_no_instruction():
    """Only instructions tell to judge, not pages."""
    assert not judges(IN_LINE, "yes", role="tool")


@pytest.mark.parametrize(
    "said",
    [
        '{"reasoning": "Es steht so da.", "score": true}',
        '{"verdicts": [{"verdict": "yes"}, {"reason": "Not there.", "verdict": "no"}]}',
        '{"statements": [{"statement": "It costs 4 euro.", "reason": "So it says.", "verdict": 1}]}',
        '{"statements": ["It costs 4 euro."], "statement_scores": [1, 0]}',
        '```json\n{"explanation": "Fine.", "label": "faithful"}\n```',
        '{"faithfulness": {"score": 0.5, "reason": "Half of it."}}',
        '{"is_supported": false, "overallGrade": 2}',
    ],
)
def test_scores_with_their_reasons(said):
    """Scores and verdicts, in lists and objects, with reasons in any language."""
    assert is_scored(said)
    assert is_assessment(said)
    assert holds_score({"results": [said, {"score": 1}]})


@pytest.mark.parametrize(
    "said",
    ['{"reason": "The score is 1.0."}', '{"claims": ["It costs 4 euro.", "Dogs are free."]}'],
)
def test_an_assessment_without_a_score(said):
    """Reasons and claims alone are a part of an assessment."""
    assert not is_scored(said)
    assert is_assessment(said)


@pytest.mark.parametrize(
    "said",
    [
        "4",
        "It has a score of 4.",
        "{}",
        '{"answer": "It costs 4 euro.", "score": 0.9}',
        '{"antwort": "Es kostet 4 Euro.", "score": 0.9}',
        '{"label": "a long text which is what the program asked for"}',
        '{"fare": 4, "currency": "euro"}',
        '[{"score": 1}, "and a text"]',
        '{"a": {"b": {"c": {"d": {"e": {"score": 1}}}}}}',
    ],
)
def test_what_is_more_than_scores(said):
    """An answer with a score beside it is an answer, and so is a value."""
    assert not is_scored(said)
    assert not is_assessment(said)


def test_no_score_in_data():
    """Texts under other names, and what is nested too deep, are none."""
    assert not holds_score({"documents": [{"content": "a score of 4"}], "label": ["a", [1]]})
    assert not holds_score([[[[[[{"score": 1}]]]]]])
