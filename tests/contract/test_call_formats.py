"""What every API format of the proxy bridge promises."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from call_samples import call_of, check_sample, damaged

from otel_raglog_proxy_bridge.formats.registry import APIS
from otel_raglog_proxy_bridge.model import (
    Api,
    Call,
    CallStage,
    EmbedderReading,
    LlmReading,
    RerankerReading,
    RetrieverReading,
)
from otel_raglog_proxy_bridge.parsing import parse

KINDS = {
    CallStage.EMBEDDER: EmbedderReading,
    CallStage.RETRIEVER: RetrieverReading,
    CallStage.RERANKER: RerankerReading,
    CallStage.LLM: LlmReading,
}
SAMPLES = Path(__file__).parent.parent / "golden" / "call_formats"
ODD = ("", "null", "[]", "{}", '"text"', "7", "[[]]", "<html>", '{"data": 3}', "data: {}\n\n")


def samples_of(api: Api) -> list[Path]:
    return sorted(SAMPLES.glob(f"{api.name}.*.json"))


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_an_operation_is_named_once_and_says_its_rule(api):
    """Names are unique, lower-case, ``family.operation``; only irrelevant operations are not read."""
    assert [other.name for other in APIS].count(api.name) == 1
    assert "." in api.name
    assert api.name == api.name.lower()
    assert api.rule
    assert (api.read is None) == (api.stage is CallStage.IRRELEVANT)


MESSAGES = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
PIECE = "a word or two, " * 15
STREAMS = {
    "openai.chat": (
        "/v1/chat/completions",
        MESSAGES,
        {"choices": [{"index": 0, "delta": {"content": PIECE}}]},
    ),
    "openai.chat, a tool": (
        "/v1/chat/completions",
        MESSAGES,
        {"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"arguments": PIECE}}]}}]},
    ),
    "openai.responses": (
        "/v1/responses",
        {"model": "m", "input": "Hi"},
        {"type": "response.output_text.delta", "output_index": 0, "delta": PIECE},
    ),
    "anthropic.messages": (
        "/v1/messages",
        MESSAGES,
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": PIECE}},
    ),
    "gemini.interactions": (
        "/v1beta/interactions",
        {"input": "Hi"},
        {"event_type": "content.delta", "delta": {"type": "text", "text": PIECE}},
    ),
    "mistral.conversations": (
        "/v1/conversations",
        {"inputs": "Hi"},
        {"type": "function.call.delta", "tool_call_id": "a", "arguments": PIECE},
    ),
    "cohere.chat_v1": (
        "/v1/chat",
        {"message": "Hi"},
        {"event_type": "text-generation", "text": PIECE},
    ),
    "cohere.chat_v2": (
        "/v2/chat",
        MESSAGES,
        {
            "type": "tool-call-delta",
            "delta": {"message": {"tool_calls": {"function": {"arguments": PIECE}}}},
        },
    ),
    "bedrock.converse": (
        "/model/m/converse-stream",
        {"messages": []},
        {"contentBlockDelta": {"delta": {"text": PIECE}, "contentBlockIndex": 0}},
    ),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_long_stream_is_read_whole(name):
    """However many pieces it comes in; `tests/bench/call_formats.py` shows what it costs."""
    path, request, event = STREAMS[name]
    call = call_of({"url": f"https://host{path}", "request": request})
    exchange = dataclasses.replace(parse(call), events=(event,) * 60_000)
    api = next(api for api in APIS if api.recognises(exchange))
    reading = api.read(exchange)
    assert api.name == name.split(",", maxsplit=1)[0]
    assert len(reading.answer or reading.tool_calls[0].arguments) == 60_000 * len(PIECE)


@pytest.mark.parametrize("api", [api for api in APIS if api.read], ids=lambda api: api.name)
def test_an_operation_that_is_read_has_a_sample(api):
    """Each has a recorded or hand-made call and what is read off it, kept beside the tests."""
    assert samples_of(api)


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_a_sample_is_told_and_read_as_expected(path):
    """The first operation that recognises the sample is the one it is named after."""
    check_sample(path)


@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_odd_bodies_never_raise(api):
    """Whatever comes at the right address, telling and reading do not raise."""
    urls = {json.loads(path.read_text())["call"]["url"] for path in samples_of(api)}
    for url in sorted(urls) or ["http://host/"]:
        for method in ("GET", "POST", "DELETE"):
            for request in ODD:
                for response in ODD:
                    call = Call("1", method, url, 200, {}, {}, request, response)
                    exchange = parse(call)
                    api.recognises(exchange)
                    if api.read is not None:
                        assert isinstance(api.read(exchange), KINDS[api.stage])


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_a_damaged_sample_never_raises(path):
    """Any value of a sample's bodies may be of another kind, or missing."""
    sample = json.loads(path.read_text())
    api = next(api for api in APIS if api.name == sample["api"])
    if api.read is None:
        return
    for call in damaged(call_of(sample["call"])):
        exchange = parse(call)
        api.recognises(exchange)
        assert isinstance(api.read(exchange), KINDS[api.stage])
