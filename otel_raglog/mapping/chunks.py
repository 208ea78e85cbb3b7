"""Lists of chunks to what they share: the same chunks, a part of them, their union."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from otel_raglog.mapping.texts import squeezed
from otel_raglog.model import Chunk, Field, FieldStatus

Key = tuple[str, str]

_TELLING_WORDS = 4


def keys_of(chunk: Chunk, unsure: Collection[str] = ()) -> tuple[Key, ...]:
    """Return what identifies a chunk: its id and its text, each if known.

    An id of ``unsure`` (:func:`ids_of_several`) identifies only a chunk without a text.
    """
    keys: list[Key] = []
    text = squeezed(chunk.text)
    if chunk.id is not None and not (text and chunk.id in unsure):
        keys.append(("id", chunk.id))
    if text:
        keys.append(("text", text))
    return tuple(keys)


def ids_of_several(lists: Iterable[Sequence[Chunk]]) -> frozenset[str]:
    """Return the ids under which several texts were found, none a part of the other.

    Tools that number the results of every search anew give the same ids to other chunks.
    """
    texts: dict[str, str] = {}
    found: set[str] = set()
    for chunks in lists:
        for chunk in chunks:
            if chunk.id is None or not chunk.text.strip():
                continue
            other = texts.setdefault(chunk.id, chunk.text)
            if other != chunk.text and not _is_nested(squeezed(chunk.text), squeezed(other)):
                found.add(chunk.id)
    return frozenset(found)


def _is_nested(text: str, other: str) -> bool:
    return text in other or other in text


def positions(chunks: Sequence[Chunk], unsure: Collection[str] = ()) -> dict[Key, int]:
    """Return the first position of each key."""
    found: dict[Key, int] = {}
    for index, chunk in enumerate(chunks):
        for key in keys_of(chunk, unsure):
            found.setdefault(key, index)
    return found


def places(
    chunks: Sequence[Chunk], others: Sequence[Chunk], unsure: Collection[str] = ()
) -> tuple[int | None, ...]:
    """Return, for each of ``chunks``, its position in ``others``; ``None`` if it is not there."""
    known = positions(others, unsure)
    return tuple(
        next((known[key] for key in keys_of(chunk, unsure) if key in known), None)
        for chunk in chunks
    )


def is_same(chunks: Sequence[Chunk], others: Sequence[Chunk]) -> bool:
    """Tell whether both are the same chunks in the same order."""
    return len(chunks) == len(others) and places(chunks, others) == tuple(range(len(others)))


def is_shortened(chunks: Sequence[Chunk], others: Sequence[Chunk]) -> bool:
    """Tell whether chunks are the same, one by one, but for texts that are parts of the others."""
    pairs = [(squeezed(c.text), squeezed(o.text)) for c, o in zip(chunks, others, strict=False)]
    changed = [(text, other) for text, other in pairs if text and other and text != other]
    return bool(changed) and all(text in other for text, other in changed)


def is_part(chunks: Sequence[Chunk], others: Sequence[Chunk], unsure: Collection[str] = ()) -> bool:
    """Tell whether every one of ``chunks`` is among ``others``."""
    return all(place is not None for place in places(chunks, others, unsure))


def is_extract(chunks: Sequence[Chunk], others: Sequence[Chunk]) -> bool:
    """Tell whether every one of ``chunks`` is, or is cut out of, one of ``others``."""
    texts = [squeezed(other.text) for other in others]
    return bool(chunks) and all(
        place is not None or (bool(chunk.text) and any(squeezed(chunk.text) in t for t in texts))
        for chunk, place in zip(chunks, places(chunks, others), strict=True)
    )


def union(lists: Iterable[Sequence[Chunk]]) -> tuple[Chunk, ...]:
    """Return all chunks of several lists once, in order of first appearance.

    Chunks of one id whose texts are not the same, whole or in part, are several chunks.
    """
    lists = list(lists)
    found = [chunk for chunks in lists for chunk in chunks]
    if _differ_at_once(found):
        return tuple(found)
    unsure = ids_of_several(lists)
    seen: set[Key] = set()
    kept: list[Chunk] = []
    for chunks in lists:
        for chunk in chunks:
            keys = keys_of(chunk, unsure)
            if not keys or seen.isdisjoint(keys):
                kept.append(chunk)
            seen.update(keys)
    return tuple(kept)


def _differ_at_once(chunks: Sequence[Chunk]) -> bool:
    """Tell whether no two chunks have the same id, nor texts with the same first words."""
    ids = [chunk.id for chunk in chunks if chunk.id is not None]
    words = [tuple(chunk.text.split(maxsplit=_TELLING_WORDS)[:_TELLING_WORDS]) for chunk in chunks]
    return len(set(ids)) == len(ids) and len(set(words)) == len(words)


def known_by_id(lists: Iterable[Sequence[Chunk]], unsure: Collection[str] = ()) -> dict[str, Chunk]:
    """Return, by id, the first chunk of that id that has a text, else whose text was lost.

    Ids of ``unsure`` are left out: nothing tells which of their texts is meant.
    """
    found: dict[str, Chunk] = {}
    lost: dict[str, Chunk] = {}
    for chunks in lists:
        for chunk in chunks:
            if chunk.id is None or chunk.id in unsure:
                continue
            if chunk.text:
                found.setdefault(chunk.id, chunk)
            elif chunk.text_status is not FieldStatus.NOT_CAPTURED:
                lost.setdefault(chunk.id, chunk)
    return {**lost, **found}


def known_by_text(lists: Iterable[Sequence[Chunk]]) -> dict[str, Chunk]:
    """Return, by text, the first chunk of that text that has an id."""
    found: dict[str, Chunk] = {}
    for chunks in lists:
        for chunk in chunks:
            if chunk.id is not None and chunk.text:
                found.setdefault(squeezed(chunk.text), chunk)
    return found


def completed(
    chunks: Field[tuple[Chunk, ...]], by_id: Mapping[str, Chunk], by_text: Mapping[str, Chunk]
) -> Field[tuple[Chunk, ...]]:
    """Return chunks with the texts and ids that other steps of the run recorded for them."""
    if not chunks.value or not any(map(_lacks, chunks.value)):
        return chunks
    return replace(chunks, value=tuple(_completed(chunk, by_id, by_text) for chunk in chunks.value))


def _lacks(chunk: Chunk) -> bool:
    """Tell whether another step may know more of a chunk: its text, or its id."""
    return not chunk.text or chunk.id is None


def _completed(chunk: Chunk, by_id: Mapping[str, Chunk], by_text: Mapping[str, Chunk]) -> Chunk:
    other = by_id.get(chunk.id) if chunk.id is not None else None
    if other is not None and not chunk.text and chunk.text_status is FieldStatus.NOT_CAPTURED:
        return replace(
            chunk,
            text=other.text,
            text_status=other.text_status,
            title=chunk.title or other.title,
            metadata=chunk.metadata or other.metadata,
        )
    if chunk.id is None and chunk.text:
        twin = by_text.get(squeezed(chunk.text))
        return replace(chunk, id=twin.id) if twin else chunk
    return chunk
