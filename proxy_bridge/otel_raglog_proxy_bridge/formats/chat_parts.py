"""Messages and their content parts, as chat APIs write them, to plain messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from otel_raglog_proxy_bridge.formats.fields import as_json, at, items, mapping, mappings, text
from otel_raglog_proxy_bridge.model import ChatMessage, ToolCall

_ROLES = {
    "developer": "system",
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "chatbot": "assistant",
    "function": "tool",
}
_TEXT_TYPES = frozenset({None, "text", "input_text", "output_text", "tool_result"})


def role_of(data: object, *keys: str | int, default: str = "user") -> str:
    """Return the role at ``keys`` as one of ``system``, ``user``, ``assistant``, ``tool``."""
    role = (text(data, *keys) or default).lower()
    return _ROLES.get(role, role)


def content_of(data: object) -> str:
    """Return the text of a message's content: a text, or parts joined by line breaks.

    Images, audio, reasoning and calls of tools are no text.
    """
    return "\n".join(_texts(data))


def said(data: object) -> str | None:
    """Return the text of an answer's content, ``None`` when it has none.

    Parts are joined without a break: APIs cut one answer where a citation begins or ends.
    """
    return "".join(_texts(data)) or None


def chosen(data: object, keys: Iterable[str]) -> Mapping[str, object]:
    """Return those of ``keys`` that the object ``data`` has a value for: parameters, say."""
    return {key: value for key in keys if (value := at(data, key)) is not None}


def openai_tool_calls(message: object) -> tuple[ToolCall, ...]:
    """Return the ``tool_calls`` of a message in OpenAI's form, or its older ``function_call``."""
    calls = [_tool_call(call) for call in mappings(message, "tool_calls")]
    if not calls and text(message, "function_call", "name"):
        calls.append(_tool_call({"function": mapping(message, "function_call")}))
    return tuple(calls)


def openai_messages(data: object) -> tuple[ChatMessage, ...]:
    """Return a list of messages in OpenAI's form."""
    return tuple(
        ChatMessage(
            role_of(message, "role"),
            content_of(at(message, "content")),
            openai_tool_calls(message),
        )
        for message in mappings(data)
    )


def are_messages(data: object) -> bool:
    """Return whether ``data`` is a list of a chat's messages: other APIs' messages have no role."""
    listed = items(data)
    return bool(listed) and all(text(message, "role") for message in listed)


def arguments_of(data: object) -> str:
    """Return a tool call's arguments as JSON text, empty when there are none."""
    return "" if data is None else as_json(data)


def _tool_call(call: Mapping[str, object]) -> ToolCall:
    name = text(call, "function", "name")
    if not name and text(call, "custom", "name"):
        return ToolCall(text(call, "custom", "name") or "", text(call, "custom", "input") or "")
    return ToolCall(name or "", arguments_of(at(call, "function", "arguments")))


def _texts(data: object) -> list[str]:
    if isinstance(data, str):
        return [data] if data else []
    found: list[str] = []
    for part in items(data):
        if isinstance(part, str):
            found.append(part)
        elif text(part, "type") in _TEXT_TYPES:
            inner = at(part, "text")
            inner = at(part, "content") if inner is None else inner
            found += _texts(inner)
    return [part for part in found if part]
