"""LLM: a chat model behind an OpenAI-compatible endpoint."""

import json
import sys

import pytest

from otel_raglog.errors import ConfigError, Rejected, Unavailable
from otel_raglog.lab.llm import ChatModel, Reply

REPLY = {
    "id": "c", "object": "chat.completion", "created": 0, "model": "tiny",
    "choices": [{"index": 0, "finish_reason": "length",
                 "message": {"role": "assistant", "content": " In 1931. "}}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 4, "total_tokens": 16},
}  # fmt: skip


@pytest.fixture
def endpoint(httpserver):
    """The address of a server that speaks the protocol."""
    return httpserver.url_for("/v1")


def test_a_reply_has_text_finish_reason_and_tokens(httpserver, endpoint):
    """The request is at temperature 0, with a seed, and bears the key."""
    httpserver.expect_request(
        "/v1/chat/completions", headers={"Authorization": "Bearer k"}
    ).respond_with_json(REPLY)
    assert ChatModel(endpoint, "tiny", "k", seed=5).chat("Be brief.", "When?") == Reply(
        "In 1931.", "length", 12, 4
    )
    sent = json.loads(httpserver.log[0][0].data)
    assert (sent["model"], sent["temperature"], sent["seed"]) == ("tiny", 0, 5)
    assert [message["content"] for message in sent["messages"]] == ["Be brief.", "When?"]


def test_what_the_endpoint_refuses_is_not_tried_again(httpserver, endpoint):
    """One request, one error of ours."""
    httpserver.expect_request("/v1/chat/completions").respond_with_json({"error": "no"}, 401)
    with pytest.raises(Rejected, match="the model tiny was not reached"):
        ChatModel(endpoint, "tiny").chat("", "When?")
    assert len(httpserver.log) == 1


def test_an_endpoint_that_is_away_may_come_back():
    """The error says that it may be tried again."""
    model = ChatModel("http://127.0.0.1:9/v1", "tiny", max_retries=0)
    with pytest.raises(Unavailable, match="the model tiny was not reached"):
        model.chat("", "When?")


def test_without_the_extra_the_error_says_what_to_install(monkeypatch):
    """Not a stack trace."""
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ConfigError, match=r"otel-raglog\[lab\]"):
        ChatModel("http://localhost/v1", "tiny")
