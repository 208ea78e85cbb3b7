"""Events of a streamed message of Anthropic's to the message that they add up to."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.anthropic_events import assembled


def test_blocks_stand_by_their_index_and_keep_their_kind():
    """Text that a block begins with is kept, a tool's input is the text that arrived."""
    events = (
        {"type": "message_start", "message": {"type": "message", "usage": {"input_tokens": 3}}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "name": "f", "input": {}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "A"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "b"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{"}},
    )  # fmt: skip
    assert assembled(events) == {
        "type": "message",
        "content": [
            {"type": "text", "text": "Ab"},
            {"type": "tool_use", "name": "f", "input": "{"},
        ],
        "usage": {"input_tokens": 3},
    }


def test_the_input_counted_first_survives_a_later_zero():
    """The last usage says how much was written, and may not know what was read."""
    events = (
        {"type": "message_start", "message": {"usage": {"input_tokens": 3, "output_tokens": 1}}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
         "usage": {"input_tokens": 0, "output_tokens": 5}},
    )  # fmt: skip
    found = assembled(events)
    assert found["usage"] == {"input_tokens": 3, "output_tokens": 5}
    assert found["stop_reason"] == "end_turn"


def test_an_error_in_the_stream_leaves_what_came_before():
    """A stream may break at any event."""
    events = (
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "A"}},
        {"type": "error", "error": {"type": "overloaded_error"}},
    )
    assert assembled(events)["content"] == [{"type": "text", "text": "A"}]
