"""Google's interactions: an input of turns or steps in, outputs or steps, or their events, out."""

from __future__ import annotations

from call_exchanges import exchange_of, read, told


def test_an_interaction_is_made_by_an_input():
    """Reading and cancelling a stored one is not it."""
    assert told(exchange_of("/v1beta/interactions", {"input": "Hi"})) == "gemini.interactions"
    assert told(exchange_of("/v1beta/interactions/i", method="GET")) is None
    assert told(exchange_of("/v1beta/interactions/i/cancel", {"input": "Hi"})) is None


def test_older_streams_name_their_pieces_content():
    """A function call then comes whole in one piece."""
    call = {"type": "function_call", "name": "f", "arguments": {"a": 1}}
    events = [
        {"event_type": "content.delta", "index": 0, "delta": {"type": "thought_summary"}},
        {"event_type": "content.delta", "index": 1, "delta": {"type": "text", "text": "A"}},
        {"event_type": "content.delta", "index": 2, "delta": call},
        {"event_type": "interaction.complete", "interaction": {"status": "completed"}},
    ]
    reading = read(exchange_of("/v1beta/interactions", {"input": "Hi"}, events=events))
    assert reading.answer == "A"
    assert [(one.name, one.arguments) for one in reading.tool_calls] == [("f", '{"a": 1}')]


def test_loose_parts_of_an_input_are_one_question():
    """Pictures among them are no text."""
    parts = [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]
    reading = read(exchange_of("/v1beta/interactions", {"input": parts}))
    assert [(one.role, one.content) for one in reading.messages] == [("user", "a\nb")]
