"""What retriever, reranker and tool spans found or were given."""

import json

from span_trees import documents, oi, retriever, spans_of

from otel_raglog.conventions.openinference import OpenInference
from otel_raglog.model import FieldStatus


def read(node):
    (found,) = spans_of(node)
    return OpenInference().read(found)


def test_structured_documents():
    """Documents of their own keys are structured; the search text is the input."""
    facts = read(retriever("r", "q", ("a", "x", 0.9), ("b", "y", 0.1)))
    assert facts.structured_documents
    assert facts.query.value == "q"
    assert [chunk.id for chunk in facts.documents.value] == ["a", "b"]
    assert facts.documents.source.key == "retrieval.documents"


def test_ids_from_the_output():
    """What LangChain writes only into the output is taken from there."""
    said = {"documents": [{"page_content": "x", "id": "1", "metadata": {"relevance_score": 0.5}}]}
    facts = read(oi("RETRIEVER", "r", said=said, attributes=documents("x")))
    assert (facts.documents.value[0].id, facts.documents.value[0].score) == ("1", 0.5)


def test_empty_is_not_missing():
    """A result recorded as empty is empty; one not recorded is not captured."""
    for said in ("[]", '{"documents": []}'):
        assert read(oi("RETRIEVER", "r", said=said)).documents.status is FieldStatus.EMPTY
    assert read(oi("RETRIEVER", "r")).documents.status is FieldStatus.NOT_CAPTURED


def test_reranker():
    """Candidates, choice, query and limit of a reranker."""
    facts = read(
        oi(
            "RERANKER",
            "r",
            attributes={
                **documents(("a", "x"), ("b", "y"), prefix="reranker.input_documents"),
                **documents(("b", "y", 0.9), prefix="reranker.output_documents"),
                "reranker.query": "q",
                "reranker.top_k": 1,
                "reranker.model_name": "m",
            },
        )
    )
    assert [chunk.id for chunk in facts.input_documents.value] == ["a", "b"]
    assert [chunk.id for chunk in facts.documents.value] == ["b"]
    assert (facts.query.value, facts.top_k, facts.model) == ("q", 1, "m")


def test_tools():
    """A tool's text is one chunk, its JSON documents are several, a Python input is read."""
    facts = read(oi("TOOL", "t", given="{'query': 'q'}", said="x\n\ny"))
    assert (facts.query.value, [c.text for c in facts.documents.value]) == ("q", ["x\n\ny"])
    message = {"type": "tool", "data": {"content": json.dumps([{"text": "x"}, {"text": "y"}])}}
    facts = read(oi("TOOL", "t", said=message))
    assert [chunk.text for chunk in facts.documents.value] == ["x", "y"]


def test_a_chain_with_documents():
    """Documents in a chain's output are read, but not as structured."""
    facts = read(oi("CHAIN", "c", given=[{"page_content": "x"}], said="x"))
    assert [chunk.text for chunk in facts.input_documents.value] == ["x"]
    assert not facts.structured_documents
    assert facts.documents.value is None
