"""OpenAI's chat and embeddings, as the many servers speak them, Azure's included."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

from otel_raglog_proxy_bridge.formats.openai import input_texts, model_of, vectors_of

MESSAGES = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
COMPLETION = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Ho"}}]}


@pytest.mark.parametrize(
    "path",
    [
        "/v1/chat/completions",
        "/chat/completions",
        "/openai/v1/chat/completions",
        "/api/v1/chat/completions",
        "/beta/chat/completions",
        "/api/v2/cortex/v1/chat/completions",
        "/proxy/groq/openai/v1/chat/completions",
        "/openai/deployments/d/chat/completions?api-version=2024-06-01",
        "/v1/projects/p/locations/l/endpoints/openapi/chat/completions",
        "/v1/agents/completions",
    ],
)
def test_chat_is_told_by_the_end_of_its_path(path):
    """Whatever host and prefix, and whether it is answered or not."""
    assert told(exchange_of(path, MESSAGES)) == "openai.chat"


@pytest.mark.parametrize(
    ("request_body", "response", "name"),
    [
        (MESSAGES, COMPLETION, "openai.chat"),
        (None, COMPLETION, "openai.chat"),
        (MESSAGES, {"reply": "Ho"}, None),
        ({"question": "Hi"}, COMPLETION, None),
    ],
)
def test_chat_elsewhere_is_told_by_both_bodies(request_body, response, name):
    """Messages alone may be a pipeline's own API; choices answer messages or an unread request."""
    assert told(exchange_of("/text/chatcompletion_v2", request_body, response)) == name


def test_a_cut_request_is_still_a_chat():
    """The address says it when the body cannot."""
    assert told(exchange_of("/v1/chat/completions", '{"model": "m", "mess')) == "openai.chat"


def test_the_model_is_the_body_s_or_else_the_path_s():
    """A deployment at the path's end names nothing."""
    azure = "/openai/deployments/d/chat/completions"
    assert model_of(exchange_of(azure, {"model": "m"})) == "m"
    assert model_of(exchange_of(azure, {})) == "d"
    assert model_of(exchange_of("/serving-endpoints/s/invocations", {})) == "s"
    assert model_of(exchange_of("/openai/deployments", {})) is None


def test_an_empty_answer_is_none():
    """So is an empty finish reason, which some servers send."""
    empty = {"choices": [{"message": {"content": "", "refusal": ""}, "finish_reason": ""}]}
    reading = read(exchange_of("/v1/chat/completions", MESSAGES, empty))
    assert reading.answer is None
    assert reading.finish_reason is None


def test_search_results_of_a_stream_stand_in_its_last_chunk():
    """Perplexity repeats them; they are read once."""
    found = [{"url": "https://a.example", "snippet": "A"}]
    events = [{"choices": [], "search_results": found}] * 2
    reading = read(exchange_of("/chat/completions", MESSAGES, events=events))
    assert [document.text for document in reading.retrieved] == ["A"]


@pytest.mark.parametrize(
    ("path", "request_body", "response", "name"),
    [
        ("/v1/embeddings", {"input": "a"}, None, "openai.embeddings"),
        ("/vectors", {"input": "a"}, {"data": [{"embedding": [1]}]}, "openai.embeddings"),
        ("/vectors", None, {"data": [{"embedding": [1]}]}, "openai.embeddings"),
        ("/v1/moderations", {"input": "a"}, {"results": []}, "openai.management"),
        ("/vectors", {"input": "a"}, {"data": []}, None),
    ],
)
def test_embeddings_are_told_by_address_or_by_both_bodies(path, request_body, response, name):
    """An input alone may be anything."""
    assert told(exchange_of(path, request_body, response)) == name


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ("a", ("a",)),
        (["a", "b"], ("a", "b")),
        ([{"text": "a"}, {"image": "x"}], ("a", "")),
        ([{"content": [{"type": "text", "text": "a"}]}], ("a",)),
        ([1, 2], ()),
        ([[1, 2]], ()),
        (None, ()),
    ],
)
def test_inputs_are_texts_or_objects_with_one(given, texts):
    """Token ids cannot be read as text."""
    assert input_texts(given) == texts


def test_vectors_stand_in_the_order_of_their_inputs():
    """With one that cannot be read there are none: the others would belong to wrong texts."""
    first, second = {"index": 0, "embedding": [1]}, {"index": 1, "embedding": "AAAAPw=="}
    assert vectors_of({"data": [second, first]}) == ((1.0,), (0.5,))
    assert vectors_of({"data": [{"index": 1, "embedding": None}, first]}) == ()


def test_a_chat_of_people_is_none():
    """Support desks have such addresses; their messages have no role."""
    assert (
        told(exchange_of("/v1/chat", {"messages": [{"id": 1, "body": "Anybody there?"}]})) is None
    )
    assert told(exchange_of("/v1/chat", MESSAGES)) == "openai.chat"
