"""JSON data of a front's own making to the texts in it: by names, whatever way they are written."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence

from otel_raglog_proxy_bridge.formats.fields import Json, at, items, text

DEEPEST = 7
_LONGEST_NAME = 60
_NO_LETTER = re.compile(r"[^a-z0-9]+")
_USERS = frozenset({"user", "human", "humanmessage", "humanmessagechunk", "customer", "visitor"})
_ASSISTANTS = frozenset(
    {
        "assistant", "ai", "aimessage", "aimessagechunk", "bot", "model", "agent", "chatbot",
        "machine", "assistantmessage",
    }
)  # fmt: skip
_OTHERS = frozenset(
    {"system", "developer", "tool", "function", "toolmessage", "systemmessage", "systemprompt"}
)
_ROLE_KEYS = ("role", "sender", "author", "from", "speaker", "type")
_NO_TEXT_PARTS = (
    "image", "audio", "video", "file", "document", "source", "tool", "function", "reason", "think",
    "redact", "refusal", "data", "step", "citation",
)  # fmt: skip
_TEXTS = ("text", "content", "parts", "message", "body", "value")
_ASIDE = (
    "source", "context", "citation", "reference", "document", "retriev", "chunk", "passage",
    "metadata", "history", "chathistory", "reason", "think", "thought", "suggest", "followup",
    "related", "title", "usage", "log", "step", "intermediate", "tool", "function", "error",
    "detail", "config", "setting", "option", "session", "header", "memory", "hit", "match",
    "grounding", "debug", "trace", "timing", "filter", "model", "system", "attachment", "file",
    "evaluation", "nodes", "warning", "previous", "example", "schema", "requestcontext",
)  # fmt: skip
"""How names begin under which there is something else than a question or an answer."""


def plain_name(key: object) -> str:
    """Return a key as it is compared: ``user_query``, ``userQuery`` and ``User-Query`` are one."""
    return _plain(key[:_LONGEST_NAME]) if isinstance(key, str) else ""


@functools.lru_cache(maxsize=4096)  # a stream's events have the same names again and again
def _plain(key: str) -> str:
    return _NO_LETTER.sub("", key.lower())


def by_names(data: Json) -> dict[str, object]:
    """Return an object by its plain names; of several that are alike the first counts."""
    found: dict[str, object] = {}
    for key, value in data.items():
        found.setdefault(plain_name(key), value)
    return found


def is_aside(name: str) -> bool:
    """Whether under a plain name stands something else than a question or an answer."""
    return name.startswith(_ASIDE)


def role_of(message: object) -> str:
    """Return ``user``, ``assistant``, ``other``, or "" where a message does not tell."""
    if isinstance(message, Mapping):
        told: Iterable[object] = (message.get(key) for key in _ROLE_KEYS)
        told = [*told, at(message, "author", "role"), at(message, "id", -1)]
    else:
        told = [at(message, 0)] if len(items(message)) == 2 else []  # noqa: PLR2004  a pair
    for value in told:
        name = plain_name(value)
        if name in _USERS:
            return "user"
        if name in _ASSISTANTS:
            return "assistant"
        if name in _OTHERS:
            return "other"
    return ""


def text_of(value: object, deep: int = 0) -> str:
    """Return the text of a message, of its content, or of the parts of that.

    Images, reasoning, sources and calls of tools are no text.
    """
    if isinstance(value, str):
        return value
    if deep > DEEPEST:
        return ""
    if isinstance(value, Mapping):
        if plain_name(value.get("type") or value.get("kind")).startswith(_NO_TEXT_PARTS):
            return ""
        inner = value.get("kwargs") if value.get("lc") else None  # serialised by LangChain
        if isinstance(inner, Mapping):
            return text_of(inner, deep + 1)
        return next((said for key in _TEXTS if (said := text_of(value.get(key), deep + 1))), "")
    parts = [text_of(part, deep + 1) for part in items(value) if is_part(part)]
    joined = "".join if _are_pieces(value) else "\n".join
    return joined(part for part in parts if part)


def is_part(value: object) -> bool:
    """Whether ``value`` is a part of a message's content, not a message or a document."""
    if isinstance(value, str):
        return True
    if not isinstance(value, Mapping) or role_of(value):
        return False
    return isinstance(value.get("type") or value.get("kind"), str) or set(value) == {"text"}


def _are_pieces(value: object) -> bool:
    """Whether a list's texts are one text that a model gave in pieces."""
    return all(isinstance(item, str) for item in items(value))


def are_messages(data: object) -> bool:
    """Whether ``data`` is a list of messages of which one tells who speaks."""
    listed = items(data)
    return any(role_of(item) for item in listed)


def said_by(message: object) -> str:
    """Return what a message says, of one that is a pair of speaker and text too."""
    if isinstance(message, Mapping):
        return text_of(message)
    return text(message, 1) or ""


def last_question(messages: Sequence[object]) -> str:
    """Return what the user said last."""
    for message in reversed(messages):
        if role_of(message) == "user" and (said := said_by(message).strip()):
            return said
    return ""


def last_answer(messages: Sequence[object]) -> str:
    """Return what the assistant said last, unless the user has spoken since."""
    for message in reversed(messages):
        role = role_of(message)
        if role == "user":
            return ""
        if role == "assistant" and (said := said_by(message).strip()):
            return said
    return ""


def inside(value: object) -> object:
    """Return the JSON in a text that is a whole object or list, anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        try:
            found: object = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return found
    return value
