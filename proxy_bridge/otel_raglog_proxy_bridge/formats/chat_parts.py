"""Messages and their content parts, as chat APIs write them, to plain messages."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.fields import as_json, at, items, mappings, text
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
    if isinstance(data, str):
        return data
    found = []
    for part in items(data):
        if isinstance(part, str):
            found.append(part)
        elif text(part, "type") in _TEXT_TYPES:
            inner = at(part, "text")
            inner = at(part, "content") if inner is None else inner
            found.append(content_of(inner))
    return "\n".join(part for part in found if part)


def openai_tool_calls(message: object) -> tuple[ToolCall, ...]:
    """Return the ``tool_calls`` of a message in OpenAI's form."""
    return tuple(
        ToolCall(
            text(call, "function", "name") or "", _arguments(at(call, "function", "arguments"))
        )
        for call in mappings(message, "tool_calls")
    )


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


def _arguments(data: object) -> str:
    return "" if data is None else as_json(data)
