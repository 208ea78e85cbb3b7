"""What an LLM wrote to whether it is a statement of a query language, and what came of it to rows.

A statement (SQL, Cypher, GraphQL, a filter) rewrites no question in words, and the values that it
finds share no words with one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from otel_raglog.conventions.json_text import parse_json, parse_json_or_literal, strings_in
from otel_raglog.mapping.context import has_passage

_MOST_CHARS = 20_000
_LONGEST_FILTER = 1_000
_MAX_DEPTH = 4
_FENCED = re.compile(r"\s*```[\w-]*\s*\n(?P<inside>.*?)\n?\s*```\s*\Z", re.DOTALL)
_COMMENT = re.compile(r"\s*(?:--|//)[^\n]*\n|\s*/\*[^*]*\*/")
_LABEL = re.compile(
    r"\s*(?:sql|cypher|graphql|sparql|kql|spl)\s*_?(?:query|statement)?\s*:\s*", re.IGNORECASE
)
_SELECT = re.compile(r"\(*\s*(?:select\b|with\b[^()]{1,200}\bas\s*\(\s*select\b)", re.IGNORECASE)
_FROM = re.compile(r"\bfrom\b\s*[\w\"`\[(:]", re.IGNORECASE)
_CAPITALS = re.compile(r"\bSELECT\b.*\bFROM\b", re.DOTALL)
_SIGNS = re.compile(r"[=;`_<>*(]")
_FORMS = (
    (re.compile(r"show\s+tables\b|pragma\s+\w+|explain\s+select\b", re.IGNORECASE), None),
    (  # Cypher
        re.compile(r"(?:(?:optional\s+)?match|unwind|call)\b[^\n({\[]{0,80}[({\[]", re.IGNORECASE),
        re.compile(r"\b(?:return|yield)\b", re.IGNORECASE),
    ),
    (  # SPARQL
        re.compile(r"(?:prefix\s+\w*:\s*<|select\b|ask\b|construct\b|describe\b)", re.IGNORECASE),
        re.compile(r"\{[^{}]*\?\w+[^{}]*\}"),
    ),
    (re.compile(r"(?:query|subscription)\b[^{}\n]{0,200}\{"), re.compile(r"\}\s*\Z")),  # GraphQL
    (re.compile(r"\{\s*\w+\s*(?:\([^)]*\)\s*)?\{"), re.compile(r"\}\s*\}\s*\Z")),
    (  # the languages of logs
        re.compile(
            r"[\w.`'\"\[\]]+[^|?]{0,400}\|\s*(?:where|project|summarize|extend|take|stats)\b"
        ),
        None,
    ),
    (re.compile(r"(?:\w+\s*=\s*)?df\w*(?:\.\w+\(|\[)"), None),  # pandas
    (  # comparators of a self-query
        re.compile(r"(?:and|or|not|eq|ne|gte?|lte?|in|nin|contain|like)\("),
        re.compile(r"\)\s*\Z"),
    ),
)
_QUOTED = r"(?:\"[^\"]*\"|'[^']*'|\[[^\]]*\]|\([^)]*\))"
_COMPARISON = (
    rf"\(*\s*(?:not\s+)?[\w.\"'`]+\s*(?:(?:==?|!=|<>|<=|>=|<|>|\b(?:eq|ne|gt|ge|lt|le)\b)\s*"
    rf"(?:{_QUOTED}|[\w.*-]+)|(?::|\b(?:in|like)\b)\s*{_QUOTED})\s*\)*"
)
_FILTER = re.compile(
    rf"\s*{_COMPARISON}(?:\s*(?:\band\b|\bor\b|&&?|\|\|?)\s*{_COMPARISON}){{0,30}}\s*\Z",
    re.IGNORECASE,
)
_CLAUSES = frozenset(
    {
        "bool",
        "filter",
        "term",
        "terms",
        "match",
        "match_all",
        "match_phrase",
        "multi_match",
        "range",
    }
)


def is_statement(text: str) -> bool:
    """Tell whether a text is a statement or filter of a query language, and no words of a person."""
    text = text[:_MOST_CHARS]
    fenced = _FENCED.match(text)
    text = (fenced["inside"] if fenced else text).strip()
    data = parse_json(text)
    if data is not None:
        return _is_clause(data, 0)
    text = _without_lead(text)
    if _SELECT.match(text) and _FROM.search(text):
        # "Select a deck from the list" is a sentence: statements have capitals or signs.
        return bool(_CAPITALS.search(text) or _SIGNS.search(text))
    if any(begin.match(text) and (end is None or end.search(text)) for begin, end in _FORMS):
        return True
    return len(text) <= _LONGEST_FILTER and _FILTER.match(text) is not None


def is_rows(text: str) -> bool:
    """Tell whether a result is values alone (numbers, names, dates), without a passage to read."""
    data = parse_json_or_literal(text)
    if data is not None:
        return not any(has_passage(piece) for piece in strings_in(data))
    return not any(has_passage(line) for row in text.splitlines() for line in row.split("|"))


def _without_lead(text: str) -> str:
    """Return a statement without comments and a label before it."""
    while (lead := _COMMENT.match(text) or _LABEL.match(text)) is not None:
        text = text[lead.end() :]
    return text.strip()


def _is_clause(data: object, depth: int) -> bool:
    """Tell whether JSON is a query of a document store: operators (``$match``) or clauses."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(data, list):
        return any(_is_clause(item, depth + 1) for item in data)
    if not isinstance(data, Mapping):
        return False
    if any(str(key).startswith("$") for key in data):
        return True
    asked = data.get("query")
    if isinstance(asked, Mapping) and not _CLAUSES.isdisjoint(asked):
        return True
    return any(_is_clause(value, depth + 1) for value in data.values())
