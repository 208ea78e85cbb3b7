"""Which calls judge answers instead of giving them."""

import pytest

from otel_raglog.mapping.judging import is_judgement
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
