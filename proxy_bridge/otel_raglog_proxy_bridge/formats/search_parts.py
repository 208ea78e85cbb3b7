"""Parts that the requests of search services share: texts, vectors, counts, filters, batches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from otel_raglog_proxy_bridge.formats.fields import at, count, items, number, text, vector
from otel_raglog_proxy_bridge.model import Document, Search, Vector
from otel_raglog_proxy_bridge.parsing import parse_json


def text_in(data: object, *names: str) -> str | None:
    """Return the first text under one of ``names`` that is not blank, nor the ``*`` for all."""
    for key in names:
        found = text(data, key)
        if found is not None and found.strip() not in {"", "*"}:
            return found
    return None


def count_in(data: object, *names: str) -> int | None:
    """Return the first whole number under one of ``names``; query strings write it as a text."""
    for key in names:
        found = at(data, key)
        if isinstance(found, str) and found.isdecimal() and len(found) < 10:  # noqa: PLR2004
            return int(found)
        if (counted := count(found)) is not None:
            return counted
    return None


def score_in(data: object, *names: str) -> float | None:
    """Return the first number under one of ``names``; some services write it as a text."""
    for key in names:
        found = at(data, key)
        if isinstance(found, str):
            try:
                found = float(found)
            except ValueError:
                continue
        if (scored := number(found)) is not None:
            return scored
    return None


def filter_in(data: object, *names: str) -> object:
    """Return what is under the first of ``names`` that holds more than nothing."""
    for key in names:
        found = at(data, key)
        if found not in (None, "", [], {}):
            return found
    return None


def dense(data: object, *keys: str | int) -> Vector | None:
    """Return the list of numbers at ``keys``, also if it is written as a text: ``[0.1, 0.2]``.

    Other texts are none: where a query may be a text or a vector, it could be read as base64.
    """
    found = at(data, *keys)
    if isinstance(found, str):
        found = parse_json(found) if found.lstrip().startswith("[") else None
    return vector(found) if isinstance(found, list) else None


def query_of(data: object) -> Search:
    """Return the query that a text or a list of numbers is."""
    return Search(query=text_in({"query": data}, "query"), vector=dense(data))


def several(data: object) -> tuple[Search, ...]:
    """Return a query for each text or list of numbers in a list; one vector is one query."""
    if (one := dense(data)) is not None:
        return (Search(vector=one),)
    return tuple(query_of(item) for item in items(data))


def merged(queries: Iterable[Search]) -> Search:
    """Return the first text and the first vector: hybrid searches ask the same in two ways."""
    words = meaning = None
    for query in queries:
        words = words or query.query
        meaning = meaning or query.vector
    return Search(query=words, vector=meaning)


def answered(queries: Sequence[Search], hits: Sequence[tuple[Document, ...]]) -> tuple[Search, ...]:
    """Return a search for each query with its hits, none where the answer is too short.

    A request that tells no query, because it was cut, has one for each list of hits.
    """
    known = queries or [Search()] * len(hits)
    padded = [*hits, *[()] * len(known)]
    return tuple(
        replace(query, documents=found) for query, found in zip(known, padded, strict=False)
    )
