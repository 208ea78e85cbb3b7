"""Bodies of models invoked on Amazon Bedrock, each maker's own."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of

from otel_raglog_proxy_bridge.formats.bedrock_models import read_embedding, read_text, stage_of
from otel_raglog_proxy_bridge.model import CallStage, ChatMessage

LLM, EMBEDDER = CallStage.LLM, CallStage.EMBEDDER
TITAN = {"inputText": "a"}


@pytest.mark.parametrize(
    ("model", "request_", "response", "expected"),
    [
        ("amazon.titan-embed-text-v1", TITAN, None, EMBEDDER),
        ("amazon.titan-text-lite-v1", TITAN, {"results": []}, LLM),
        ("abc", TITAN, {"embedding": [1]}, EMBEDDER),
        ("abc", {**TITAN, "dimensions": 256}, None, EMBEDDER),
        ("abc", {**TITAN, "textGenerationConfig": {}}, {"embedding": [1]}, LLM),
        ("abc", {"texts": ["a"]}, None, EMBEDDER),
        ("abc", {"query": "q", "documents": ["a"]}, None, CallStage.RERANKER),
        ("abc", {"message": "a", "documents": ["a"]}, None, LLM),
        ("abc", {"messages": []}, None, LLM),
        ("stability.sd3", {"prompt": "a"}, None, CallStage.IRRELEVANT),
        ("amazon.nova-canvas-v1:0", {"prompt": "a"}, None, CallStage.IRRELEVANT),
        ("abc", {"text_prompts": [{"text": "a"}]}, None, CallStage.IRRELEVANT),
        ("abc", [], None, CallStage.IRRELEVANT),
    ],
)
def test_what_a_model_does_is_told_by_id_then_by_bodies(model, request_, response, expected):
    """Ids of provisioned and imported models say nothing."""
    assert stage_of(model, request_, response) is expected


def test_a_system_text_beside_openai_s_messages_is_kept():
    """Some makers put it there."""
    request = {"system": "Be short.", "messages": [{"role": "user", "content": "a"}]}
    found = read_text(exchange_of("/x", request), "abc")
    assert found.messages == (ChatMessage("system", "Be short."), ChatMessage("user", "a"))


def test_claude_is_told_by_its_name_or_by_its_version():
    """An ARN of a profile does not name it."""
    block = {"type": "text", "text": "hi"}
    messages = [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    for model, extra in (("abc", {"anthropic_version": "v"}), ("eu.anthropic.claude-x", {})):
        exchange = exchange_of("/x", {"messages": messages, **extra}, {"content": [block]})
        found = read_text(exchange, model)
        assert (found.model, found.answer) == (model, "hi")


def test_the_last_counts_of_a_stream_are_the_total():
    """Bedrock's own, where it tells them."""
    metrics = {"amazon-bedrock-invocationMetrics": {"inputTokenCount": 4, "outputTokenCount": 9}}
    events = [
        {"generation": "a", "prompt_token_count": 4, "generation_token_count": 1},
        {"generation": "b", "generation_token_count": 2, "stop_reason": "stop", **metrics},
    ]
    found = read_text(exchange_of("/x", {"prompt": "p"}, events=events), "m")
    assert (found.answer, found.prompt_tokens, found.completion_tokens) == ("ab", 4, 9)


def test_pictures_have_no_text():
    """Titan's and Nova's multimodal models take either."""
    found = read_embedding(exchange_of("/x", {"inputImage": "AA=="}, {"embedding": [1]}), "m")
    assert (found.inputs, found.vectors) == ((), ())
