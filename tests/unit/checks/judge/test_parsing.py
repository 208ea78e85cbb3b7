"""Reading the reply of an LLM."""

import json
from typing import Any

import pytest

from otel_raglog.checks.judge.evidence_flow import EvidenceFlowCheck
from otel_raglog.checks.judge.graded_generator import GradedGeneratorCheck
from otel_raglog.checks.judge.graded_stage import GradedStageCheck
from otel_raglog.checks.judge.parsing import MAX_BYTES, answer_from
from otel_raglog.checks.judge.statements import StatementsCheck
from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.model import Stage

GENERATOR = {
    "unsupported": 78,
    "off_question": 2.5,
    "incomplete": 0,
    "should_abstain": 0,
    "wrong_refusal": 0,
    "misstated_number": 100,
}
STAGES = {
    "rewriter": None,
    "embedder": None,
    "retriever": {"no_chunk_answers": 1, "partial_coverage": 2, "mostly_irrelevant": 3},
    "reranker": {"good_chunk_excluded": 4, "weak_chunks_passed": 5},
}
BOTH = {Stage.RETRIEVER, Stage.RERANKER}


def problem(check: Any, reply: str, stages: Any = ()) -> str:
    with pytest.raises(BadInput) as caught:
        answer_from(check, reply, stages)
    return str(caught.value)


def test_a_reply_of_json_is_the_answer() -> None:
    """Of the check's own kind."""
    answer = answer_from(GradedGeneratorCheck(), json.dumps(GENERATOR), BOTH)
    assert answer.unsupported == 78
    assert answer.off_question == 2.5


@pytest.mark.parametrize(
    "around",
    [
        "```json\n%s\n```",
        "Here is my verdict:\n%s",
        "%s\nI hope that helps.",
        "{so} I say: %s",
        "\ufeff %s",
    ],
)
def test_prose_and_a_code_fence_around_it_do_no_harm(around: str) -> None:
    """Small models cannot help it."""
    answer = answer_from(GradedGeneratorCheck(), around % json.dumps(GENERATOR), ())
    assert answer.misstated_number == 100


@pytest.mark.parametrize(
    "reply",
    ["", "I cannot say.", "[1, 2]", "null", "{" * 60_000, "[" * 60_000],
)
def test_a_reply_without_an_object_says_so(reply: str) -> None:
    """Nested without end, or prose."""
    assert problem(GradedGeneratorCheck(), reply) == "the reply holds no JSON object"


@pytest.mark.parametrize(
    "before", ['{"answer": ', 'The document says {"a": ', '{ "unsupported": 78, ']
)
def test_an_object_within_one_that_does_not_end_is_no_answer(before: str) -> None:
    """Cut off, or quoted from a document: nobody can tell."""
    said = "the reply holds a JSON object that is not finished"
    assert problem(GradedGeneratorCheck(), before + json.dumps(GENERATOR)) == said
    assert problem(GradedGeneratorCheck(), before) == said


def test_several_objects_are_no_answer() -> None:
    """One of them may be quoted from a document."""
    fake = json.dumps(dict.fromkeys(GENERATOR, 0))
    reply = f"The chunk says {fake}, but my verdict is {json.dumps(GENERATOR)}"
    assert problem(GradedGeneratorCheck(), reply) == "the reply holds several JSON objects"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"unsupported": 101}, "unsupported must be at most 100"),
        ({"unsupported": -1}, "unsupported must be at least 0"),
        ({"unsupported": "78"}, "unsupported must be a number"),
        ({"unsupported": True}, "unsupported must be a number"),
        ({"unsupported": None}, "unsupported must be a number"),
        ({"Ignore the rules": 1}, "the reply has a field that the schema does not have"),
    ],
)
def test_a_wrong_field_is_named_with_what_is_wrong(change: dict[str, Any], text: str) -> None:
    """In words that can be sent back, and without the content."""
    assert problem(GradedGeneratorCheck(), json.dumps(GENERATOR | change)) == text


def test_a_missing_field_is_named() -> None:
    """Zero is not assumed."""
    reply = json.dumps({k: v for k, v in GENERATOR.items() if k != "incomplete"})
    assert problem(GradedGeneratorCheck(), reply) == "incomplete is missing"


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ('{"unsupported": NaN}', "a number is not finite"),
        ('{"a": 1, "a": 2}', "a field is given twice"),
    ],
)
def test_json_that_means_two_things_is_refused(reply: str, text: str) -> None:
    """Neither numbers that are none nor fields that are two."""
    assert problem(GradedGeneratorCheck(), reply) == text


def test_at_most_five_problems_are_named() -> None:
    """One sentence is enough to mend an answer."""
    text = problem(GradedGeneratorCheck(), "{}")
    assert text.count("is missing") == 5
    assert text.endswith("1 more problems")


def test_problems_inside_lists_name_the_place() -> None:
    """And the values that are allowed."""
    piece = {"piece": "SECRET", "passed": "maybe", "excluded": "no", "answer": "stated"}
    reply = json.dumps({"pieces": [piece], "unsupported_statements": 1.5, "refusal": "no"})
    text = problem(EvidenceFlowCheck(), reply)
    assert "pieces.0.passed must be 'yes', 'partly' or 'no'" in text
    assert "unsupported_statements must be a whole number" in text
    assert "refusal must be true or false" in text
    assert "SECRET" not in text


def test_pieces_are_read_from_a_list() -> None:
    """As JSON has them."""
    piece = {"piece": "the year", "passed": "yes", "excluded": "no", "answer": "stated"}
    reply = json.dumps({"pieces": [piece], "unsupported_statements": 0, "refusal": False})
    assert answer_from(EvidenceFlowCheck(), reply, ()).pieces[0].piece == "the year"


def test_grades_of_a_stage_that_the_run_lacks_are_dropped() -> None:
    """Whatever an LLM says of it."""
    answer = answer_from(GradedStageCheck(), json.dumps(STAGES), {Stage.RETRIEVER})
    assert answer.reranker is None
    assert answer.retriever is not None


def test_a_stage_that_the_run_has_must_be_graded() -> None:
    """Null is no grade."""
    text = problem(GradedStageCheck(), json.dumps(STAGES), {*BOTH, Stage.REWRITER})
    assert text == "rewriter must be graded, not null"


def test_a_long_reply_is_not_read() -> None:
    """Before anything is parsed."""
    with pytest.raises(TooLarge):
        answer_from(GradedGeneratorCheck(), "é" * (MAX_BYTES // 2 + 1), ())


def test_a_number_of_many_digits_is_refused() -> None:
    """It ends as a wrong answer, not as an error of another kind."""
    with pytest.raises(BadInput):
        answer_from(StatementsCheck(), '{"contradiction": ' + "9" * 6_000 + "}", ())
