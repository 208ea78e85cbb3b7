"""Events of a streamed message of Anthropic's to the message that they add up to."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.fields import Json, at, count, mapping, text
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
    for event in events:
        kind, place = text(event, "type"), count(event, "index") or 0
        if kind == "message_start":
            message.update(mapping(event, "message"))
            usage.update(mapping(event, "message", "usage"))
        elif kind == "content_block_start":
            blocks[place] = dict(mapping(event, "content_block"))
        elif kind == "content_block_delta":
            _add(blocks.setdefault(place, {"type": "text"}), mapping(event, "delta"))
        elif kind == "message_delta":
            message.update(mapping(event, "delta"))
            usage.update({key: used for key, used in mapping(event, "usage").items() if used})
    content = [blocks[place] for place in sorted(blocks)]
    return {**message, "content": content, "usage": usage}


def _add(block: dict[str, object], delta: Json) -> None:
    if text(delta, "type") == "text_delta":
        block["text"] = (text(block, "text") or "") + (text(delta, "text") or "")
    elif text(delta, "type") == "input_json_delta":
        # A block begins with an empty object where its input will be.
        begun = at(block, "input")
        block["input"] = (begun if isinstance(begun, str) else "") + (
            text(delta, "partial_json") or ""
        )
