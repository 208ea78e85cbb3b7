"""Spans of clients of vector databases."""

from dataclasses import replace

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.vector_database import VectorDatabase
from otel_raglog.model import FieldStatus, Role, ScoreKind, SpanEvent

CHROMA = {"db.system": "chroma", "db.operation": "query", "db.chroma.query.n_results": 2}


def read(name, attributes, *results, event="db.query.result", dropped=0):
    events = tuple(SpanEvent(event, 0, result) for result in results)
    (one,) = spans_of(span(name, attributes=attributes, events=events))
    return VectorDatabase().read(replace(one, dropped_events_count=dropped))


def result(event="db.query.result", **fields):
    return {f"{event}.{key}": value for key, value in fields.items()}


def test_a_search_of_chroma():
    """One event per document, with a distance and metadata in JSON; the query is not recorded."""
    facts = read(
        "chroma.query",
        {**CHROMA, "db.chroma.query.where": "{'lang': 'en'}"},
        result(id="a", distance=0.1, document="Bicycles travel.", metadata='{"page": "a"}'),
        result(id="b", distance=0.4, document="Dogs stay.", metadata="{'page': 'b', 'title': 'B'}"),
    )
    assert facts.role is Role.RETRIEVER
    assert facts.query.status is FieldStatus.NOT_CAPTURED
    assert facts.top_k == 2
    assert facts.input_data == {"filter": "{'lang': 'en'}"}
    first, second = facts.documents.value
    assert (first.id, first.text, first.score) == ("a", "Bicycles travel.", 0.1)
    assert first.score_kind is ScoreKind.DISTANCE
    assert (second.title, second.metadata["page"]) == ("B", "b")
    assert facts.documents.source.key == "db.query.result/db.query.result.document"
    assert facts.structured_documents


@pytest.mark.parametrize("values", [(0.1,), (0.4, 0.1), (0.2, 0.2), (0.1, 0.4)])
def test_a_distance_is_a_distance(values):
    """In whatever order results came."""
    facts = read("chroma.query", CHROMA, *(result(id="a", distance=value) for value in values))
    assert {chunk.score_kind for chunk in facts.documents.value} == {ScoreKind.DISTANCE}


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((0.9, 0.4), ScoreKind.SIMILARITY),
        ((0.9,), ScoreKind.SIMILARITY),
        ((0.4, 0.9), ScoreKind.DISTANCE),  # Euclidean: Pinecone calls the distance a score
    ],
)
def test_scores_of_pinecone(values, kind):
    """Texts are in the metadata, as Python writes them."""
    found = [
        result(id="a", score=value, metadata="{'text': 'Bicycles travel.', 'page': 1.0}")
        for value in values
    ]
    facts = read("pinecone.query", {"db.system": "pinecone", "pinecone.query.top_k": 4}, *found)
    assert facts.top_k == 4
    chunk = facts.documents.value[0]
    assert (chunk.text, chunk.score_kind, chunk.metadata) == (
        "Bicycles travel.",
        kind,
        {"page": 1.0},
    )


@pytest.mark.parametrize(
    ("params", "values", "kind"),
    [
        ("{'metric_type': 'COSINE'}", (0.9,), ScoreKind.SIMILARITY),
        ("{'metric_type': 'L2'}", (0.9, 0.3), ScoreKind.DISTANCE),
        (None, (0.9, 0.3), ScoreKind.SIMILARITY),
        (None, (0.3, 0.9), ScoreKind.DISTANCE),
        (None, (0.3,), ScoreKind.UNKNOWN),
    ],
)
def test_milvus_calls_every_score_a_distance(params, values, kind):
    """The metric tells which way it points, else the order, else nothing does."""
    event = "db.search.result"
    found = [result(event, id=1, distance=v, entity="{'text': 'Dogs stay.'}") for v in values]
    attributes = {"db.milvus.search.limit": 3, "db.milvus.search.search_params": params}
    facts = read("milvus.search", attributes, *found, event=event)
    assert [(c.id, c.text, c.score_kind) for c in facts.documents.value] == [
        ("1", "Dogs stay.", kind)
    ] * len(values)


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        (
            "{'title': 'Dogs', 'body_en': 'Dogs stay on the car deck.'}",
            "Dogs stay on the car deck.",
        ),
        ('{"_node_content": "{\\"text\\": \\"Dogs stay.\\"}"}', "Dogs stay."),
        ("{'title': 'Dogs'}", ""),
        ("None", ""),
        ("{'text': 'Dogs st", ""),
    ],
)
def test_the_text_in_the_metadata(metadata, text):
    """Under a usual name, in a node's JSON, or the one long text; else there is none."""
    facts = read("pinecone.query", {"pinecone.query.top_k": 1}, result(id="a", metadata=metadata))
    (chunk,) = facts.documents.value
    assert chunk.text == text
    assert text or chunk.text_status is FieldStatus.NOT_CAPTURED


