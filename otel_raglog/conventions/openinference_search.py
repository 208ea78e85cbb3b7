"""OpenInference spans to their role and to the documents that they found or were given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from otel_raglog.conventions.chat import responses_in
from otel_raglog.conventions.documents import (
    chunk_from_item,
    chunks_in,
    merged,
    with_score_kinds,
)
from otel_raglog.conventions.flattened import ListAttribute
from otel_raglog.conventions.json_text import parse_json
from otel_raglog.conventions.values import SpanValues
from otel_raglog.model import (
    NOT_CAPTURED,
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


class SearchValues(SpanValues):
    """One span's role, input and output, and its documents."""

    def __init__(self, span: Span) -> None:
        super().__init__(span, NAME)
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

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:  # noqa: PLR0911  one return per known shape
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
        searching = self.role in {Role.RETRIEVER, Role.RERANKER, Role.TOOL}
        other = chunks_in(self.output_data, bare_strings=searching)
        if listed is not None:
            read = self._chunks(listed, reranked=reranked)
            if other is None:
                return read, True
            if len(other) > len(read.value or ()):
                return self._completed(listed, read.value or (), other, reranked=reranked), True
            chunks = merged(read.value or (), other)
            return Field(chunks, read.status, read.source), True
        if other is not None:
            status = FieldStatus.PRESENT if other else FieldStatus.EMPTY
            chunks = with_score_kinds(other, reranked=reranked)
            return Field(chunks, status, self.source("output.value")), False
        if self.output.status is FieldStatus.REDACTED and searching:
            return missing(FieldStatus.REDACTED, self.output.source), False
        if self.role in {Role.RETRIEVER, Role.TOOL}:
            return self._output_as_document(), False
        return self.absent(), False

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

    def _output_as_document(self) -> Field[tuple[Chunk, ...]]:
        """Return a search result that is one text as one chunk: where it splits is not told.

        A tool's message is opened; the text in it may be JSON documents after all.
        """
        read = self.output
        if read.status is FieldStatus.EMPTY:
            return Field((), FieldStatus.EMPTY, read.source)
        if read.value is None:
            return missing(self.absent("output.value").status)
        if read.status is FieldStatus.TRUNCATED and self.output_data is None:
            return missing(FieldStatus.TRUNCATED, read.source)
        texts = responses_in(read.value if self.output_data is None else self.output_data)
        if self.output_data is not None and not texts and self.role is Role.RETRIEVER:
            return NOT_CAPTURED
        text = "\n".join(texts) or read.value
        found = chunks_in(parse_json(text), bare_strings=True)
        if found is None:
            found = (Chunk(text),)
        status = read.status if found else FieldStatus.EMPTY
        return Field(with_score_kinds(found), status, read.source)

    def input_documents(self) -> Field[tuple[Chunk, ...]]:
        """Return what a reranker (or a selecting step) was given."""
        listed = self.lists.read("reranker.input_documents")
        if listed is not None:
            return self._chunks(listed)
        found = chunks_in(self.input_data, bare_strings=self.role is Role.RERANKER)
        if found is not None:
            status = FieldStatus.PRESENT if found else FieldStatus.EMPTY
            return Field(with_score_kinds(found), status, self.source("input.value"))
        if self.role is not Role.RERANKER:
            return NOT_CAPTURED
        absent = self.absent("input.value", "reranker.query")
        return missing(absent.status, absent.source)
