"""Where GenAI spans carry what was said, and what is told when they carry nothing."""

import json

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.genai_carriers import ANSWERED, GIVEN, CarrierReader
from otel_raglog.model import FieldStatus, Message, SpanEvent

Q, A = "Why?", "Because."
ASKED, SAID = (Message("user", Q),), (Message("assistant", A),)


def reader(attributes=None, events=(), **options):
    (one,) = spans_of(
        span(
            "x",
            attributes=attributes or {},
            events=tuple(SpanEvent(name, 0, values) for name, values in events),
            **options,
        )
    )
    return CarrierReader(one, "plain")


def parts(role, text):
    return {"role": role, "parts": [{"type": "text", "content": text}]}


@pytest.mark.parametrize(
    ("attributes", "events", "keys"),
    [
        (
            {
                "gen_ai.input.messages": json.dumps([parts("user", Q)]),
                "gen_ai.output.messages": json.dumps([parts("assistant", A)]),
            },
            (),
            ("gen_ai.input.messages", "gen_ai.output.messages"),
        ),
        (
            {
                "gen_ai.input.messages": (parts("user", Q),),
                "gen_ai.output.messages": (parts("assistant", A),),
            },
            (),
            ("gen_ai.input.messages", "gen_ai.output.messages"),
        ),
        (
            {
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": Q,
                "gen_ai.completion.0.content": A,
            },
            (),
            ("gen_ai.prompt", "gen_ai.completion"),
        ),
        (
            {},
            [
                ("gen_ai.user.message", {"content": Q}),
                ("gen_ai.choice", {"message": json.dumps({"content": A})}),
            ],
            ("gen_ai.user.message/content", "gen_ai.choice/content"),
        ),
        (
            {},
            [
                ("gen_ai.user.message", {"gen_ai.event.content": json.dumps({"content": Q})}),
                ("gen_ai.choice", {"gen_ai.event.content": json.dumps({"message": A})}),
            ],
            ("gen_ai.user.message/gen_ai.event.content", "gen_ai.choice/gen_ai.event.content"),
        ),
        (
            {},
            [
                ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps([Q])}),
                ("gen_ai.content.completion", {"gen_ai.completion": A}),
            ],
            ("gen_ai.content.prompt/gen_ai.prompt", "gen_ai.content.completion/gen_ai.completion"),
        ),
        (
            {"gen_ai.prompt": Q, "gen_ai.completion": json.dumps([{"content": A}])},
            (),
            ("gen_ai.prompt", "gen_ai.completion"),
        ),
        (
            {},
            [
                (
                    "gen_ai.client.inference.operation.details",
                    {
                        "gen_ai.input.messages": json.dumps([parts("user", Q)]),
                        "gen_ai.output.messages": json.dumps([parts("assistant", A)]),
                    },
                )
            ],
            (
                "gen_ai.client.inference.operation.details/gen_ai.input.messages",
                "gen_ai.client.inference.operation.details/gen_ai.output.messages",
            ),
        ),
    ],
)
def test_every_carrier(attributes, events, keys):
    """Lists of messages, numbered keys, and events old and older say the same."""
    found = reader(attributes, events)
    given, answered = found.said(GIVEN), found.said(ANSWERED)
    assert (given.messages.value, answered.messages.value) == (ASKED, SAID)
    assert (given.messages.source.key, answered.messages.source.key) == keys


def test_system_instructions_come_first_and_once():
    """They stand before the messages, unless these begin with the same text."""
    system = json.dumps([{"type": "text", "content": "Be brief."}])
    asked = [parts("user", Q)]
    attributes = {"gen_ai.system_instructions": system, "gen_ai.input.messages": json.dumps(asked)}
    both = (Message("system", "Be brief."), *ASKED)
    assert reader(attributes).said(GIVEN).messages.value == both
    repeated = json.dumps([parts("system", "Be brief."), *asked])
    again = reader({**attributes, "gen_ai.input.messages": repeated})
    assert again.said(GIVEN).messages.value == both
    alone = reader({"gen_ai.system_instructions": "Be brief."}).said(GIVEN)
    assert alone.messages.value == (Message("system", "Be brief."),)


