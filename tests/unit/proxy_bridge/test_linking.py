"""By what calls of one question are told to belong together."""

from __future__ import annotations

import pytest
from bridge_calls import Pipeline, document, vector_of

from otel_raglog_proxy_bridge.linking import (
    documents_in,
    is_in,
    plain,
    same_vector,
    shared_documents,
    stored_vectors,
    tells,
    ties_of,
    words_shared,
)
from otel_raglog_proxy_bridge.model import Document


def test_texts_are_compared_without_case_and_spaces():
    """Templates wrap and indent."""
    assert plain("  How\n much\tLEAVE ") == "how much leave"


def test_a_vector_is_the_same_when_it_points_the_same_way():
    """Clients round, normalise, and pass 32-bit numbers on as 64-bit ones."""
    made = vector_of("leave")
    assert same_vector(made, made)
    assert same_vector(made, tuple(round(x / 7.0, 5) for x in made))
    assert not same_vector(made, vector_of("laptops"))
    assert not same_vector(made, made[:-1])
    assert not same_vector((0.0, 0.0), (1.0, 0.0))


def test_a_document_is_in_a_prompt_by_its_beginning():
    """Prompts cut documents; a word or two tell nothing."""
    text = "Annual leave is 27 days. " * 40
    prompt = plain(f"Context: {text[:400]} Question: leave?")
    assert is_in(prompt, text)
    assert documents_in(prompt, [document(text), document("Laptops are replaced")]) == 1
    assert not is_in("the leave", "leave")
    assert not is_in("anything", None)


def test_documents_are_shared_by_text_or_by_id():
    """Where a text is known it decides."""
    known = [Document("1", "Annual leave"), Document("2")]
    assert shared_documents([Document(None, "annual  LEAVE")], known) == 1
    assert shared_documents([Document("2"), Document("3")], known) == 1
    assert shared_documents([Document("1", "Other text")], known) == 0


def test_ties_of_a_model_hold_what_it_was_shown_and_what_it_asked_for():
    """Arguments of tools are words of the model."""
    ties = ties_of(
        Pipeline().chat("Leave?", "27", tool='{"q": "Annual Leave"}', system="Be brief").reading
    )
    assert ties.seen == "be brief leave?"
    assert ties.last_seen == "leave?"
    assert "annual leave" in ties.said


@pytest.mark.parametrize(("text", "enough"), [("a", False), ("how much leave", True), ("abcdefghijkl", True), ("two words", False)])  # fmt: skip
def test_short_texts_tell_nothing(text, enough):
    """They are found anywhere."""
    assert tells(text) == enough


def test_words_shared_is_a_share():
    """Of the first text's words."""
    assert words_shared("annual leave days", "days of leave") == pytest.approx(2 / 3)
    assert words_shared("", "x") == 0.0


def test_stored_vectors_are_found_at_any_place():
    """In upserts of any database; short lists and whole numbers are no vectors."""
    made = list(vector_of("leave"))
    assert stored_vectors({"points": [{"vector": made}]}) == (tuple(made),)
    assert stored_vectors({"a": [1, 2, 3], "b": [0.5]}) == ()
    deep = made
    for _ in range(50):
        deep = [deep]
    assert stored_vectors(deep) == ()
