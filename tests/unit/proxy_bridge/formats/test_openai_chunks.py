"""Chunks of a streamed chat completion to the completion that they add up to."""

from __future__ import annotations

from call_exchanges import exchange_of

from otel_raglog_proxy_bridge.formats.fields import at
from otel_raglog_proxy_bridge.formats.openai_chunks import assembled, completion_of, first_choices


def chunk(delta, **more):
    return {"choices": [{"index": 0, "delta": delta, **more}]}


def calls_of(*deltas):
    message = at(assembled(tuple(chunk(delta) for delta in deltas)), "choices", 0, "message")
    return [(at(call, "function", "name"), at(call, "function", "arguments"))
            for call in at(message, "tool_calls")]  # fmt: skip


def test_an_answer_that_came_whole_is_itself():
    """Only events are put together."""
    whole = {"choices": [{"message": {"content": "x"}}]}
    assert completion_of(exchange_of("/v1/chat/completions", {}, whole)) == whole


def test_texts_add_up_and_reasoning_is_none():
    """Parts of content, refusals and a server's context are kept, each by itself."""
    found = assembled(
        (
            chunk({"content": [{"type": "thinking", "thinking": []}]}),
            chunk({"content": "a", "reasoning_content": "hm"}),
            chunk({"content": [{"type": "text", "text": "b"}], "context": {"citations": []}}),
            chunk({"refusal": "no"}, finish_reason="stop"),
            chunk({}, finish_reason=None),
        )
    )
    message = at(found, "choices", 0, "message")
    assert at(message, "content") == "ab"
    assert at(message, "refusal") == "no"
    assert at(message, "context") == {"citations": []}
    assert at(found, "choices", 0, "finish_reason") == "stop"


def test_calls_are_told_apart_by_index_and_by_id():
    """Some servers number all calls alike, some not at all, some say the id again each time."""
    whole = [{"index": 0, "id": "1", "function": {"name": "f", "arguments": "{}"}},
             {"index": 0, "id": "2", "function": {"name": "g", "arguments": "{}"}}]  # fmt: skip
    assert calls_of({"tool_calls": whole}) == [("f", "{}"), ("g", "{}")]
    pieces = (
        [{"id": "1", "function": {"name": "f", "arguments": "{"}}],
        [{"id": "1", "function": {"name": "f", "arguments": "}"}}],
    )
    assert calls_of(*({"tool_calls": piece} for piece in pieces)) == [("f", "{}")]


def test_pieces_of_two_calls_may_come_in_turns():
    """Each piece goes to the call of its index."""
    pieces = [
        {"index": 0, "id": "1", "function": {"name": "f", "arguments": ""}},
        {"index": 1, "id": "2", "function": {"name": "g", "arguments": ""}},
        {"index": 0, "function": {"arguments": "[0]"}},
        {"index": 1, "function": {"arguments": "[1]"}},
    ]
    assert calls_of(*({"tool_calls": [piece]} for piece in pieces)) == [("f", "[0]"), ("g", "[1]")]


def test_an_old_function_call_adds_up_too():
    """It is one call without an id."""
    pieces = ({"name": "f", "arguments": "{"}, {"arguments": "}"})
    assert calls_of(*({"function_call": piece} for piece in pieces)) == [("f", "{}")]


def test_the_last_usage_counts_groqs_included():
    """Some servers count on in every chunk."""
    counting = ({"choices": [], "usage": {"completion_tokens": 1}}, {"usage": None})
    later = ({"usage": {"completion_tokens": 2}},)
    assert at(assembled(counting + later), "usage", "completion_tokens") == 2
    groq = ({"x_groq": {"usage": {"completion_tokens": 3}}},)
    assert at(assembled(groq), "usage", "completion_tokens") == 3


def test_only_the_first_choice_is_looked_at():
    """One without an index is the first."""
    choices = [{"index": 1, "delta": {}}, {"index": 0}, {"delta": {}}, 7]
    assert list(first_choices({"choices": choices})) == [{"index": 0}, {"delta": {}}]


def test_pieces_of_many_calls_go_to_the_call_that_they_continue():
    """By index and id; a piece without an id continues the latest of its index."""

    def chunk(index, arguments, **more):
        function = {"arguments": arguments, **more.pop("function", {})}
        call = {"index": index, "function": function, **more}
        return {"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}

    events = (
        chunk(0, "1", id="a", function={"name": "f"}),
        chunk(0, "2", id="b", function={"name": "g"}),
        chunk(0, "3"),
        chunk(0, "4", id="a"),
    )
    message = assembled(events)["choices"][0]["message"]
    assert [call["function"] for call in message["tool_calls"]] == [
        {"name": "f", "arguments": "14"},
        {"name": "g", "arguments": "23"},
    ]
