"""Hits whose fields users name as they like."""

from __future__ import annotations

import json

import pytest

from otel_raglog_proxy_bridge.formats.passages import document_of, id_in, passage_in
from otel_raglog_proxy_bridge.model import Document


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"page_content": "a", "metadata": {"text": "b"}}, "a"),
        ({"pageContent": "a", "summary": "b"}, "a"),
        ({"Chunk-Text": "a"}, "a"),
        ({"metadata": {"text": "b"}}, "b"),
        ({"metadata": json.dumps({"content": "b"})}, "b"),
        ({"text": ["one", 2, "three"]}, "one\nthree"),
        ({"document": {"id": "d", "text": "inner"}}, "inner"),
        ({"text": "  ", "body": "b"}, "b"),
        ({"title": "A long title", "what it says": "A passage of words."}, "A passage of words."),
        ({"x": "two words", "y": "three whole words"}, "three whole words"),
        ({"x": "三" * 80}, "三" * 80),
    ],
)
def test_the_passage_is_the_field_that_looks_like_one(payload, expected):
    """By its name first, here or in the objects within; else the longest prose."""
    assert passage_in(payload) == expected


@pytest.mark.parametrize(
    "payload",
    [None, [], {}, {"title": "A long title", "source_url": "https://x y", "lang": "en"}, {"n": 1}],
)
def test_labels_are_no_passages(payload):
    """Titles, addresses and single words are not taken for what a document says."""
    assert passage_in(payload) is None


def test_a_llama_index_node_goes_before_the_user_s_own_fields():
    """The user's metadata may have a summary; the node's text is what was found."""
    node = json.dumps({"text": "The text.", "metadata": {}})
    assert passage_in({"summary": "Short.", "_node_content": node}) == "The text."
    assert passage_in({"metadata": {"_node_content": node}, "content": "x"}) == "The text."
    assert passage_in({"text": "kept apart", "_node_content": '{"text": ""}'}) == "kept apart"
    assert passage_in({"text": "whole", "_node_content": '{"te'}) == "whole"


def test_a_named_field_is_preferred():
    """Services that say which field was searched are believed, where it has a text."""
    payload = {"text": "a", "review": "b"}
    assert passage_in(payload, "review") == "b"
    assert passage_in(payload, "missing") == "a"


def test_a_document_keeps_the_other_fields():
    """Without the passage, the id, embeddings and the node; metadata is laid open."""
    payload = {
        "id": 7,
        "text": "a",
        "vector": [0.5] * 8,
        "pages": [1, 2],
        "missing": None,
        "metadata": {"source": "b.md", "lang": "en"},
        "lang": "no",
        "_node_content": '{"text": ""}',
    }
    expected = {"source": "b.md", "lang": "no", "pages": [1, 2]}
    assert document_of(payload, identifier="7", score=0.5) == Document("7", "a", 0.5, expected)


def test_a_passage_that_is_kept_elsewhere_leaves_the_fields_alone():
    """Chroma has texts beside the metadata, of which none is taken away."""
    payload = {"text": "a label", "source": "b.md"}
    assert document_of(payload, passage="whole").metadata == payload
    assert document_of(None, passage="whole") == Document(text="whole")


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ({"id": 0}, "0"),
        ({"chunk_id": "c", "doc_id": "d"}, "c"),
        ({"_id": {"$oid": "65f"}}, "65f"),
        ({"id": 1.5, "pk": "p"}, "p"),
        ({"text": "a"}, None),
        (None, None),
    ],
)
def test_an_id_is_found_under_its_usual_names(payload, expected):
    """Numbers are texts; a chunk's id goes before its document's."""
    assert id_in(payload) == expected


def test_deep_objects_are_given_up():
    """Nobody nests a passage twenty deep."""
    payload: dict = {"text": "a"}
    for _ in range(20):
        payload = {"metadata": payload}
    assert passage_in(payload) is None


def test_a_field_that_is_embedded_where_it_is_kept_has_its_text_within():
    """As Elasticsearch keeps semantic texts."""
    assert (
        passage_in({"title": "T", "about": {"text": "A passage", "inference": {}}}) == "A passage"
    )
