"""What frameworks wrap around the input and output of a step in OpenLLMetry, and cut JSON."""

from __future__ import annotations

import json
import re

_LANGCHAIN = frozenset({"inputs", "outputs", "output", "query", "input_str"})
_BESIDE = frozenset({"tags", "metadata", "kwargs"})
_ANSWER = frozenset({"response", "metadata", "source_nodes", "sources", "is_dummy_stream"})
_ASKED = re.compile(
    r'\s*(?:\{\s*"\w+"\s*:\s*){0,2}\{\s*"(?:question|query|input|user_\w+|messages|chat_history)"'
)
_FIRST_TEXT = re.compile(r'\s*(?:\{\s*"(?:\w+)"\s*:\s*){0,3}"((?:[^"\\]|\\.)*)("?)', re.DOTALL)


def without_wrapping(data: object) -> object:
    """Return what a step was given or gave back, without the call around it.

    LangChain's ``{"inputs": ..., "tags": ..., "metadata": ..., "kwargs": ...}`` and the
    ``{"args": [...], "kwargs": {...}}`` of decorated functions.
    """
    if not isinstance(data, dict):
        return data
    own = data.keys() - _BESIDE
    if own and own <= _LANGCHAIN and own != data.keys():
        for key in ("inputs", "outputs", "output"):
            if data.get(key) is not None:
                return data[key]
        return {key: data[key] for key in data if key in own}
    if data.keys() == {"args", "kwargs"}:
        args, kwargs = data["args"], data["kwargs"]
        if isinstance(args, list) and len(args) == 1 and not kwargs:
            return args[0]
        if not args and isinstance(kwargs, dict) and kwargs:
            return kwargs
    return data


def answer_of(data: object) -> str | None:
    """Return the answer in a response of LlamaIndex, from which its sources were taken out."""
    if not isinstance(data, dict) or not data.keys() <= _ANSWER:
        return None
    answer = data.get("response")
    return answer if isinstance(answer, str) and len(data) > 1 else None


def unquoted(text: str) -> str | None:
    """Return a text that was written as JSON, ``None`` when it was not."""
    stripped = text.strip()
    if len(stripped) < 2 or not (stripped.startswith('"') and stripped.endswith('"')):  # noqa: PLR2004  two quotes
        return None
    try:
        value: object = json.loads(stripped)
    except ValueError:
        return None
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else None


def beginning_of_text(text: str, *, spoken: bool = True) -> tuple[str, bool]:
    """Return the text with which cut JSON begins, and whether it is whole; else an empty one.

    An output (not ``spoken``) that begins with what was asked is a whole state: the answer in it
    is lost.
    """
    match = _FIRST_TEXT.match(text)
    if match is None or not match[1] or (not spoken and _ASKED.match(text)):
        return "", False
    found = unquoted(f'"{match[1]}"')
    return (found or "", bool(match[2])) if found else ("", False)
