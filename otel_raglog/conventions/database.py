"""Spans of database clients to facts, where the statement is a search for the nearest vectors.

Any other statement says nothing about a run: these spans are read by what their statement holds,
not by their keys, which every query of an application has.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from otel_raglog.conventions.base import BaseConvention
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.documents import chunk_from_item
from otel_raglog.conventions.json_text import as_count, as_text
from otel_raglog.conventions.work import WorkReader
from otel_raglog.model import (
    NOT_CAPTURED,
    Chunk,
    Field,
    FieldStatus,
    Role,
    Span,
)

NAME = "database"
STATEMENT_KEYS = ("db.query.text", "db.statement")
PARTS = (
    "<->",
    "<=>",
    "<#>",
    "<+>",
    "distance(",
    "vec_distance",
    "_similarity(",
    "vector_search",
    "vectorsearch",
    "knn",
    "ann of",
)
"""One of these is in each statement that searches for the nearest vectors, in small letters."""

WRITING = (
    "insert",
    "update",
    "delete",
    "merge",
    "copy",
    "replace",
    "upsert",
    "create",
    "alter",
    "drop",
    "truncate",
)
"""What statements begin with that search nothing: the long ones of a busy service, mostly."""

_REDIS = "redis.search."
_REDIS_DOCUMENT = re.compile(r"redis\.search\.xdoc_(.+)\.([^.]+)")
_SELECT = re.compile(
    r"\s*(?:/\*.*?\*/\s*)*\(*\s*(?:select|with|explain)\b", re.IGNORECASE | re.DOTALL
)
_NEAREST = re.compile(r"<(?:->|=>|#>|\+>)")
_FUNCTION = re.compile(
    r"\b(?:(?:array|list|vec)_)?(?:cosine|l1|l2|euclidean|hamming|jaccard|dot_product|vector|vec)"
    r"_distance(?:_\w+)?\s*\(|\b(?:array|list)_distance\s*\(|\bvec_distance\w*\s*\(|"
    r"\b(?:cosine|L1|L2|Lp)Distance\s*\(|\b(?:array_|list_|vector_)?cosine_similarity\s*\(|"
    r"\bvector_search\s*\(|\bann\s+of\b",
    re.IGNORECASE,
)
_GEOGRAPHY = re.compile(
    r"\bst_\w+\(|::(?:geometry|geography|point|tsquery)\b|\bto_tsquery\(", re.IGNORECASE
)
_OTHER_NEAREST = frozenset({"mysql", "mariadb", "sqlite"})
"""Systems in which ``<=>`` compares values."""
_DOCUMENT_SEARCH = re.compile(r"\$vectorSearch\b|[\"']knn[\"']\s*:|=>\s*\[\s*KNN\b")
_LIMIT = re.compile(
    r"\blimit\s+(\d+)|\bfetch\s+(?:first|next)\s+(\d+)|\btop\s*\(?\s*(\d+)|"
    r"[\"'](?:k|limit)[\"']\s*:\s*(\d+)|\bKNN\s+(\d+)",
    re.IGNORECASE,
)
_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.RETRIEVER: (
        Wanted(
            "query",
            ("redis.search.query",),
            note="the statement has a vector: the embedding before it has the text",
        ),
        Wanted(
            "documents",
            ("redis.search.xdoc_N.content",),
            note="rows are not recorded: what the prompt shows of them is all there is",
        ),
        Wanted("top_k", STATEMENT_KEYS),
    ),
}


def searches_vectors(statement: str, system: str = "") -> bool:
    """Tell whether a statement asks for the nearest vectors.

    The operators mean other things elsewhere: between places, between words of a text search, and
    in MySQL.
    """
    if _DOCUMENT_SEARCH.search(statement):
        return True
    if not _SELECT.match(statement) or _GEOGRAPHY.search(statement):
        return False
    if _FUNCTION.search(statement):
        return True
    found = {match[0] for match in _NEAREST.finditer(statement)}
    return bool(found - {"<=>"} if system in _OTHER_NEAREST else found)


def _system(span: Span) -> str:
    for key in ("db.system.name", "db.system"):
        value = span.attributes.get(key)
        if isinstance(value, str):
            return value.lower()
    return ""


class _Reader(WorkReader):
    """Reads one span; every method returns one fact."""

    def __init__(self, span: Span, convention: str) -> None:
        super().__init__(span, convention)
        self.role = Role.RETRIEVER

    def query(self) -> Field[str]:
        read = self.text("redis.search.query")
        of_vectors = "=>" in (read.value or "")
        return NOT_CAPTURED if of_vectors else read

    def top_k(self) -> int | None:
        for key in STATEMENT_KEYS:
            statement = self.attributes.get(key)
            if isinstance(statement, str):
                last = None
                for match in _LIMIT.finditer(statement):
                    last = as_count(next((group for group in match.groups() if group), None))
                return last
        return None

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:
        found: dict[str, dict[str, object]] = {}
        first = ""
        for key, value in self.attributes.items():
            match = _REDIS_DOCUMENT.fullmatch(key)
            if match:
                first = first or key
                found.setdefault(match[1], {})[match[2]] = as_text(value)
        if found:
            chunks = tuple(
                chunk_from_item({"id": identifier, **fields})
                for identifier, fields in found.items()
            )
            return Field(chunks, FieldStatus.PRESENT, self.source(first)), True
        if as_count(self.attributes.get("redis.search.total")) == 0:
            return Field((), FieldStatus.EMPTY, self.source("redis.search.total")), True
        absent = self.absent()
        return Field(None, absent.status, absent.source), False


class Database(BaseConvention):
    """Searches for the nearest vectors in a database for anything."""

    name = NAME
    title = "OpenTelemetry database client"
    marker_prefixes = (_REDIS,)
    value_keys = STATEMENT_KEYS
    value_parts = PARTS
    value_exclusions = WRITING
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "database clients record no rows: trace the retriever of the framework as well, or write "
        "a span of your own around the search"
    )

    def speaks(self, span: Span) -> bool:
        """Tell whether a span's statement searches for vectors."""
        if super().speaks(span):
            return True
        statements = [span.attributes.get(key) for key in STATEMENT_KEYS]
        return any(
            searches_vectors(statement, _system(span))
            for statement in statements
            if isinstance(statement, str)
        )
