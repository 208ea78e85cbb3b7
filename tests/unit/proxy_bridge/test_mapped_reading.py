"""What expressions found, as readings, and what is said to be missing."""

import pytest

from otel_raglog_proxy_bridge.mapped_reading import answers, asks, documents_of, lacks, reading_of
from otel_raglog_proxy_bridge.model import (
    CallStage,
    ChatMessage,
    Document,
    EmbedderReading,
    LlmReading,
    Ranked,
    RerankerReading,
    RetrieverReading,
    Search,
    ToolCall,
)

EMBEDDER, RETRIEVER, RERANKER, LLM = (
    CallStage.EMBEDDER,
    CallStage.RETRIEVER,
    CallStage.RERANKER,
    CallStage.LLM,
)


def test_texts_and_vectors_of_an_embedder():
    """One vector counts as a list of one."""
    found = {"inputs": "why", "vectors": [0.5, 0.25], "model": "m", "tokens": "3"}
    assert reading_of(EMBEDDER, found) == EmbedderReading("m", ("why",), ((0.5, 0.25),), 3)
    found = {"inputs": ["a", "b"], "vectors": [[1.0], [2.0]]}
    assert reading_of(EMBEDDER, found).vectors == ((1.0,), (2.0,))


def test_documents_come_as_objects_texts_or_columns():
    """Column stores answer with one list for each field."""
    assert documents_of([{"id": 7, "text": "t", "score": 0.5, "metadata": {"page": 2}}]) == (
        Document("7", "t", 0.5, {"page": 2}),
    )
    assert documents_of(["t"]) == (Document(text="t"),)
    columns = {"id": ["a", "b"], "text": ["x", None], "score": [1, 0.5]}
    assert documents_of(columns) == (Document("a", "x", 1.0), Document("b", None, 0.5))
    assert documents_of({"id": None, "text": None}) == documents_of(None) == ()


def test_one_search_or_a_batch_of_them():
    """A list of lists of documents is a batch."""
    found = {"query": "why", "documents": ["t"], "top_k": 4, "collection": "c", "filters": {"a": 1}}
    assert reading_of(RETRIEVER, found) == RetrieverReading(
        (Search("why", None, (Document(text="t"),)),), 4, {"a": 1}, "c"
    )
    found = {"query": ["a", "b"], "vector": [[1.0], [2.0]], "documents": [["x"], []]}
    assert reading_of(RETRIEVER, found).searches == (
        Search("a", (1.0,), (Document(text="x"),)),
        Search("b", (2.0,), ()),
    )


def test_rankings_come_as_objects_or_as_scores():
    """Scores alone are in the order of the request; the best comes first here."""
    found = {"query": "q", "documents": ["x", "y"], "results": [0.1, 0.9]}
    assert reading_of(RERANKER, found) == RerankerReading(
        None,
        "q",
        (Document(text="x"), Document(text="y")),
        (Ranked(1, None, 0.9), Ranked(0, None, 0.1)),
    )
    found = {"results": [{"index": 1, "id": "d", "score": 2, "text": "y"}]}
    assert reading_of(RERANKER, found).results == (Ranked(1, "d", 2.0, "y"),)


def test_a_prompt_is_a_user_message_after_the_system_prompt():
    """Pieces of a stream are one answer; of its events the last counts of tokens hold."""
    found = {
        "system": "Be kind.",
        "messages": "Why?",
        "answer": ["Be", "cause"],
        "finish_reason": ["", "stop"],
        "prompt_tokens": [3, 3],
        "completion_tokens": [1, 2],
        "parameters": {"temperature": 0},
    }
    assert reading_of(LLM, found) == LlmReading(
        messages=(ChatMessage("system", "Be kind."), ChatMessage("user", "Why?")),
        answer="Because",
        finish_reason="stop",
        prompt_tokens=3,
        completion_tokens=2,
        parameters={"temperature": 0},
    )


def test_messages_have_their_content_under_several_names():
    """What a user says now may be a text beside what was said before."""
    found = {"messages": [{"role": "CHATBOT", "message": "Hi"}, "Why?"], "answer": "So."}
    assert reading_of(LLM, found).messages == (
        ChatMessage("assistant", "Hi"),
        ChatMessage("user", "Why?"),
    )


def test_calls_of_tools_are_read():
    """Their arguments are JSON text."""
    found = {"messages": "x", "tool_calls": [{"name": "f", "arguments": {"a": 1}}, "odd"]}
    assert reading_of(LLM, found).tool_calls == (ToolCall("f", '{"a": 1}'),)


@pytest.mark.parametrize("stage", [EMBEDDER, RETRIEVER, RERANKER, LLM])
@pytest.mark.parametrize(
    "odd", [None, 7, True, "x", [], {}, [[None]], [{}], -1.5, 10**400, [[[]]], {"a": [1]}]
)
def test_odd_values_never_raise(stage, odd):
    """An API may change its mind."""
    found = dict.fromkeys(
        ("inputs", "vectors", "query", "vector", "documents", "results", "messages", "answer",
         "tool_calls", "top_k", "model", "parameters", "retrieved", "finish_reason"), odd,
    )  # fmt: skip
    reading = reading_of(stage, found)
    assert isinstance(lacks(stage, reading, found), str | None)
    assert isinstance(asks(stage, found), bool)
    assert isinstance(answers(stage, found), bool)


def test_of_an_irrelevant_call_nothing_is_read():
    """Whoever asks has made a mistake."""
    with pytest.raises(ValueError, match="irrelevant"):
        reading_of(CallStage.IRRELEVANT, {})


@pytest.mark.parametrize(
    ("stage", "found", "problem"),
    [
        (EMBEDDER, {"inputs": ["a", "b"], "vectors": [[1.0]]}, "1 vectors for 2 inputs"),
        (EMBEDDER, {"inputs": None}, "inputs found neither"),
        (RETRIEVER, {"query": "q", "documents": [{"title": "t"}]}, "documents found no list"),
        (RETRIEVER, {"query": None, "documents": ["t"]}, "query and vector found neither"),
        (RERANKER, {"query": "q", "documents": ["a"], "results": [{"index": 1}]}, "not among"),
        (RERANKER, {"query": "q", "documents": [], "results": [0.5]}, "documents found no list"),
        (RERANKER, {"query": "q", "documents": ["a"], "results": []}, "results found neither"),
        (LLM, {"messages": [], "answer": "a"}, "messages found neither"),
        (LLM, {"messages": "m", "answer": None}, "answer found no text"),
    ],
)
def test_what_is_missing_is_said_without_content(stage, found, problem):
    """An LLM that wrote the expressions is told."""
    assert problem in lacks(stage, reading_of(stage, found), found)


def test_an_empty_list_of_hits_has_its_place():
    """A search that found nothing is a search; an answer of another shape is none."""
    assert answers(RETRIEVER, {"documents": []})
    assert not answers(RETRIEVER, {"documents": None})
    assert asks(RETRIEVER, {"vector": [0.5, 0.1], "documents": None})
    assert not asks(RETRIEVER, {"query": "", "vector": None})
