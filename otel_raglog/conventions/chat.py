"""Chat messages and LLM responses in any of their shapes to messages and texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from otel_raglog.conventions.flattened import Item, sub_items
from otel_raglog.conventions.json_text import MAX_DEPTH, parse_json
from otel_raglog.conventions.reprs import finish_reason, message_role, message_text
from otel_raglog.model import Message

_ROLES = {
    "human": "user",
    "humanmessage": "user",
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "chatbot": "assistant",
    "bot": "assistant",
    "systemmessage": "system",
    "developer": "system",
    "toolmessage": "tool",
    "function": "tool",
    "tool-call": "assistant",
    "tool-response": "tool",
}
_MESSAGE_LIST_KEYS = ("messages", "chat_history", "prompts", "prompt", "contents")
_PROMPT_KEYS = frozenset({"messages", "prompts", "prompt"})
"""Names under which one text is a whole prompt, too (Haystack's generators take either)."""
_RESPONSE_KEYS = (
    "choices",
    "generations",
    "replies",
    "candidates",
    "message",
    "content",
    "text",
    "response",
    "output_text",
    "completion",
    "answer",
    "output",
    "result",
    "blocks",
    "parts",
    "kwargs",
    "data",
)
_THOUGHTS = frozenset({"reasoning", "thinking", "redacted_thinking"})
"""Types of the parts of a message that are not said to anyone."""
_PARTS = re.compile(r"\s*\[\s*\{")
_SPEAKER = re.compile(r"^\s*assistant:\s*", re.IGNORECASE)


def normal_role(role: object) -> str:
    """Return a role as ``system``, ``user``, ``assistant`` or ``tool`` where it is one of them."""
    name = str(role or "user").strip().lower().rpartition(".")[2]
    return _ROLES.get(name, name)


def message_from_item(item: Item) -> Message:
    """Return one flattened message; the text parts of a multi-part content are joined.

    A content that is written a second time as parts is read once.
    """

    def get(name: str) -> object:
        return item.get(f"message.{name}", item.get(name))

    if "" in item:
        return Message("user", str(item[""]))
    texts: list[str] = []
    content = get("content")
    if content is not None:
        texts.append(content_text(_parts_in(content)))
    for name in _named_lists(item, ("message.contents", "contents")):
        parts = "\n".join(filter(None, (_text_of_part(part) for part in sub_items(item, name))))
        if "".join(parts.split()) != "".join("".join(texts).split()):
            texts.append(parts)
    return Message(normal_role(get("role")), "\n".join(filter(None, texts)))


def _parts_in(content: object) -> object:
    """Return the parts of a content that was written as JSON, else the content."""
    parts = parse_json(content) if isinstance(content, str) and _PARTS.match(content) else None
    if not isinstance(parts, list):
        return content
    typed = all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts)
    return parts if typed and any("text" in part for part in parts) else content


def _text_of_part(part: Item) -> str:
    """Return the text of a part of a message, a file's too; what a model thought is no text."""
    if _is_thought(part.get("message_content.type", part.get("type"))):
        return ""
    for key in ("message_content.text", "text", "message_content.document.document.content"):
        text = part.get(key)
        if isinstance(text, str):
            return text
    return ""


def _is_thought(kind: object) -> bool:
    return isinstance(kind, str) and kind in _THOUGHTS


