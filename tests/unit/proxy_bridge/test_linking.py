"""By what calls of one question are told to belong together."""

from __future__ import annotations

import pytest
from bridge_calls import Pipeline, document, vector_of

from otel_raglog_proxy_bridge.linking import (
    closeness,
    direction_of,
    documents_in,
    is_in,
    keys_of,
    same_vector,
    stored_vectors,
    ties_of,
    words_shared,
)
from otel_raglog_proxy_bridge.model import Document
from otel_raglog_proxy_bridge.text_pieces import plain


def test_a_vector_is_the_same_when_it_points_the_same_way():
    """Clients round, normalise, and pass 32-bit numbers on as 64-bit ones."""
    made = vector_of("leave")
    assert same_vector(made, made)
    assert same_vector(made, tuple(round(x / 7.0, 5) for x in made))
    assert not same_vector(made, vector_of("laptops"))
    assert not same_vector(made, made[:-1])
    assert not same_vector((0.0, 0.0), (1.0, 0.0))


def test_a_vector_that_was_cut_is_still_the_same():
    """Some models let clients cut vectors and normalise what is left."""
    made = tuple(vector_of("leave") * 20)
    assert same_vector(made, tuple(x / 9 for x in made[:128]))
    assert not same_vector(tuple(vector_of("laptops") * 20), made[:128])


def test_the_closest_direction_is_told():
    """Questions that differ in one letter have vectors that are nearly the same."""
    one = direction_of(tuple(map(float, range(1, 100))))
    other = direction_of((*map(float, range(1, 64)), 66.0, *map(float, range(65, 100))))
    assert closeness(one, one) > closeness(one, other) > 0
    assert closeness(direction_of((float("nan"),)), one) == 0


def test_a_document_is_in_a_prompt_by_its_beginning():
    """Prompts cut documents; a word or two tell nothing."""
    text = "Annual leave is 27 days. " * 40
    prompt = plain(f"Context: {text[:400]} Question: leave?")
    assert is_in(prompt, text)
    assert documents_in(prompt, [document(text), document("Laptops are replaced")]) == 1
    assert not is_in("the leave", "leave")
    assert not is_in("anything", None)


def test_documents_are_known_again_by_text_or_by_id():
    """The text comes first: it decides where it is known. An id is no text."""
    assert next(keys_of(Document("1", "Annual  LEAVE"))) == "annual leave"
    assert [*keys_of(Document("1", "Annual leave"))][1:] == [*keys_of(Document("1"))]
    assert [*keys_of(Document("annual leave"))] != [*keys_of(Document(None, "annual leave"))]
    assert [*keys_of(Document())] == []


def test_ties_of_a_model_hold_what_it_was_shown_and_what_it_asked_for():
    """Arguments of tools are words of the model."""
    ties = ties_of(
        Pipeline().chat("Leave?", "27", tool='{"q": "Annual Leave"}', system="Be brief").reading
    )
    assert ties.seen == "be brief leave?"
    assert ties.last_seen == "leave?"
    assert "annual leave" in ties.said


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
