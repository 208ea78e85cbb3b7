"""Chunks of a streamed chat completion to the completion that they add up to."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.chat_parts import arguments_of, said
from otel_raglog_proxy_bridge.formats.fields import Json, at, count, mapping, mappings, text
from otel_raglog_proxy_bridge.model import Exchange


def completion_of(exchange: Exchange) -> object:
    """Return the answer as one chat completion, whether it came whole or in chunks.

    Of chunks it is put together for the first choice: its message, finish reason, and the usage.
    """
    return assembled(exchange.events) if exchange.events else exchange.response


def assembled(events: tuple[object, ...]) -> Json:
    """Return the completion, of its first choice alone, whose chunks are ``events``."""
    message: dict[str, object] = {}
    calls: list[dict[str, str]] = []
    finish, usage = None, None
    for event in events:
        used = mapping(event, "usage") or mapping(event, "x_groq", "usage")
        usage = used or usage
        for choice in first_choices(event):
            delta = mapping(choice, "delta") or mapping(choice, "message")
            _add(message, "content", said(at(delta, "content")))
            _add(message, "refusal", text(delta, "refusal"))
            if mapping(delta, "context"):
                message.setdefault("context", mapping(delta, "context"))
            if mapping(delta, "function_call"):
                _add_call(calls, {"index": 0, "function": mapping(delta, "function_call")})
            for call in mappings(delta, "tool_calls"):
                _add_call(calls, call)
            finish = text(choice, "finish_reason") or finish
    message["tool_calls"] = [{"function": call} for call in calls]
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def first_choices(event: object) -> Iterator[Json]:
    """Yield what a chunk has of the first choice; some servers leave its index out."""
    for choice in mappings(event, "choices"):
        if not count(choice, "index"):
            yield choice


def _add(message: dict[str, object], key: str, more: str | None) -> None:
    if more:
        message[key] = f"{message.get(key, '')}{more}"


def _add_call(calls: list[dict[str, str]], piece: Json) -> None:
    """Add a piece of a tool call to the call it continues, or begin one with it."""
    index, identity = count(piece, "index"), text(piece, "id") or ""
    name, arguments = (
        text(piece, "function", "name") or "",
        arguments_of(at(piece, "function", "arguments")),
    )
    key = "" if index is None else str(index)
    for call in reversed(calls):
        # Some servers number all calls alike and tell them apart by id.
        if call["key"] == key and (not identity or identity == call["id"]):
            call["name"] = call["name"] or name
            call["arguments"] += arguments
            return
    calls.append({"key": key, "id": identity, "name": name, "arguments": arguments})