def _named_lists(item: Item, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return ``names`` if an item has any of these lists: few messages do."""
    return names if any(key.startswith(names) for key in item) else ()


def tool_calls_of(item: Item) -> list[object]:
    """Return the tool calls of a flattened message, as JSON data (name and arguments)."""
    calls: list[object] = []
    for name in _named_lists(item, ("message.tool_calls", "tool_calls")):
        calls.extend(
            {
                "name": call.get("tool_call.function.name", call.get("function.name")),
                "arguments": call.get(
                    "tool_call.function.arguments", call.get("function.arguments")
                ),
            }
            for call in sub_items(item, name)
        )
    function = item.get("message.function_call_name")
    arguments = item.get("message.function_call_arguments_json")
    if function or arguments:
        calls.append({"name": function, "arguments": arguments})
    return calls


def content_text(content: object, depth: int = 0) -> str:
    """Return the text of a message content: a string, or parts with ``text`` or ``content``."""
    if isinstance(content, str):
        return content
    if depth > MAX_DEPTH:
        return ""
    if isinstance(content, (list, tuple)):
        return "\n".join(filter(None, (content_text(part, depth + 1) for part in content)))
    if isinstance(content, Mapping):
        if _is_thought(content.get("type")):
            return ""
        for key in ("text", "content", "blocks", "parts"):
            if content.get(key) is not None:
                return content_text(content[key], depth + 1)
    return ""


def messages_in(data: object, depth: int = 0) -> tuple[Message, ...] | None:  # noqa: PLR0911  one return per known shape
    """Return the chat messages that JSON data holds, ``None`` when it holds none."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(data, dict):
        for key in _MESSAGE_LIST_KEYS:
            value = data.get(key)
            if isinstance(value, str) and key in _PROMPT_KEYS:
                data_in_text = parse_json(value) if key == "messages" else None
                return messages_in(data_in_text, depth + 1) or (Message("user", value),)
            if value and isinstance(value, (list, tuple, dict)):
                found = messages_in(value, depth + 1)
                if found:
                    return found
        args = data.get("args")
        if isinstance(args, list) and len(args) == 1 and isinstance(args[0], str):
            return (Message("user", args[0]),)
        return None
    if not isinstance(data, (list, tuple)) or not data:
        return None
    if len(data) == 1 and isinstance(data[0], list) and not _is_pair(data[0]):
        return messages_in(data[0], depth + 1)
    messages = [message_in(element) for element in data]
    found = tuple(message for message in messages if message is not None)
    return found if found and len(found) == len(messages) else None


def message_in(element: object) -> Message | None:  # noqa: PLR0911  one return per known shape
    """Return one message of JSON data, ``None`` when it is none.

    Known are ``{"role", "content"}``, LangChain's ``{"type", "content"}`` and serialized
    constructors, ``["user", "text"]`` pairs and Python reprs. Other strings are prompts.
    """
    if isinstance(element, str):
        text = message_text(element)
        if text is not None:
            return Message(normal_role(message_role(element)), text)
        return Message("user", element)
    if isinstance(element, (list, tuple)):
        pair = _is_pair(element)
        return Message(normal_role(element[0]), str(element[1])) if pair else None
    if not isinstance(element, dict):
        return None
    inner = element.get("kwargs", element.get("data"))
    if isinstance(inner, dict) and "content" in inner:
        kind = inner.get("type", element.get("type"))
        identifier = element.get("id")
        if kind in {None, "constructor"} and isinstance(identifier, list) and identifier:
            kind = identifier[-1]
        return Message(normal_role(inner.get("role", kind)), content_text(inner["content"]))
    role = element.get("role", element.get("_role", element.get("type")))
    if role is None or not ({"content", "blocks", "parts", "_content", "text"} & element.keys()):
        return None
    content = next(
        (
            element[key]
            for key in ("content", "blocks", "parts", "_content", "text")
            if key in element
        ),
        "",
    )
    return Message(normal_role(role), content_text(content))


def _is_pair(element: Sequence[object]) -> bool:
    """Tell whether a list is a role and a text."""
    known = {"system", "user", "assistant", "tool"}
    return (
        len(element) == 2  # noqa: PLR2004  a role and a text
        and all(isinstance(part, str) for part in element)
        and normal_role(element[0]) in known
    )


def responses_in(data: object, depth: int = 0) -> tuple[str, ...]:
    """Return the texts that an LLM response in JSON holds, first choice first."""
    if depth > MAX_DEPTH:
        return ()
    if isinstance(data, str):
        text = message_text(data)
        return (data if text is None else text,) if data.strip() else ()
    if isinstance(data, (list, tuple)):
        return tuple(text for element in data for text in responses_in(element, depth + 1))
    if isinstance(data, dict):
        for key in _RESPONSE_KEYS:
            if data.get(key) is not None:
                texts = responses_in(data[key], depth + 1)
                if texts:
                    return texts
    return ()


def finish_reason_in(data: object, depth: int = 0) -> str | None:
    """Return the finish reason that an LLM response in JSON names, or a message's repr in it."""
    keys = ("finish_reason", "stop_reason", "finishReason", "done_reason")
    pending: list[tuple[object, int]] = [(data, depth)]
    while pending:
        value, level = pending.pop(0)
        if isinstance(value, dict):
            for key in keys:
                if isinstance(value.get(key), str):
                    return str(value[key])
            children: Sequence[object] = list(value.values())
        elif isinstance(value, (list, tuple)):
            children = value[:8]
        else:
            reason = finish_reason(value) if isinstance(value, str) else None
            if reason is not None:
                return reason
            continue
        if level < 8:  # noqa: PLR2004  no response nests its reason deeper
            pending.extend((child, level + 1) for child in children)
    return None


def without_speaker(text: str) -> str:
    """Return an output without the ``assistant:`` that LlamaIndex puts before it."""
    return _SPEAKER.sub("", text, count=1)