def test_calls_and_finish_reasons():
    """Tool calls and the reason to stop are told by every carrier."""
    call = {"type": "tool_call", "name": "find", "arguments": "{}"}
    new = {"role": "assistant", "parts": [call], "finish_reason": "tool_call"}
    numbered = {
        "gen_ai.completion.0.finish_reason": "tool_calls",
        "gen_ai.completion.0.tool_calls.0.name": "find",
        "gen_ai.completion.0.tool_calls.0.arguments": "{}",
    }
    old = {"finish_reason": "tool_calls", "tool_calls": '[{"function": {"name": "find"}}]'}
    for found in (
        reader({"gen_ai.output.messages": json.dumps([new])}),
        reader(numbered),
        reader(events=[("gen_ai.choice", old)]),
    ):
        said = found.said(ANSWERED)
        assert [call["name"] for call in said.calls] == ["find"]
        assert said.finish_reason in {"tool_call", "tool_calls"}


@pytest.mark.parametrize(
    ("attributes", "options", "status"),
    [
        ({}, {}, FieldStatus.NOT_CAPTURED),
        ({}, {"dropped": 3}, FieldStatus.EVICTED),
        ({"gen_ai.input.messages": "__REDACTED__"}, {}, FieldStatus.REDACTED),
        ({"gen_ai.input.messages": json.dumps([parts("user", "[REDACTED]")])}, {}, "redacted"),
        ({"gen_ai.prompt.0.content": "[REDACTED]"}, {}, FieldStatus.REDACTED),
        ({"gen_ai.input.messages": "[]"}, {}, FieldStatus.EMPTY),
        ({"gen_ai.input.messages": " "}, {}, FieldStatus.EMPTY),
        ({"gen_ai.input.messages_ref": "s3://x"}, {}, FieldStatus.EXTERNAL),
        ({"gen_ai.input.messages": '[{"role": "user", "parts": [{"ty'}, {}, FieldStatus.TRUNCATED),
        (
            {"gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text"}]}]'},
            {},
            FieldStatus.NOT_CAPTURED,
        ),
        ({"gen_ai.input.messages": "[7]"}, {}, FieldStatus.NOT_CAPTURED),
    ],
)
def test_why_nothing_is_said(attributes, options, status):
    """Never captured, evicted, hidden, empty, uploaded and cut are told apart."""
    found = reader(attributes, **options).said(GIVEN)
    assert found.messages.status == status
    assert not found.messages.value


def test_what_stands_before_a_cut_is_read():
    """Messages before the place where a value was cut are whole."""
    whole = json.dumps([parts("user", Q), parts("user", "more")])
    found = reader({"gen_ai.input.messages": whole[:-9]}).said(GIVEN).messages
    assert (found.value, found.status) == (ASKED, FieldStatus.TRUNCATED)


def test_gaps_in_numbered_messages():
    """A missing number means that messages were evicted."""
    attributes = {"gen_ai.prompt.0.content": "a", "gen_ai.prompt.2.content": "b"}
    assert reader(attributes).said(GIVEN).messages.status is FieldStatus.TRUNCATED


def test_events_without_content_say_nothing():
    """Events that only tell that there were messages are no messages."""
    found = reader(events=[("gen_ai.user.message", {"gen_ai.system": "openai"})])
    assert found.said(GIVEN).messages.status is FieldStatus.NOT_CAPTURED


def test_as_one_text():
    """All messages as one text, and as data."""
    said = reader({"gen_ai.input.messages": json.dumps([parts("user", Q)])}).said(GIVEN)
    assert said.text().value == Q
    assert said.data() == {"messages": [{"role": "user", "content": Q}]}
    nothing = reader().said(GIVEN)
    assert (nothing.text().value, nothing.data()) == (None, None)