def test_hits_of_marqo_are_events_of_their_own_fields():
    """Its query is the only one that is recorded as a text."""
    hit = {"_id": "a", "_score": 0.8, "title": "Dogs", "text": "Dogs stay."}
    facts = read("marqo.search", {"db.marqo.search.query": "dogs"}, hit)
    assert facts.query.value == "dogs"
    assert [(c.id, c.text, c.score) for c in facts.documents.value] == [("a", "Dogs stay.", 0.8)]


def test_queries_that_are_written():
    """Spring AI has the text; Weaviate's client writes arguments as JSON."""
    spring = read("query", {"db.vector.query.content": "dogs?", "db.vector.query.top_k": 3})
    assert (spring.role, spring.query.value, spring.top_k) == (Role.RETRIEVER, "dogs?", 3)
    key = "db.weaviate.collections.query.near_text.query"
    weaviate = read("db.weaviate.collections.query.near_text", {key: '"dogs?"'})
    assert weaviate.query.value == "dogs?"
    assert weaviate.documents.status is FieldStatus.NOT_CAPTURED


def test_documents_of_a_vector_store_in_one_attribute():
    """A list in JSON, where an application puts it on the span."""
    key = "db.vector.query.response.documents"
    facts = read("query", {key: '["Dogs stay.", "Cars wait."]'})
    assert [chunk.text for chunk in facts.documents.value] == ["Dogs stay.", "Cars wait."]
    assert read("query", {key: "[]"}).documents.status is FieldStatus.EMPTY
    assert read("query", {key: "__REDACTED__"}).documents.status is FieldStatus.REDACTED
    assert read("query", {key: "cut"}).documents.status is FieldStatus.NOT_CAPTURED


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("qdrant.query_points", {"qdrant.search.collection_name": "pages"}),
        ("qdrant.search_batch", {"qdrant.search_batch.requests_count": 1}),
        ("milvus.hybrid_search", {"db.milvus.search.limit": 3}),
        ("db.weaviate.gql.query.get.do", {"db.weaviate.query.get.class_name": "P"}),
        ("db.weaviate.collections.query.fetch_objects", {"db.weaviate.x": 1}),
        ("x", {"db.operation.name": "query", "db.vector.field_name": "v"}),
        ("x", {"db.operation": "near_vector", "db.weaviate.x": 1}),
    ],
)
def test_searches(name, attributes):
    """By the operation or the span's name; some clients write no results."""
    facts = read(name, attributes)
    assert facts.role is Role.RETRIEVER
    assert facts.documents.status is FieldStatus.NOT_CAPTURED


@pytest.mark.parametrize(
    ("name", "attributes"),
    [
        ("chroma.add", {"db.operation": "add", "db.chroma.add.ids_count": 3}),
        ("chroma.get", {"db.operation": "get", "db.chroma.get.limit": 3}),
        ("qdrant.upsert", {"qdrant.upsert.points_count": 2}),
        ("milvus.insert", {"db.milvus.insert.data_count": 1}),
        ("db.weaviate.collections.query.fetch_object_by_id", {"db.weaviate.x": 1}),
        ("db.weaviate.schema.get", {"db.weaviate.x": 1}),
    ],
)
def test_what_is_no_search_has_no_role(name, attributes):
    """Writing to an index is none of the stages of a run."""
    facts = read(name, attributes)
    assert (facts.role, facts.top_k) == (Role.UNKNOWN, None)
    assert facts.documents.status is FieldStatus.NOT_CAPTURED


def test_an_empty_result_is_told_by_its_count():
    """No event may also mean that none is written: only a count of nothing says nothing found."""
    assert read("chroma.query", CHROMA).documents.status is FieldStatus.NOT_CAPTURED
    counted = read("pinecone.query", {"pinecone.query.result_count": 0})
    assert (counted.documents.status, counted.documents.value) == (FieldStatus.EMPTY, ())


def test_dropped_events_are_a_loss():
    """An SDK keeps 128 events: what is left is not all."""
    some = read("chroma.query", CHROMA, result(id="a", document="x"), dropped=3)
    assert some.documents.status is FieldStatus.TRUNCATED
    counted = read("q", {"db.vector.query.result_count": 2}, result(id="a", document="x"))
    assert counted.documents.status is FieldStatus.TRUNCATED
    none = read("chroma.query", CHROMA, dropped=3)
    assert none.documents.status is FieldStatus.EVICTED
    assert none.loss.dropped_events == 3


def test_hidden_texts_are_said_to_be_hidden():
    """A placeholder is no document."""
    (chunk,) = read("q", CHROMA, result(id="a", document="__REDACTED__")).documents.value
    assert (chunk.text, chunk.text_status) == ("", FieldStatus.REDACTED)


def test_a_span_of_another_kind_is_not_read():
    """The name of a database alone says nothing."""
    assert read("chroma.query", {"db.system": "chroma", "db.operation": "query"}) is None
