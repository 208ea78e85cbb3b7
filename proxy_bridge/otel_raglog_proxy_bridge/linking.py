"""What a call was given and what it gave, so that calls of one question find each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import mul

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
from otel_raglog_proxy_bridge.text_pieces import (
    Shown,
    beginning,
    is_long,
    parts_of,
    plain,
    shown,
)

_COMPARED_COMPONENTS = 64
_LONGEST_LAST = 20_000
_ID = "\0"
"""Before an id, so that it is no text."""
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
    All texts are plain. ``shown`` is ``seen`` to look in; ``parts`` and ``said_parts`` are what may
    be a question in the last message and in what was said.
    """

    asked: tuple[str, ...] = ()
    sent_vectors: tuple[Vector, ...] = ()
    made_vectors: tuple[Vector, ...] = ()
    seen: str = ""
    last_seen: str = ""
    said: str = ""
    found: tuple[Document, ...] = ()
    given: tuple[Document, ...] = ()
    shown: Shown = field(default_factory=Shown)
    parts: frozenset[str] = frozenset()
    said_parts: frozenset[str] = frozenset()


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
    seen = plain("\n".join(told))
    said = "\n".join([reading.answer or "", *calls])
    return Ties(
        seen=seen,
        last_seen=plain(last if len(last) <= _LONGEST_LAST else last[-_LONGEST_LAST:]),
        said=plain(said),
        found=reading.retrieved,
        given=reading.documents,
        shown=shown(seen),
        parts=parts_of(last),
        said_parts=parts_of(said),
    )


@dataclass(frozen=True, slots=True)
class Direction:
    """Where a vector points: its first components, of length 1 where they have a length."""

    size: int
    components: Vector


def direction_of(made: Vector) -> Direction:
    """Return where ``made`` points."""
    first = made[:_COMPARED_COMPONENTS]
    length = math.hypot(*first)
    if length and math.isfinite(length):
        first = tuple(component / length for component in first)
    return Direction(len(made), first)


def closeness(one: Direction, other: Direction) -> float:
    """Return how close two directions are, 0 where they are not of one vector.

    Vectors of different sizes are compared when both have enough components: some models let
    clients cut their vectors.
    """
    if one.size != other.size and min(one.size, other.size) < _COMPARED_COMPONENTS:
        return 0.0
    cosine: float = sum(map(mul, one.components, other.components))
    if cosine >= _SAME_DIRECTION:
        return cosine
    return 1.0 if one.components == other.components else 0.0


def same_vector(one: Vector, other: Vector) -> bool:
    """Whether two vectors point the same way; their first components are compared."""
    return closeness(direction_of(one), direction_of(other)) > 0


def documents_in(text: str, documents: Iterable[Document]) -> int:
    """Return how many of ``documents`` have their text in the plain ``text``."""
    return sum(is_in(text, document.text) for document in documents)


def is_in(text: str, part: str | None) -> bool:
    """Whether the plain ``text`` has the beginning of ``part``; short parts tell nothing."""
    if not part:
        return False
    begun = beginning(part)
    return is_long(begun) and begun in text


def keys_of(document: Document) -> Iterator[str]:
    """Yield by what ``document`` is known again: the beginning of its text, then its id.

    Where a text is known it decides: the first key is the one to look for.
    """
    if document.text:
        yield beginning(document.text)
    if document.id:
        yield f"{_ID}{document.id}"


def words_shared(part: str, whole: str) -> float:
    """Return the share of the words of ``part`` that are in ``whole``, both plain."""
    words = part.split()
    known = set(whole.split())
    return sum(word in known for word in words) / len(words) if words else 0.0


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
