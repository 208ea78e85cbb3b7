"""Lists of chunks to what they share: the same chunks, a part of them, their union."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from otel_raglog.mapping.texts import squeezed, without_markup
from otel_raglog.model import Chunk, Field, FieldStatus

Key = tuple[str, str]

_TELLING_WORDS = 4
_NUMBER = re.compile(r"(?:[a-z]{0,12}[ _#:.-]?)?\d{1,3}", re.IGNORECASE)
"""An id that may be a place in a list (``0``, ``doc_3``), and another chunk's in the next one."""

_WORD = re.compile(r"\w{4,}")
_SAME_SHARE = 0.8
"""Of the shorter text's words, from which on texts of one id are versions of one chunk."""

_FEWEST_WORDS = 3
"""Of a text all of whose words another has, below which that may be chance."""


def says_same(chunk: Chunk, other: Chunk) -> bool:
    """Tell whether two chunks of one id are one, as far as their texts tell.

    One text may be a part of the other, or its wording changed (compressed, highlighted). An id
    that may be a mere number proves nothing: then one text must hold the other, or all its
    words (a snippet). Where a text was not recorded, the id decides.
    """
    if chunk.text == other.text:
        return True
    text, known = squeezed(chunk.text), squeezed(other.text)
    if text in known or known in text:
        return True
    shorter, longer = sorted((_words(text), _words(known)), key=len)
    if chunk.id is not None and _NUMBER.fullmatch(chunk.id):
        return len(shorter) >= _FEWEST_WORDS and shorter <= longer
    return bool(shorter) and len(shorter & longer) >= _SAME_SHARE * len(shorter)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(without_markup(text).casefold()))


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
    """Return the ids under which several texts were found that are not one chunk's.

    Tools that number the results of every search anew give the same ids to other chunks; and
    the id of a document stands on each of its chunks, of which one list can hold several.
    """
    first: dict[str, Chunk] = {}
    found: set[str] = set()
    for chunks in lists:
        found.update(_ids_twice_in(chunks))
        for chunk in chunks:
            if chunk.id is None or chunk.id in found or not chunk.text.strip():
                continue
            if not says_same(chunk, first.setdefault(chunk.id, chunk)):
                found.add(chunk.id)
    return frozenset(found)


def _ids_twice_in(chunks: Sequence[Chunk]) -> Iterator[str]:
    """Yield the ids that one list has with two texts, neither of which is a part of the other."""
    texts: dict[str, str] = {}
    for chunk in chunks:
        if chunk.id is None or not chunk.text.strip():
            continue
        first = texts.setdefault(chunk.id, chunk.text)
        if first == chunk.text:
            continue
        text, known = squeezed(chunk.text), squeezed(first)
        if text not in known and known not in text:
            yield chunk.id


def places(chunks: Sequence[Chunk], others: Sequence[Chunk]) -> tuple[int | None, ...]:
    """Return, for each of ``chunks``, its position in ``others``; ``None`` if it is not there.

    It is where the very same text is, under the same id if there is one, else where the same id
    has another version of it (:func:`says_same`).
    """
    by_id: dict[str, list[int]] = {}
    by_text: dict[str, int] = {}
    for index, other in enumerate(others):
        if other.id is not None:
            by_id.setdefault(other.id, []).append(index)
        text = squeezed(other.text)
        if text:
            by_text.setdefault(text, index)

    several = frozenset(_ids_twice_in(others))

    def place(chunk: Chunk) -> int | None:
        same_id = by_id.get(chunk.id, []) if chunk.id is not None else []
        text = squeezed(chunk.text)
        exact = (index for index in same_id if squeezed(others[index].text) == text)
        found = next(exact, None)
        if found is None and text:
            found = by_text.get(text)
        if found is None and chunk.id not in several:
            found = next((index for index in same_id if says_same(chunk, others[index])), None)
        return found

    return tuple(place(chunk) for chunk in chunks)


def is_same(chunks: Sequence[Chunk], others: Sequence[Chunk]) -> bool:
    """Tell whether both are the same chunks in the same order."""
    return len(chunks) == len(others) and places(chunks, others) == tuple(range(len(others)))


def is_shortened(chunks: Sequence[Chunk], others: Sequence[Chunk]) -> bool:
    """Tell whether chunks are the same, one by one, but for texts that are parts of the others."""
    pairs = [(squeezed(c.text), squeezed(o.text)) for c, o in zip(chunks, others, strict=False)]
    changed = [(text, other) for text, other in pairs if text and other and text != other]
    return bool(changed) and all(text in other for text, other in changed)


def is_part(chunks: Sequence[Chunk], others: Sequence[Chunk]) -> bool:
    """Tell whether every one of ``chunks`` is among ``others``."""
    return all(place is not None for place in places(chunks, others))


def is_extract(chunks: Sequence[Chunk], others: Sequence[Chunk]) -> bool:
    """Tell whether every one of ``chunks`` is, or is cut out of, one of ``others``."""
    texts = [squeezed(other.text) for other in others]
    return bool(chunks) and all(
        place is not None or (bool(chunk.text) and any(squeezed(chunk.text) in t for t in texts))
        for chunk, place in zip(chunks, places(chunks, others), strict=True)
    )


def union(lists: Iterable[Sequence[Chunk]]) -> tuple[Chunk, ...]:
    """Return all chunks of several lists once, in order of first appearance.

    Chunks of one id whose texts are not one chunk's (:func:`says_same`) are several chunks.
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
