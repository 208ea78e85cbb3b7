"""Messages in the shapes of the GenAI conventions (roles with parts) to texts and tool calls."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from otel_raglog.conventions.chat import content_text, message_in, messages_in, normal_role
from otel_raglog.conventions.json_text import parse_json
from otel_raglog.model import Message

_RESULTS = frozenset({"tool_call_response", "tool_result", "server_tool_call_response"})
_RESULT_KEYS = ("response", "result", "content", "output")
_CALLS = frozenset({"tool_call", "tool_use", "server_tool_call", "function_call"})
_SILENT = frozenset(
    {"reasoning", "thinking", "blob", "file", "uri", "image", "image_url", "input_audio", "media"}
)
_FINISH_KEYS = ("finish_reason", "finishReason", "stop_reason")


@dataclass(frozen=True, slots=True)
class Talk:
    """What some messages say: ``calls`` are the tools that were asked for (name, arguments).

    ``bare`` tells that nothing is said since the content was left out of the parts.
    """

    messages: tuple[Message, ...]
    calls: tuple[Mapping[str, object], ...] = ()
    finish_reason: str | None = None
    bare: bool = False


def talk_in(data: object, speaker: str) -> Talk | None:  # noqa: PLR0911  one return per known shape
    """Return what JSON data says, ``None`` when it holds no messages.

    ``speaker`` is the role of texts that name none.
    """
    if isinstance(data, str):
        return Talk((Message(speaker, data),)) if data.strip() else Talk(())
    if isinstance(data, Mapping):
        inner = data.get("messages")
        if isinstance(inner, Sequence) and not isinstance(inner, str):
            return talk_in(list(inner), speaker)
        if _is_message(data) or _is_part(data):
            return talk_in([data], speaker)
        found = messages_in(data)
        return Talk(found) if found else None
    if not isinstance(data, Sequence) or isinstance(data, bytes):
        return None
    if len(data) == 1 and isinstance(data[0], list):
        return talk_in(data[0], speaker)
    if data and all(isinstance(element, Mapping) and _is_part(element) for element in data):
        return _collect([{"role": speaker, "parts": list(data)}], speaker)
    return _collect(data, speaker)


def beginning_of_list(text: str) -> list[object]:
    """Return the elements of a JSON list that was cut, up to the one in which it was."""
    decoder = json.JSONDecoder()
    position = text.find("[") + 1
    found: list[object] = []
    while position:
        rest = text[position:].lstrip(" \t\r\n,")
        try:
            element, end = decoder.raw_decode(rest)
        except (ValueError, RecursionError):
            break
        found.append(element)
        position = len(text) - len(rest) + end
    return found


def instructions_in(data: object) -> str:
    """Return the text of system instructions: a text, parts, or messages."""
    talk = talk_in(data, "system")
    return "\n".join(m.content for m in talk.messages if m.content) if talk else ""


def _collect(elements: Sequence[object], speaker: str) -> Talk | None:
    messages: list[Message] = []
    calls: list[Mapping[str, object]] = []
    reason: str | None = None
    for element in elements:
        if isinstance(element, str):
            messages.append(Message(speaker, element))
            continue
        if not isinstance(element, Mapping):
            return None
        said = _said(element, speaker)
        if said is None:
            return None
        messages.extend(said)
        calls.extend(calls_of(element))
        reason = reason or _reason(element)
    silent = not any(message.content for message in messages)
    bare = silent and any(_is_bare(part) for element in elements for part in _parts(element))
    return Talk(tuple(messages), tuple(calls), reason, bare)


def _parts(element: object) -> Sequence[object]:
    parts = element.get("parts") if isinstance(element, Mapping) else None
    return parts if isinstance(parts, Sequence) and not isinstance(parts, str) else ()


def _is_bare(part: object) -> bool:
    """Tell whether a part was written without its content."""
    if not isinstance(part, Mapping):
        return False
    if part.get("type") == "text":
        return not {"content", "text"} & part.keys()
    return part.get("type") in _RESULTS and not {*_RESULT_KEYS} & part.keys()


def _is_message(data: Mapping[str, object]) -> bool:
    return "role" in data and bool({"parts", "content", "tool_calls"} & data.keys())


def _is_part(data: Mapping[str, object]) -> bool:
    return isinstance(data.get("type"), str) and not {"role", "parts", "kwargs", "data"} & set(data)


def _said(element: Mapping[str, object], speaker: str) -> list[Message] | None:
    role = element.get("role")
    parts = element.get("parts")
    if parts is None and isinstance(element.get("content"), list):
        parts = element["content"]
    if isinstance(parts, Sequence) and not isinstance(parts, str):
        return _of_parts(normal_role(role or speaker), parts)
    if role is None and "content" in element and "type" not in element:
        return [Message(speaker, content_text(element["content"]))]
    if role is not None and element.get("content") is None and "tool_calls" in element:
        return [Message(normal_role(role), "")]
    message = message_in(dict(element))
    if message is None and role is not None and not {"content", "text"} & element.keys():
        return [Message(normal_role(role), "")]
    return None if message is None else [message]


def _of_parts(role: str, parts: Sequence[object]) -> list[Message]:
    """Return one message of a role, and one of the tool for the results in it."""
    texts: list[str] = []
    results: list[str] = []
    for part in parts:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if isinstance(part, Mapping) and kind in _RESULTS:
            results.append(result_text(part))
        elif kind not in _SILENT and kind not in _CALLS:
            texts.append(content_text(part))
    found = [Message(role, "\n".join(filter(None, texts)))] if texts or not results else []
    if results:
        found.append(Message("tool", "\n".join(filter(None, results))))
    return found


def result_text(part: Mapping[str, object]) -> str:
    """Return what a tool gave back, as the model was told."""
    value = next((part[key] for key in _RESULT_KEYS if part.get(key) is not None), "")
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(_is_text_part(item) for item in value):
        return content_text(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError, RecursionError):
        return ""


def _is_text_part(item: object) -> bool:
    return isinstance(item, Mapping) and item.get("type") == "text"


def calls_of(element: Mapping[str, object]) -> list[Mapping[str, object]]:
    """Return the tool calls of one message, as parts or in OpenAI's shape."""
    calls: list[Mapping[str, object]] = []
    parts = element.get("parts", element.get("content"))
    if isinstance(parts, Sequence) and not isinstance(parts, str):
        calls.extend(
            {"name": part.get("name"), "arguments": part.get("arguments", part.get("input"))}
            for part in parts
            if isinstance(part, Mapping) and part.get("type") in _CALLS
        )
    listed = element.get("tool_calls")
    if isinstance(listed, str):
        listed = parse_json(listed)
    if isinstance(listed, Sequence) and not isinstance(listed, str):
        for call in listed:
            if isinstance(call, Mapping):
                inner = call.get("function")
                named = inner if isinstance(inner, Mapping) else call
                calls.append({"name": named.get("name"), "arguments": named.get("arguments")})
    return calls


def _reason(element: Mapping[str, object]) -> str | None:
    return next((v for key in _FINISH_KEYS if isinstance(v := element.get(key), str) and v), None)
