"""OpenInference spans to their role and to the documents that they found or were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from otel_raglog.conventions.documents import (
    chunk_from_item,
    chunks_in,
    merged,
    with_score_kinds,
)
from otel_raglog.conventions.flattened import ListAttribute
from otel_raglog.conventions.work import SEARCHING, WorkReader
from otel_raglog.model import (
    Chunk,
    Field,
    FieldStatus,
    Role,
    Span,
    missing,
    present,
)

NAME = "openinference"
KIND = "openinference.span.kind"

_ROLES = {
    "LLM": Role.LLM,
    "EMBEDDING": Role.EMBEDDER,
    "RETRIEVER": Role.RETRIEVER,
    "RERANKER": Role.RERANKER,
    "TOOL": Role.TOOL,
    "PROMPT": Role.PROMPT,
    "CHAIN": Role.CHAIN,
    "AGENT": Role.AGENT,
    "EVALUATOR": Role.EVALUATOR,
    "GUARDRAIL": Role.GUARDRAIL,
}
_ROLE_BY_KEY = (
    ("retrieval.documents", Role.RETRIEVER),
    ("reranker.", Role.RERANKER),
    ("embedding.", Role.EMBEDDER),
    ("llm.prompt_template", Role.PROMPT),
    ("llm.", Role.LLM),
    ("tool.name", Role.TOOL),
)


class SearchReader(WorkReader):
    """One span's role, input and output, and its documents."""

    def __init__(self, span: Span, convention: str) -> None:
        super().__init__(span, convention)
        self.role = self._role()
        self.input, self.input_data = self.value("input.value")
        self.output, self.output_data = self.value("output.value")

    def _role(self) -> Role:
        kind = self.attributes.get(KIND)
        if isinstance(kind, str):
            return _ROLES.get(kind.strip().strip('"').upper(), Role.UNKNOWN)
        for prefix, role in _ROLE_BY_KEY:
            if any(key.startswith(prefix) for key in self.attributes):
                return role
        return Role.UNKNOWN

    def _chunks(self, listed: ListAttribute, *, reranked: bool = False) -> Field[tuple[Chunk, ...]]:
        chunks = with_score_kinds(
            [chunk_from_item(item) for item in listed.items], reranked=reranked
        )
        source = self.source(listed.key)
        if not chunks:
            status = FieldStatus.TRUNCATED if listed.cut else FieldStatus.EMPTY
            return Field((), status, source)
        lost_newest = self.span.dropped_attributes_count > 0 and "input.value" in self.attributes
        if listed.gaps or lost_newest:
            return Field(chunks, FieldStatus.TRUNCATED, source)
        return present(chunks, source)

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:
        """Return results, and whether they came from the structured keys.

        LangChain writes ids and scores only into ``output.value``: taken from there. Where
        attributes were evicted, ``output.value`` tells which documents there were; it may lack
        their texts (LlamaIndex), and then the list is not whole.
        """
        reranked = self.role is Role.RERANKER
        key = "reranker.output_documents" if reranked else "retrieval.documents"
        listed = self.lists.read(key)
        if listed is None and reranked:
            listed = self.lists.read("retrieval.documents")
        if listed is not None:
            other = chunks_in(self.output_data, bare_strings=self.role in SEARCHING)
            read = self._chunks(listed, reranked=reranked)
            if other is None:
                return read, True
            if len(other) > len(read.value or ()):
                return self._completed(listed, read.value or (), other, reranked=reranked), True
            chunks = merged(read.value or (), other)
            return Field(chunks, read.status, read.source), True
        return super().documents()

    def _completed(
        self,
        listed: ListAttribute,
        kept: Sequence[Chunk],
        others: Sequence[Chunk],
        *,
        reranked: bool,
    ) -> Field[tuple[Chunk, ...]]:
        """Return all of ``others``, with what the attributes that were kept know of them."""
        known = dict(zip(listed.indices or range(len(kept)), kept, strict=False))
        chunks = [
            merged((known[index],), (other,))[0] if index in known else other
            for index, other in enumerate(others)
        ]
        lost = [chunk.text_status is FieldStatus.NOT_CAPTURED for chunk in chunks]
        found = [
            replace(chunk, text_status=FieldStatus.EVICTED) if gone else chunk
            for chunk, gone in zip(chunks, lost, strict=True)
        ]
        scored = with_score_kinds(found, reranked=reranked)
        if any(lost):
            return Field(scored, FieldStatus.TRUNCATED, self.source(listed.key))
        return present(scored, self.source("output.value"))

    def input_documents(self) -> Field[tuple[Chunk, ...]]:
        """Return what a reranker (or a selecting step) was given."""
        listed = self.lists.read("reranker.input_documents")
        if listed is not None:
            return self._chunks(listed)
        read = super().input_documents()
        if self.role is not Role.RERANKER or read.status is not FieldStatus.NOT_CAPTURED:
            return read
        absent = self.absent("input.value", "reranker.query")
        return missing(absent.status, absent.source)
