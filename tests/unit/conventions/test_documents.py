"""In which shapes documents are recognised, and what of them is kept."""

import pytest

from otel_raglog.conventions.documents import (
    chunk_from_item,
    chunks_in,
    merged,
    with_score_kinds,
)
from otel_raglog.model import Chunk, FieldStatus, ScoreKind


def test_flattened_document():
    """Ids may be numbers, metadata JSON or a Python repr; the title comes from there."""
    chunk = chunk_from_item(
        {
            "document.id": 7,
            "document.content": "text",
            "document.score": "0.5",
            "document.metadata": "{'title': 'T', 'page': 3, 'nested': {}}",
        }
    )
    assert chunk == Chunk("text", "7", 0.5, title="T", metadata={"title": "T", "page": 3})


def test_names_of_documents():
    """The name of a file is its title, unless the metadata has one."""
    item = {"document.content": "x", "document.name": "fares.md"}
    assert chunk_from_item(item).title == "fares.md"
    assert chunk_from_item({**item, "document.metadata": "{'title': 'Fares'}"}).title == "Fares"


@pytest.mark.parametrize(
    ("item", "status"),
    [
        ({"document.id": "a"}, FieldStatus.NOT_CAPTURED),
        ({"document.content": "__REDACTED__"}, FieldStatus.REDACTED),
        ({"document.content": " "}, FieldStatus.EMPTY),
    ],
)
def test_documents_without_text(item, status):
    """A chunk without text says why, and holds no placeholder."""
    chunk = chunk_from_item(item)
    assert (chunk.text, chunk.text_status) == ("", status)


@pytest.mark.parametrize(
    "data",
    [
        [{"page_content": "x", "metadata": {}, "id": "1", "type": "Document"}],
        {"documents": [{"content": "x", "id": "1"}]},
        {"retriever": {"documents": [{"content": "x", "id": "1"}]}},
        [{"node": {"text": "x", "id_": "1"}, "score": None}],
        ['{"node": {"text": "x", "id_": "1"}}'],
        [[{"text": "x", "id": "1"}]],
        [
            {
                "lc": 1,
                "type": "constructor",
                "id": ["Document"],
                "kwargs": {"page_content": "x", "id": "1"},
            }
        ],
        [[{"page_content": "x", "id": "1"}, 0.5]],
        {"matches": [{"id": "1", "payload": {"text": "x"}}]},
    ],
)
def test_shapes(data):
    """LangChain, LlamaIndex, Haystack and vector database shapes hold the same document."""
    chunks = chunks_in(data, bare_strings=False)
    assert [(chunk.id, chunk.text) for chunk in chunks] == [("1", "x")]


def test_reprs_give_ids_and_scores():
    """Nodes and documents written as reprs name ids; the text in them may be shortened."""
    chunks = chunks_in(
        [
            "<NodeWithScore(node=TextNode(id_=a-1), score=0.5)>",
            "Document(id=b, content: 'x...', score: 2.0)",
        ],
        bare_strings=False,
    )
    assert [(chunk.id, chunk.score, chunk.text) for chunk in chunks] == [
        ("a-1", 0.5, ""),
        ("b", 2.0, ""),
    ]


def test_what_holds_no_documents():
    """Messages, plain strings and other data are no documents; an empty list is an empty result."""
    assert chunks_in([{"role": "user", "content": "x"}], bare_strings=False) is None
    assert chunks_in(["x"], bare_strings=False) is None
    assert chunks_in({"a": 1}, bare_strings=True) is None
    assert chunks_in({"documents": []}, bare_strings=False) == ()
    assert [c.text for c in chunks_in(["x"], bare_strings=True)] == ["x"]
    parts = {"content": [{"type": "text", "text": "x"}]}
    assert [c.text for c in chunks_in(parts, bare_strings=True)] == ["x"]


def test_direction_of_scores():
    """Scores that fall with the rank are similarities, those that rise distances."""

    def kinds(*scores, reranked=False):
        chunks = with_score_kinds([Chunk("x", score=s) for s in scores], reranked=reranked)
        return [chunk.score_kind for chunk in chunks]

    assert kinds(0.9, 0.1) == [ScoreKind.SIMILARITY] * 2
    assert kinds(0.1, 0.9) == [ScoreKind.DISTANCE] * 2
    assert kinds(0.1, 0.9, 0.2) == [ScoreKind.UNKNOWN] * 3
    assert kinds(0.5) == [ScoreKind.UNKNOWN]
    assert kinds(0.5, reranked=True) == [ScoreKind.SIMILARITY]
    assert (
        chunks_in([{"text": "x", "distance": 0.2}], bare_strings=False)[0].score_kind == "distance"
    )


def test_scores_are_recorded_or_none():
    """A recorded relevance score counts, an infinite one does not."""
    item = {"document.content": "x", "document.metadata": '{"relevance_score": 0.7}'}
    assert chunk_from_item(item).score == 0.7
    assert chunk_from_item({"document.content": "x", "document.score": float("inf")}).score is None


def test_merged():
    """Ids come from the other list by position, but not across different texts."""
    assert merged([Chunk("x")], [Chunk("x ", "1", 0.5)])[0].id == "1"
    assert merged([Chunk("x")], [Chunk("y", "1")])[0].id is None
    assert merged([Chunk("x")], []) == (Chunk("x"),)


def test_artifacts():
    """A tool's artifact, where it holds documents, comes before its content."""
    message = {
        "content": [{"type": "text", "text": "told"}],
        "artifact": [{"id": "1", "text": "x"}],
    }
    assert [chunk.id for chunk in chunks_in({"data": message}, bare_strings=True)] == ["1"]
    message["artifact"] = ["chart.png"]
    assert [chunk.text for chunk in chunks_in(message, bare_strings=True)] == ["told"]


@pytest.mark.parametrize("key", ["name", "inhalt"])
def test_text_under_a_name_of_its_own(key):
    """The only passage of a record with a score is its text; a title or an id is none."""
    text = "Dogs are allowed on the aft deck of the Brightwater."
    (chunk,) = chunks_in([{key: text, "similarity": 0.8, "url": "http://a"}], bare_strings=False)
    assert (chunk.text, chunk.score) == (text, 0.8)
    (chunk,) = chunks_in([{key: text, "distance": 0.2}], bare_strings=False)
    assert (chunk.text, chunk.score) == (text, 0.2)
    (titled,) = chunks_in([{"id": "a", key: "pets.md", "score": 0.8}], bare_strings=False)
    assert titled.text == ""
    assert chunks_in([{key: text}], bare_strings=False) is None
    two = [{key: text, "b": text, "score": 0.8}]
    assert chunks_in(two, bare_strings=False) is None
