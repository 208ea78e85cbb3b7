"""Inputs in JSON to the search text, the embedded texts and the number of results in them."""

from __future__ import annotations

import json
import re

from otel_raglog.conventions.json_text import as_count

_QUERY_KEYS = (
    "query",
    "query_str",
    "query_bundle",
    "str_or_query_bundle",
    "search_query",
    "question",
    "standalone_question",
    "queries",
    "input",
    "text",
    "q",
    "search_term",
    "keywords",
)
_WRITTEN_KEY = re.compile(
    r"quer(?:y|ies)|(?:^|_)q(?:uestions?)?$|search_terms?|keywords", re.IGNORECASE
)
_EMBEDDED_KEYS = ("query", "queries", "input", "inputs", "text", "texts", "content", "prompt")
_TOP_K_KEYS = ("top_k", "similarity_top_k", "k", "top_n", "n_results", "limit", "max_results")
_FILTER_KEYS = ("filters", "filter", "where", "metadata_filter")
_WRAPPERS = ("kwargs", "args", "input_data", "search_kwargs", "arguments", "data")
_ASKED_KEYS = (*_QUERY_KEYS, *_WRAPPERS)
_GIVEN_KEYS = (*_EMBEDDED_KEYS, *_WRAPPERS)
_TOP_K_NAMES = frozenset({*_TOP_K_KEYS, *_WRAPPERS})
_FILTER_NAMES = frozenset({*_FILTER_KEYS, *_WRAPPERS})
_MAX_DEPTH = 4
_MAX_ARGUMENT_DEPTH = 2
"""Numbers and filters of a search stand no deeper than in its ``search_kwargs``."""


def query_in(data: object, depth: int = 0) -> str | None:
    """Return the search text in a retriever's input, ``None`` when there is none."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(data, str):
        return data if data.strip() else None
    if isinstance(data, list):
        return query_in(data[0], depth + 1) if len(data) == 1 else None
    if not isinstance(data, dict):
        return None
    for key in _ASKED_KEYS:
        if data.get(key) is not None:
            found = query_in(data[key], depth + 1)
            if found is not None:
                return found
    texts = [value for value in data.values() if isinstance(value, str) and value.strip()]
    return texts[0] if depth == 0 and len(texts) == len(data) == 1 else None


def searches_in(data: object, depth: int = 0) -> tuple[str, ...]:
    """Return the search texts that an LLM wrote as JSON, under any name of a query, in order."""
    if depth > _MAX_DEPTH:
        return ()
    if isinstance(data, list):
        return tuple(text for element in data for text in searches_in(element, depth + 1))
    if not isinstance(data, dict):
        return ()
    found: list[str] = []
    for key, value in data.items():
        if _WRITTEN_KEY.search(str(key)):
            texts = value if isinstance(value, list) else [value]
            found.extend(text for text in texts if isinstance(text, str) and text.strip())
        if isinstance(value, (dict, list)):
            found.extend(searches_in(value, depth + 1))
    return tuple(found)


def embedded_texts_in(data: object, depth: int = 0) -> tuple[str, ...]:
    """Return the texts in an embedder's input; token ids are no texts."""
    if isinstance(data, str):
        return (data,) if data.strip() else ()
    if isinstance(data, list):
        return tuple(element for element in data if isinstance(element, str))
    if not isinstance(data, dict) or depth > _MAX_DEPTH:
        return ()
    for key in _GIVEN_KEYS:
        if data.get(key) is not None:
            found = embedded_texts_in(data[key], depth + 1)
            if found:
                return found
    return ()


def top_k_in(data: object, depth: int = 0) -> int | None:
    """Return the number of results that an input asks for, if it says so."""
    if not isinstance(data, dict) or depth > _MAX_ARGUMENT_DEPTH:
        return None
    if data.keys().isdisjoint(_TOP_K_NAMES):
        return None
    for key in _TOP_K_KEYS:
        count = as_count(data.get(key))
        if count:
            return count
    for key in _WRAPPERS:
        found = top_k_in(data.get(key), depth + 1)
        if found:
            return found
    return None


def filters_in(data: object, depth: int = 0) -> str | None:
    """Return the metadata filter of a search, as JSON unless it is a text, ``None`` without one."""
    if not isinstance(data, dict) or depth > _MAX_ARGUMENT_DEPTH:
        return None
    if data.keys().isdisjoint(_FILTER_NAMES):
        return None
    for key in _FILTER_KEYS:
        if isinstance(data.get(key), str) and data[key]:
            return str(data[key])
        if data.get(key):
            return json.dumps(data[key], ensure_ascii=False, sort_keys=True, default=str)
    for key in _WRAPPERS:
        found = filters_in(data.get(key), depth + 1)
        if found:
            return found
    return None
