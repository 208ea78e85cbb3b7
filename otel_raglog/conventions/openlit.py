"""Spans of OpenLIT to facts.

Keys are those of ``openlit`` 1.45, which follows the GenAI conventions for models and writes its
own for vector databases and memories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.genai import WANTED, GenAiDialect, GenAiReader, speaks
from otel_raglog.conventions.json_text import as_count, as_text, parse_json_or_literal
from otel_raglog.model import NOT_CAPTURED, Field, FieldStatus, Role, Span, missing

NAME = "openlit"
MARKERS = (
    "openlit.",
    "gen_ai.sdk.version",
    "gen_ai.retrieval.document_count",
    "gen_ai.retrieval.source",
    "gen_ai.memory.search.",
    "gen_ai.vectordb.",
    "db.sdk.version",
)
_SEARCHES = frozenset({"query", "search", "query_points", "hybrid_search"})
_NO_SEARCH = re.compile(r"query_engine|get_state|checkpoint|document_load", re.IGNORECASE)
_QUERY_KEYS = (
    "gen_ai.retrieval.query.text",
    "gen_ai.retrieval.query",
    "gen_ai.memory.search.query",
    "gen_ai.vectordb.search.query",
)
_TOP_K_KEYS = (
    "db.vector.query.top_k",
    "db.n_results",
    "gen_ai.memory.search.limit",
    "gen_ai.vectordb.search.limit",
)
_TEXTS = "texts="
"""What a vector database's ``db.query.text`` begins with when it was asked with texts."""

_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    **WANTED,
    Role.EMBEDDER: (
        Wanted("embedding_texts", ("gen_ai.input.messages",)),
        *WANTED[Role.EMBEDDER][1:],
    ),
    Role.RETRIEVER: (
        Wanted("query", (*_QUERY_KEYS, "db.query.text")),
        Wanted(
            "documents",
            ("gen_ai.retrieval.documents",),
            note="of a vector database only the number of rows is written",
        ),
        Wanted("top_k", _TOP_K_KEYS),
    ),
}


class _Reader(GenAiReader):
    """Reads one span; every method returns one fact."""

    def find_role(self) -> Role:
        operation = self.operation()
        if operation == "vectordb":
            return Role.RETRIEVER if self._searches() else Role.UNKNOWN
        if operation in {"memory", "memory_search"} and self._remembers():
            return Role.RETRIEVER
        role = super().find_role()
        if role is Role.RETRIEVER and _NO_SEARCH.search(self.span.name):
            return Role.CHAIN
        return role

    def _searches(self) -> bool:
        done = as_text(self.attributes.get("db.operation.name")) or ""
        asked = self.first_key((*_TOP_K_KEYS, "gen_ai.vectordb.search.query"))
        return done.lower() in _SEARCHES or asked is not None

    def _remembers(self) -> bool:
        return "gen_ai.memory.search.query" in self.attributes

    def query_keys(self) -> tuple[str, ...]:
        return _QUERY_KEYS

    def query(self) -> Field[str]:
        """Return the text of a search; a search with vectors only says how many there were."""
        if self.role is not Role.RETRIEVER or self.operation() != "vectordb":
            return super().query()
        read = self.first_text(_QUERY_KEYS)
        if read.status is not FieldStatus.NOT_CAPTURED:
            return read
        written = self.text("db.query.text")
        if written.value is None or not written.value.startswith(_TEXTS):
            return missing(written.status) if written.value is None else NOT_CAPTURED
        texts = parse_json_or_literal(written.value.removeprefix(_TEXTS))
        if isinstance(texts, list) and len(texts) == 1 and isinstance(texts[0], str):
            return Field(texts[0], written.status, written.source)
        return NOT_CAPTURED

    def top_k(self) -> int | None:
        for key in _TOP_K_KEYS:
            count = as_count(self.attributes.get(key))
            if count and self.role is Role.RETRIEVER:
                return count
        return super().top_k()


class OpenLit(GenAiDialect):
    """What OpenLIT writes beside the GenAI conventions."""

    name = NAME
    title = "OpenLIT"
    marker_prefixes = MARKERS
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "OpenLIT records messages unless openlit.init(capture_message_content=False) is called; "
        "what a vector database found is never on its spans: wrap the search in a retrieval span"
    )
    sender_scopes = ("openlit",)

    def speaks(self, span: Span) -> bool:
        """Tell whether OpenLIT wrote a span of a model, a search or a memory."""
        return speaks(span) and super().speaks(span)
