"""Python reprs of messages and documents, as some instrumentors write them, to their parts."""

from __future__ import annotations

import ast
import re
import warnings

MAX_REPR_CHARS = 200_000
"""Longer texts are not looked into."""

_MESSAGES = ("ChatMessage(", "GeneratedAnswer(", "content=", "AIMessage(", "ToolMessage(")
"""Beginnings of the reprs of messages."""

_LITERAL = r"(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_MESSAGE = re.compile(
    r"(?:TextContent\(text=|TextBlock\([^()]{0,80}?\btext=|GeneratedAnswer\(data=|"
    r"^(?:\w*Message\()?content=)" + _LITERAL,
    re.DOTALL,
)
_ROLE = re.compile(r"^ChatMessage\(_?role=<?(?:\w+Role\.)?(?P<role>\w+)", re.IGNORECASE)
_META = re.compile(
    r"(?:\b_?meta|\bresponse_metadata|\bgeneration_info|\badditional_kwargs)=\{", re.IGNORECASE
)
_FINISH = re.compile(
    r"['\"](?:finish_reason|stop_reason|finishReason|done_reason)['\"]: ?['\"](?P<reason>\w+)['\"]"
)
_NODE = re.compile(
    r"^<?NodeWithScore\(node=\w+\(id_=['\"]?(?P<id>[^,)'\"]+)['\"]?.*?"
    r"score=(?P<score>None|[-+0-9.eE]+)\)>?",
    re.DOTALL,
)
_DOCUMENT = re.compile(
    r"^Document\(id=(?P<id>[^,()]+),.*?(?:, score: (?P<score>[-+0-9.eE]+))?"
    r"(?:, embedding: [^()]*)?(?:, sparse_embedding: [^()]*)?\)$",
    re.DOTALL,
)


def message_text(text: str) -> str | None:
    """Return the text in the repr of a chat message, ``None`` when ``text`` is none.

    Known are those of LlamaIndex, Haystack (also its generated answers) and LangChain.
    """
    matches = _message_parts(text)
    if not matches:
        return None
    return "\n".join(filter(None, (_literal(match["text"]) for match in matches)))


def _message_parts(text: str) -> list[re.Match[str]]:
    if len(text) > MAX_REPR_CHARS or not text.startswith(_MESSAGES):
        return []
    return list(_MESSAGE.finditer(text))


def message_role(text: str) -> str | None:
    """Return the role that the repr of a chat message names, if any."""
    match = _ROLE.match(text)
    return match["role"] if match else None


def finish_reason(text: str) -> str | None:
    """Return the finish reason in the metadata of the repr of a chat message, if any.

    Metadata follow the text in such a repr, so that a text that speaks of reasons says nothing.
    """
    matches = _message_parts(text)
    if not matches:
        return None
    meta = _META.search(text, matches[-1].end())
    found = _FINISH.search(text, meta.end()) if meta else None
    return found["reason"] if found else None


def document_parts(text: str) -> tuple[str, str | None] | None:
    """Return id and score (as text) of the repr of a node or document, else ``None``.

    The text in such a repr may be shortened, so it is not taken.
    """
    if len(text) > MAX_REPR_CHARS:
        return None
    match = _NODE.match(text) or _DOCUMENT.match(text)
    return (match["id"], match["score"]) if match else None


def _literal(text: str) -> str:
    """Return the text that a literal stands for, without an escape what is between its quotes."""
    if "\\" not in text:
        return text[1:-1]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value: object = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text[1:-1]
    return value if isinstance(value, str) else text[1:-1]
