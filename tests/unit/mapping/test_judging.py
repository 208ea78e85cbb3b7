"""Which calls judge answers instead of giving them."""

import pytest

from otel_raglog.mapping.judging import (
    holds_judged,
    holds_score,
    is_assessment,
    is_judgement,
    is_scored,
    is_told_as_answer,
    is_told_to_check,
    says_score,
)
from otel_raglog.model import Message

SUPPORTED = "Please tell if a given piece of information is supported by the context."
IN_LINE = (
    "Your task is to evaluate if the response for the query is in line with the context.\n"
    "Response: It leaves at six."
)
IN_CONTEXT = "You must determine if the answer is in the context.\nContext: It leaves at six.\n"
JUDGE = "You are an impartial judge. Assess the answer to the question.\n"
FACTUAL = "In this task you must determine whether the answer is factual.\n"


def judges(prompt, said, role="user"):
    return is_judgement([Message(role, prompt)], said)


@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        (SUPPORTED, "YES"),
        (IN_LINE, "NO"),
        (f"{JUDGE}<question>Which?</question><answer>At six.</answer>", '{"score": 4}'),
        (f'{JUDGE}{{"question": "Which?", "response": "At six."}}', '{"score": 4}'),
        (f"{FACTUAL}[Question]: Which?\n[Answer]: At six.", "hallucinated"),
        (
            "Indicate whether EACH claim contradicts any facts.\nClaims:\n['At six.']\nJSON:",
            '[{"verdict": "no"}]',
        ),
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
        (f"{IN_CONTEXT}Question: Does it leave at six?\nAnswer:", "Yes, at six."),
        (f"{FACTUAL}Output:\n{{'label': 'yes or no'}}\nQuestion: Is it?", "yes"),
        (f"{FACTUAL}Answer format: yes or no\nQuestion: Is it?", "yes"),
        (f"{FACTUAL}Question: Is a fish?\nAnswer: no\nQuestion: Is it?\nAnswer:", "yes"),
    ],
)
def test_answers(prompt, said):
    """What says no verdict, or was not told to judge, or given no answer to judge, answers."""
    assert not judges(prompt, said)


@pytest.mark.parametrize(
    "given",
    [
        "Antwort: Um sechs.",
        "## Model Response:\nAt six.",
        "**R\u00e9ponse :** \u00e0 six heures",
        "\u56de\u7b54\uff1a\u516d\u70b9",
        "<outputs>At six.</outputs>",
        '{"user_input": "When?", "answer": "At six."}',
        "Statements:\n['It leaves at six.']",
    ],
)
def test_a_prompt_with_an_answer_to_be_judged(given):
    """After a label, in a tag or in JSON, in many languages, in the last message of the user."""
    said = '{"reason": "x", "score": 1}'
    assert holds_judged([Message("system", "Judge."), Message("user", given)], said)
    assert holds_judged([Message("system", given)], said)
    assert not holds_judged([Message("system", given), Message("user", "When?")], said)


@pytest.mark.parametrize(
    "given",
    [
        "When does it leave?",
        "Question: When?\nAnswer:",
        "Answer: as JSON with a label",
        "Answer: reason and score, nothing else",
        'Output: {"reason": "why", "score": 1}',
        "Answer:\n<your answer>",
        "Expected output: a number",
        "Question: Where?\nAnswer: At the pier.\nQuestion: When?\nScore:",
    ],
)
def test_a_prompt_without_an_answer_to_be_judged(given):
    """A question, a cue, the form of the output, and examples are none."""
    assert not holds_judged([Message("user", given)], '{"reason": "x", "score": 1}')


def test_where_an_answer_stands():
    """Told as an answer is what follows a label, a tag or a key; a draft of it, too."""
    for text in ("Answer: It.", 'Draft:\n"It."', "<response>\nIt.", '{"answer": "It."}', "AI: It."):
        assert is_told_as_answer(text, "It."), text
    for text in ("Reasoning: It.", "It.", "Answer the question.\nNotes: It.", "None"):
        assert not is_told_as_answer(text, "It."), text


def test_instructions_to_check():
    """In several languages; to think is none of them."""
    assert is_told_to_check("Check for hallucinations.")
    assert is_told_to_check("Bewerte sie.")
    assert not is_told_to_check("Think step by step, then say the upgrade.")


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


def test_names_that_only_judges_use():
    """A rating, a label and a confidence stand in answers, too."""
    assert says_score('{"verdicts": [{"verdict": "no", "reason": "x"}]}')
    assert says_score('{"grounded": true}')
    assert not says_score('{"name": "x", "rating": 4.5, "label": "y", "confidence": 0.9}')
    assert not says_score("The score is 4.")


def test_no_score_in_data():
    """Texts under other names, and what is nested too deep, are none."""
    assert not holds_score({"documents": [{"content": "a score of 4"}], "label": ["a", [1]]})
    assert not holds_score([[[[[[{"score": 1}]]]]]])
