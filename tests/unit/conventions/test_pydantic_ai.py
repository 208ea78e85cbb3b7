"""What spans of Pydantic AI and Logfire say beside the GenAI conventions."""

import json

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.pydantic_ai import PydanticAi
from otel_raglog.model import FieldStatus, Message, Role

OPERATION = "gen_ai.operation.name"


def read(attributes, name="x"):
    (one,) = spans_of(span(name, attributes=attributes))
    return PydanticAi().read(one)


def said(role, *parts):
    return {"role": role, "parts": list(parts)}


def text(content):
    return {"type": "text", "content": content}


def test_a_run():
    """An agent's input ends with the message that asks; its output is the final result."""
    call = {"type": "tool_call", "id": "1", "name": "find", "arguments": "{}"}
    result = {"type": "tool_call_response", "id": "1", "result": "found"}
    messages = [
        said("user", text("Hello")),
        said("assistant", text("Hi")),
        said("user", text("Why?")),
        said("assistant", call),
        said("user", result),
        said("assistant", text("Because.")),
    ]
    facts = read(
        {
            OPERATION: "invoke_agent",
            "pydantic_ai.all_messages": json.dumps(messages),
            "final_result": "Because.",
            "model_name": "m",
        }
    )
    assert facts.role is Role.AGENT
    assert [m["content"] for m in facts.input_data["messages"]] == ["Hello", "Hi", "Why?"]
    assert (facts.output.value, facts.model) == ("Because.", None)


def test_a_run_that_returns_an_object():
    """A structured result is data."""
    facts = read({"final_result": '{"answer": "Because."}'})
    assert (facts.role, facts.output_data) == (Role.AGENT, {"answer": "Because."})
    assert facts.input.status is FieldStatus.NOT_CAPTURED


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result"),
        ("tool_arguments", "tool_response"),
    ],
)
def test_tools_of_every_format(arguments, result):
    """The keys of a tool's arguments and result changed with the format."""
    facts = read(
        {
            OPERATION: "execute_tool",
            "gen_ai.tool.name": "find",
            "pydantic_ai.x": 1,
            arguments: '{"query": "why?"}',
            result: '[{"id": "a", "text": "one"}]',
        }
    )
    assert (facts.query.value, facts.documents.value[0].text) == ("why?", "one")


def test_embeddings():
    """Pydantic AI writes the texts; without content there are none."""
    attributes = {OPERATION: "embeddings", "inputs_count": 1}
    assert read({**attributes, "inputs": '["why?"]'}).embedding_texts.value == ("why?",)
    assert read(attributes).embedding_texts.status is FieldStatus.NOT_CAPTURED
    assert read({"gen_ai.system": "o", "inputs_count": 1}).role is Role.EMBEDDER


def test_the_first_format():
    """Messages were a list of events in one attribute."""
    events = [
        {"event.name": "gen_ai.user.message", "role": "user", "content": "Why?"},
        {"event.name": "gen_ai.choice", "message": {"role": "assistant", "content": "So."}},
        7,
    ]
    attributes = {OPERATION: "chat", "model_request_parameters": "{}", "events": json.dumps(events)}
    facts = read(attributes)
    assert facts.messages.value == (Message("user", "Why?"),)
    assert facts.output_messages.value == (Message("assistant", "So."),)


@pytest.mark.parametrize(
    "response",
    [{"message": {"role": "assistant", "content": "So."}}, {"combined_chunk_content": "So."}],
)
def test_clients_under_logfire(response):
    """Logfire's instrumentation of a client writes the request and the response."""
    asked = {"model": "m", "messages": [{"role": "user", "content": "Why?"}]}
    facts = read(
        {
            "gen_ai.system": "openai",
            "request_data": json.dumps(asked),
            "response_data": json.dumps(response),
        }
    )
    assert facts.role is Role.LLM
    assert facts.messages.value == (Message("user", "Why?"),)
    assert facts.output_messages.value == (Message("assistant", "So."),)


@pytest.mark.parametrize(
    ("key", "value"),
    [("events", "[]"), ("events", "7"), ("response_data", "[]"), ("response_data", "{}")],
)
def test_nothing_in_them(key, value):
    """Empty or foreign values say nothing."""
    facts = read({OPERATION: "chat", "model_request_parameters": "{}", key: value})
    assert facts.output_messages.status is FieldStatus.NOT_CAPTURED


def test_what_is_not_ours():
    """A marker that an application may use as well does not suffice."""
    assert read({"request_data": "{}"}) is None
    assert read({OPERATION: "chat"}) is None
    assert read({"pydantic_ai.x": 1}).role is Role.UNKNOWN


@pytest.mark.parametrize("scope", ["pydantic-ai", "logfire.openai"])
def test_genai_keys_alone_are_known_by_the_scope(scope):
    """Tool spans without content have nothing else."""
    tool = {OPERATION: "execute_tool", "gen_ai.tool.name": "find"}
    (one,) = spans_of(span("execute_tool find", attributes=tool, scope=scope))
    assert PydanticAi().read(one).role is Role.TOOL
    (other,) = spans_of(span("execute_tool find", attributes=tool, scope="pydantic"))
    assert PydanticAi().read(other) is None
