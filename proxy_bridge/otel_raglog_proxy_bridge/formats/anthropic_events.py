"""Events of a streamed message of Anthropic's to the message that they add up to."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.fields import Json, count, mapping, text
from otel_raglog_proxy_bridge.formats.pieces import Pieces
from otel_raglog_proxy_bridge.model import Exchange


def message_of(exchange: Exchange) -> Json:
    """Return the answer as one message, whether it came whole or as events."""
    return assembled(exchange.events) if exchange.events else mapping(exchange.response)


def assembled(events: tuple[object, ...]) -> Json:
    """Return the message whose events are ``events``: its blocks, stop reason and usage.

    A tool's input stays the JSON text that arrived, which may be cut.
    """
    message: dict[str, object] = {}
    usage: dict[str, object] = {}
    blocks: dict[int, dict[str, object]] = {}
    pieces = Pieces()
    for event in events:
        kind, place = text(event, "type"), count(event, "index") or 0
        if kind == "message_start":
            message.update(mapping(event, "message"))
            usage.update(mapping(event, "message", "usage"))
        elif kind == "content_block_start":
            blocks[place] = dict(mapping(event, "content_block"))
            pieces.forget((place, "text_delta"), (place, "input_json_delta"))
        elif kind == "content_block_delta":
            blocks.setdefault(place, {"type": "text"})
            delta = mapping(event, "delta")
            more = text(delta, "text") or text(delta, "partial_json")
            pieces.add((place, text(delta, "type")), more)
        elif kind == "message_delta":
            message.update(mapping(event, "delta"))
            usage.update({key: used for key, used in mapping(event, "usage").items() if used})
    content = [_whole(blocks[place], place, pieces) for place in sorted(blocks)]
    return {**message, "content": content, "usage": usage}


def _whole(block: Json, place: int, pieces: Pieces) -> Json:
    said, given = (place, "text_delta"), (place, "input_json_delta")
    whole = dict(block)
    if said in pieces:
        whole["text"] = (text(block, "text") or "") + pieces.joined(said)
    if given in pieces:
        # A block begins with an empty object where its input will be.
        whole["input"] = (text(block, "input") or "") + pieces.joined(given)
    return whole
