"""What a call was given and what it gave, so that calls of one question find each other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from otel_raglog_proxy_bridge.formats.fields import vector
from otel_raglog_proxy_bridge.model import (
    Document,
    EmbedderReading,
    LlmReading,
    Reading,
    RerankerReading,
    RetrieverReading,
    Vector,
)

_FEWEST_CHARACTERS = 12
_COMPARED_CHARACTERS = 160
_COMPARED_COMPONENTS = 64
_FEWEST_COMPONENTS = 8
_MOST_STORED = 4
_DEEPEST = 6
_SAME_DIRECTION = 0.9995
"""Cosine from which two vectors are one: clients round, and some normalise."""


@dataclass(frozen=True, slots=True)
class Ties:
    """The texts and vectors by which a call hangs together with others.

    ``asked`` are the texts that it asks about: what is embedded, searched for, or ranked against.
    ``sent_vectors`` are those searched with, ``made_vectors`` those that it answered with.
    ``seen`` is all text that a model was shown, ``said`` what it answered, tool arguments
    included. ``found`` are the documents that it answered with, ``given`` those sent along.
    All texts are :func:`plain`.
    """

    asked: tuple[str, ...] = ()
    sent_vectors: tuple[Vector, ...] = ()
    made_vectors: tuple[Vector, ...] = ()
    seen: str = ""
    last_seen: str = ""
    said: str = ""
    found: tuple[Document, ...] = ()
    given: tuple[Document, ...] = ()


def plain(text: str) -> str:
    """Return ``text`` in lower case with single spaces."""
    return " ".join(text.split()).lower()


def ties_of(reading: Reading) -> Ties:
    """Return the ties of a call."""
    match reading:
        case EmbedderReading():
            return Ties(
                asked=tuple(plain(text) for text in reading.inputs), made_vectors=reading.vectors
            )
        case RetrieverReading():
            searches = reading.searches
            return Ties(
                asked=tuple(plain(each.query) for each in searches if each.query),
                sent_vectors=tuple(each.vector for each in searches if each.vector),
                found=tuple(document for each in searches for document in each.documents),
            )
        case RerankerReading():
            return Ties(
                asked=(plain(reading.query),) if reading.query else (), given=reading.documents
            )
        case LlmReading():
            return _ties_of_llm(reading)


def _ties_of_llm(reading: LlmReading) -> Ties:
    told = [
        *(message.content for message in reading.messages),
        *(call.arguments for message in reading.messages for call in message.tool_calls),
    ]
    last = next((m.content for m in reversed(reading.messages) if m.role == "user"), "")
    calls = (f"{call.name} {call.arguments}" for call in reading.tool_calls)
    return Ties(
        seen=plain("\n".join(told)),
        last_seen=plain(last),
        said=plain("\n".join([reading.answer or "", *calls])),
        found=reading.retrieved,
        given=reading.documents,
    )


def same_vector(one: Vector, other: Vector) -> bool:
    """Whether two vectors point the same way; their first components are compared."""
    if len(one) != len(other):
        return False
    left, right = one[:_COMPARED_COMPONENTS], other[:_COMPARED_COMPONENTS]
    norms = math.hypot(*left) * math.hypot(*right)
    if not norms or not math.isfinite(norms):
        return left == right
    return sum(a * b for a, b in zip(left, right, strict=True)) / norms >= _SAME_DIRECTION


def shares_vector(some: Iterable[Vector], others: Iterable[Vector]) -> bool:
    """Whether a vector of ``some`` is one of ``others``."""
    known = list(others)
    return any(same_vector(one, other) for one in some for other in known)


def documents_in(text: str, documents: Iterable[Document]) -> int:
    """Return how many of ``documents`` have their text in the plain ``text``."""
    return sum(is_in(text, document.text) for document in documents)


def is_in(text: str, part: str | None) -> bool:
    """Whether the plain ``text`` has the beginning of ``part``; short parts tell nothing."""
    if not part:
        return False
    begun = plain(part[: 2 * _COMPARED_CHARACTERS])[:_COMPARED_CHARACTERS]
    return len(begun) >= _FEWEST_CHARACTERS and begun in text


def shared_documents(some: Iterable[Document], others: Iterable[Document]) -> int:
    """Return how many of ``some`` are among ``others``, by text or else by id."""
    texts: set[str] = set()
    ids: set[str] = set()
    for document in others:
        if document.text:
            texts.add(_begin(document.text))
        if document.id:
            ids.add(document.id)
    return sum(
        _begin(document.text) in texts if document.text else document.id in ids for document in some
    )


def tells(text: str) -> bool:
    """Whether the plain ``text`` is long enough that finding it again means something."""
    return len(text) >= _FEWEST_CHARACTERS or text.count(" ") >= 2  # noqa: PLR2004  three words


def words_shared(part: str, whole: str) -> float:
    """Return the share of the words of ``part`` that are in ``whole``, both plain."""
    words = part.split()
    known = set(whole.split())
    return sum(word in known for word in words) / len(words) if words else 0.0


def _begin(text: str) -> str:
    return plain(text[: 2 * _COMPARED_CHARACTERS])[:_COMPARED_CHARACTERS]


def stored_vectors(data: object) -> tuple[Vector, ...]:
    """Return the first vectors in the JSON of a call that stores some, at any place in it."""
    found: list[Vector] = []
    _collect_vectors(data, found, _DEEPEST)
    return tuple(found)


def _collect_vectors(data: object, found: list[Vector], deep: int) -> None:
    if len(found) >= _MOST_STORED or not deep:
        return
    if isinstance(data, list) and len(data) >= _FEWEST_COMPONENTS and isinstance(data[0], float):
        made = vector(data)
        if made is not None:
            found.append(made)
    elif isinstance(data, list | dict):
        for item in data if isinstance(data, list) else data.values():
            _collect_vectors(item, found, deep - 1)
