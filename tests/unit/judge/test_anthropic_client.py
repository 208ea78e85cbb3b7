"""The Messages API: what is asked for, and models that think; the rest is in tests/contract."""

import typing

import pytest
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from judge_behaviours import Behaviour, fails
from judge_server import JudgeServer
from pydantic import TypeAdapter

from otel_raglog.checks.judge.answers import EvidenceFlow, GradedStage, Statements
from otel_raglog.errors import Rejected
from otel_raglog.judge.anthropic_client import messages_body
from otel_raglog.judge.client import Ask, Question
from otel_raglog.judge.clients import build_client

ASK = Ask("You judge.", "The run.", "statements", Statements.model_json_schema(), max_tokens=700)


@pytest.fixture
def server():
    with JudgeServer() as running:
        yield running


@pytest.fixture
def client(server):
    made = build_client(
        "anthropic",
        "claude-haiku-5-5",
        endpoint=server.url_anthropic,
        key="k",
        max_reply_bytes=10_000,
        connections=2,
    )
    yield made
    made.close()


@pytest.mark.parametrize("answer", [GradedStage, EvidenceFlow, Statements])
@pytest.mark.parametrize("thinks", [True, False])
def test_a_body_is_one_of_the_sdks_own_type(answer, thinks):
    """Checked as the type of the SDK says, for each form of schema."""
    body = messages_body("m", Ask("s", "p", "a", answer.model_json_schema()), thinks=thinks)
    assert set(body) <= set(typing.get_type_hints(MessageCreateParamsNonStreaming))
    TypeAdapter(MessageCreateParamsNonStreaming).validate_python(body)


def test_a_request_has_no_tools_marks_the_instructions_for_the_cache_and_does_not_think(
    client, server
):
    """And asks for JSON of the schema, whose bounds are told in words."""
    client.ask(ASK, 5)
    body = server.requests[0].body
    assert body["system"] == [
        {"type": "text", "text": "You judge.", "cache_control": {"type": "ephemeral"}}
    ]
    assert body["messages"] == [{"role": "user", "content": "The run."}]
    assert (body["model"], body["max_tokens"]) == ("claude-haiku-5-5", 700)
    assert body["thinking"] == {"type": "disabled"}
    assert not {"tools", "temperature", "metadata"} & set(body)
    schema = body["output_config"]["format"]["schema"]
    assert "maximum" not in schema["properties"]["harmless"]
    assert "maximum: 10000" in schema["properties"]["harmless"]["description"]


def test_a_model_that_must_think_is_let_think_little_and_remembered(client, server):
    """With room for it in the limit on tokens; asked once in vain, not each time."""
    server.refused_parameters.add("thinking")
    assert client.ask(ASK, 5).complete
    assert client.ask(ASK, 5).complete
    bodies = [item.body for item in server.requests]
    assert ["thinking" in body for body in bodies] == [True, False, False]
    assert bodies[1]["max_tokens"] == 4_700
    assert bodies[1]["output_config"]["effort"] == "low"


def test_another_bad_request_is_rejected_at_once(client, server):
    """Only what is said of thinking can be mended."""
    server.script(fails(400, message="credit balance is too low"))
    with pytest.raises(Rejected):
        client.ask(ASK, 5)
    assert server.count() == 1


def test_a_bad_request_of_a_model_that_thinks_is_rejected(client, server):
    """There is no third form."""
    refusal = fails(400, message="thinking is not supported")
    server.script(refusal, refusal)
    with pytest.raises(Rejected) as caught:
        client.ask(ASK, 5)
    assert caught.value.reason == "bad_request"
    assert server.count() == 2


def test_thoughts_are_no_part_of_the_answer(client, server):
    """Blocks are told by type, not by place."""
    raw = (
        b'{"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "{}"}],'
        b' "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2,'
        b' "cache_read_input_tokens": null}}'
    )
    server.script(Behaviour(raw=raw))
    reply = client.ask(ASK, 5)
    assert reply.text == "{}"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (1, 2)


def test_there_are_no_log_probabilities(client, server):
    """So no question is sent."""
    with pytest.raises(Rejected) as caught:
        client.first_token(Question("s", "p"), 5)
    assert caught.value.reason == "no_logprobs"
    assert server.count() == 0
