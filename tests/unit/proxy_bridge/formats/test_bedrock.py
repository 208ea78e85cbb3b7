"""Amazon Bedrock: its models invoked or conversed with, its reranker and knowledge bases."""

from __future__ import annotations

import base64
import dataclasses
import json
import struct
import zlib

import pytest
from call_exchanges import exchange_of, read, told

from otel_raglog_proxy_bridge.bodies import body_text
from otel_raglog_proxy_bridge.parsing import parse

HOST = "https://bedrock-runtime.us-east-1.amazonaws.com"
CONVERSE = {"messages": [{"role": "user", "content": [{"text": "a"}]}]}
ARN = "arn:aws:bedrock:us-east-1:1:inference-profile/us.meta.llama3-8b-instruct-v1:0"


@pytest.mark.parametrize(
    "path",
    [
        "arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.meta.llama3-8b-instruct-v1%3A0",
        "arn:aws:bedrock:us-east-1:1:inference-profile/us.meta.llama3-8b-instruct-v1:0",
        "arn%253Aaws%253Abedrock%253Aus-east-1%253A1%253Ainference-profile%252Fus.meta.llama3-8b-instruct-v1%253A0",
    ],
)
def test_ids_of_models_come_encoded_in_many_ways(path):
    """Once, not at all, or twice, and below a gateway's prefix."""
    for url in (f"{HOST}/model/{path}/converse", f"https://gate.lan/bedrock/model/{path}/converse"):
        assert read(exchange_of(url, CONVERSE)).model == ARN


@pytest.mark.parametrize(
    ("url", "request_", "expected"),
    [
        (f"{HOST}/model/m/converse", CONVERSE, "bedrock.converse"),
        (f"{HOST}/model/m/converse", None, "bedrock.converse"),
        (f"{HOST}/model/meta.llama3/invoke", {"prompt": "a"}, "bedrock.invoke_text"),
        (f"{HOST}/model/cohere.embed-v4/invoke", {"images": ["x"]}, "bedrock.invoke_embedding"),
        (f"{HOST}/model/amazon.titan-image-generator-v2/invoke", {}, "bedrock.other"),
        (f"{HOST}/model/meta.llama3/invoke", {"what": 1}, "bedrock.other"),
        ("http://mlflow.lan/model/invoke", {"prompt": "a"}, None),
        ("/knowledgebases/K/retrieve", {"retrievalQuery": {"text": "a"}}, "bedrock.retrieve"),
        ("/knowledgebases/K/retrieve", {"query": "a"}, None),
        ("https://bedrock-agent.us-east-1.amazonaws.com/knowledgebases/K", {}, "bedrock.other"),
        (f"{HOST}/openai/v1/chat/completions", {"messages": [], "model": "m"}, "openai.chat"),
    ],
)
def test_operations_are_told(url, request_, expected):
    """By path and request; a model by its id, else by the bodies."""
    assert told(exchange_of(url, request_)) == expected


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("anthropic.claude-3", "bedrock.invoke_text"),
        ("amazon.titan-embed-text-v2:0", "bedrock.invoke_embedding"),
        ("amazon.rerank-v1:0", "bedrock.invoke_rerank"),
        ("stability.sd3", "bedrock.other"),
    ],
)
def test_a_request_that_was_cut_is_told_by_the_model(model, expected):
    """What is left of it is no JSON."""
    call = exchange_of(f"{HOST}/model/{model}/invoke", '{"prompt": "a').call
    assert told(parse(dataclasses.replace(call, cut=frozenset({"request"})))) == expected


def message(kind: str, payload: object) -> bytes:
    header = b"\x0b:event-type\x07" + struct.pack(">H", len(kind)) + kind.encode()
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(header) + len(body), len(header))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + header + body
    return whole + struct.pack(">I", zlib.crc32(whole))


def streamed(url: str, request: object, *messages: bytes):
    body = body_text(b"".join(messages), "application/vnd.amazon.eventstream").text
    return read(exchange_of(url, request, body))


def test_a_converse_stream_is_read_from_the_wire():
    """From binary messages to the answer, also when only one has come."""
    url = f"{HOST}/model/m/converse-stream"
    first = message("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "At "}})
    second = message("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "six"}})
    stop = message("messageStop", {"stopReason": "end_turn"})
    reading = streamed(url, CONVERSE, first, second, stop)
    assert (reading.answer, reading.finish_reason) == ("At six", "end_turn")
    assert streamed(url, CONVERSE, first).answer == "At "


def test_an_invoked_stream_is_read_from_the_wire():
    """The pieces are wrapped in base64."""
    pieces = [
        message("chunk", {"bytes": base64.b64encode(json.dumps(piece).encode()).decode()})
        for piece in ({"generation": "At "}, {"generation": "six", "stop_reason": "stop"})
    ]
    url = f"{HOST}/model/meta.llama3/invoke-with-response-stream"
    reading = streamed(url, {"prompt": "a"}, *pieces)
    assert (reading.answer, reading.finish_reason) == ("At six", "stop")
    assert streamed(url, {"prompt": "a"}, pieces[0]).answer == "At "


def test_an_agent_s_stream_is_read_from_the_wire():
    """Its pieces are text in base64."""
    piece = message("chunk", {"bytes": base64.b64encode("à six".encode()).decode()})
    url = "/agents/A/agentAliases/B/sessions/C/text"
    assert streamed(url, {"inputText": "a"}, piece).answer == "à six"


def test_a_passage_cited_twice_is_retrieved_once():
    """Passages without an id are the same when text and metadata are."""
    reference = {"content": {"text": "x"}, "location": {"s3Location": {"uri": "s3://b/k"}}}
    other = {"content": {"text": "x"}, "location": {"s3Location": {"uri": "s3://b/other"}}}
    answer = {
        "output": {"text": "a"},
        "citations": [
            {"retrievedReferences": [reference, reference]},
            {"retrievedReferences": [other]},
        ],
    }
    reading = read(exchange_of("/retrieveAndGenerate", {"input": {"text": "q"}}, answer))
    assert [one.metadata["uri"] for one in reading.retrieved] == ["s3://b/k", "s3://b/other"]
