"""Chunks of a streamed chat completion to the completion that they add up to."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.chat_parts import arguments_of, said
from otel_raglog_proxy_bridge.formats.fields import Json, at, count, mapping, mappings, text
from otel_raglog_proxy_bridge.formats.pieces import Pieces
from otel_raglog_proxy_bridge.model import Exchange


def completion_of(exchange: Exchange) -> object:
    """Return the answer as one chat completion, whether it came whole or in chunks.

    Of chunks it is put together for the first choice: its message, finish reason, and the usage.
    """
    return assembled(exchange.events) if exchange.events else exchange.response


def assembled(events: tuple[object, ...]) -> Json:
    """Return the completion, of its first choice alone, whose chunks are ``events``."""
    message: dict[str, object] = {}
    told, calls = Pieces(), _Calls()
    finish, usage = None, None
    for event in events:
        used = mapping(event, "usage") or mapping(event, "x_groq", "usage")
        usage = used or usage
        for choice in first_choices(event):
            delta = mapping(choice, "delta") or mapping(choice, "message")
            told.add("content", said(at(delta, "content")))
            told.add("refusal", text(delta, "refusal"))
            if mapping(delta, "context"):
                message.setdefault("context", mapping(delta, "context"))
            if mapping(delta, "function_call"):
                calls.add({"index": 0, "function": mapping(delta, "function_call")})
            for call in mappings(delta, "tool_calls"):
                calls.add(call)
            finish = text(choice, "finish_reason") or finish
    message |= {key: told.joined(key) for key in ("content", "refusal") if key in told}
    message["tool_calls"] = calls.whole()
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def first_choices(event: object) -> Iterator[Json]:
    """Yield what a chunk has of the first choice; some servers leave its index out."""
    for choice in mappings(event, "choices"):
        if not count(choice, "index"):
            yield choice


class _Calls:
    """Calls of tools, whose pieces are told apart by index; some servers number all alike."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._arguments = Pieces()
        self._latest: dict[int | None, int] = {}
        self._by_id: dict[tuple[int | None, str], int] = {}

    def add(self, piece: Json) -> None:
        """Add a piece to the call that it continues, or begin one with it."""
        index, identity = count(piece, "index"), text(piece, "id") or ""
        name = text(piece, "function", "name") or ""
        place = self._by_id.get((index, identity)) if identity else self._latest.get(index)
        if place is None:
            place = self._latest[index] = self._by_id[index, identity] = len(self._names)
            self._names.append(name)
        self._names[place] = self._names[place] or name
        self._arguments.add(place, arguments_of(at(piece, "function", "arguments")))

    def whole(self) -> list[Json]:
        """Return the calls as a completion that came whole has them."""
        return [
            {"function": {"name": name, "arguments": self._arguments.joined(place)}}
            for place, name in enumerate(self._names)
        ]
