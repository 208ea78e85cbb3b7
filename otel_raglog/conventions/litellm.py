"""Spans of LiteLLM's own tracing to facts: the newer one, the older one, and its raw requests.

Keys are those of ``litellm`` 1.110. The older tracing writes a call's keys onto whatever span was
open, and beside it a ``raw_gen_ai_request`` with the provider's request and response.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from otel_raglog.conventions.chat import finish_reason_in, messages_in, responses_in
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.documents import with_score_kinds
from otel_raglog.conventions.genai import OPERATIONS, WANTED, GenAiDialect, GenAiReader
from otel_raglog.conventions.genai_carriers import ANSWERED, GIVEN, Said
from otel_raglog.conventions.json_text import as_count, as_number, as_text, parse_json_or_literal
from otel_raglog.conventions.queries import embedded_texts_in
from otel_raglog.model import (
    NOT_CAPTURED,
    Chunk,
    Field,
    FieldStatus,
    Message,
    Role,
    Span,
    SpanFacts,
    missing,
)

NAME = "litellm"
RAW = "raw_gen_ai_request"
_CALLS: Mapping[str, Role] = {
    "completion": Role.LLM,
    "text_completion": Role.LLM,
    "responses": Role.LLM,
    "anthropic_messages": Role.LLM,
    "generate_content": Role.LLM,
    "embedding": Role.EMBEDDER,
    "rerank": Role.RERANKER,
    "vector_store_search": Role.RETRIEVER,
    "search": Role.RETRIEVER,
    "query": Role.RETRIEVER,
    "call_mcp_tool": Role.TOOL,
}
_RAW_KEY = re.compile(r"llm\.[^.]+\.(\w+)")
_RANKED = re.compile(r"(?:\A|\n\n)\[(?P<index>\d{1,6})\] (?P<score>-?[\d.eE+-]+)(?=\n|\Z)")

_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    **WANTED,
    Role.LLM: (
        Wanted("messages", (GIVEN.current, "llm.openai.messages")),
        Wanted("output_messages", (ANSWERED.current, "llm.openai.choices")),
        *WANTED[Role.LLM][2:],
    ),
    Role.EMBEDDER: (
        Wanted("embedding_texts", (GIVEN.current, "llm.openai.input")),
        *WANTED[Role.EMBEDDER][1:],
    ),
    Role.RETRIEVER: (
        Wanted("query", (GIVEN.current,)),
        Wanted("documents", (ANSWERED.current,), note="not written for a vector store"),
    ),
    Role.RERANKER: (
        Wanted("query", (GIVEN.current, "llm.cohere.query")),
        Wanted("input_documents", ("llm.cohere.documents",)),
        Wanted("documents", (ANSWERED.current, "llm.cohere.results")),
        Wanted("top_k", ("llm.cohere.top_n",)),
    ),
}


class _Reader(GenAiReader):
    """Reads the span of one call; the type of the call tells more than the operation."""

    def find_role(self) -> Role:
        for key in ("litellm.call_type", "llm.request.type", "gen_ai.operation.name"):
            call = as_text(self.attributes.get(key))
            name = (call or "").strip().lower()
            role = _CALLS.get(name) or _CALLS.get(name.removeprefix("a"))
            if role is not None:
                return role
            if name and key == "litellm.call_type":
                return OPERATIONS.get(self.operation(), Role.UNKNOWN)
        return Role.GUARDRAIL if "guardrail" in self.span.name else super().find_role()

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:
        """Return what a reranker gave back: it is one text with places and scores."""
        if self.role is not Role.RERANKER:
            return super().documents()
        read = self.answered.messages
        if read.value is None:
            return missing(read.status, read.source), False
        text = "\n\n".join(message.content for message in read.value)
        chunks = _ranked_in(text)
        if not chunks:
            return NOT_CAPTURED, False
        return Field(with_score_kinds(chunks, reranked=True), read.status, read.source), True


class _RawReader(GenAiReader):
    """Reads a raw request: the provider's own names, under ``llm.PROVIDER.``, as Python writes."""

    def __init__(self, span: Span, convention: str) -> None:
        self._keys = {
            match[1]: key
            for key in sorted(span.attributes)
            if (match := _RAW_KEY.fullmatch(key)) is not None
        }
        super().__init__(span, convention)

    def _data(self, name: str) -> tuple[Field[str], object | None]:
        key = self._keys.get(name)
        if key is None:
            absent = self.absent()
            return missing(absent.status, absent.source), None
        read, data = self.value(key)
        if data is None and read.value:
            data = parse_json_or_literal(read.value)
            if data is not None and read.status is FieldStatus.TRUNCATED and key not in self.cut:
                read = Field(read.value, FieldStatus.PRESENT, read.source)
        return read, data

    def find_role(self) -> Role:
        keys = self._keys.keys()
        if {"query", "documents"} <= keys:
            return Role.RERANKER
        if keys & {"messages", "prompt", "contents", "choices"}:
            return Role.LLM
        if "input" in keys:
            return Role.LLM if keys & {"output", "instructions"} else Role.EMBEDDER
        return Role.UNKNOWN

    def said_to(self) -> Said:
        for name in ("messages", "prompt", "contents", "input"):
            read, data = self._data(name)
            if read.value and self.role is Role.LLM:
                found = messages_in(data) or (Message("user", read.value),)
                return Said(Field(found, read.status, read.source))
        absent = self.absent()
        return Said(missing(absent.status, absent.source))

    def said_back(self) -> Said:
        for name in ("choices", "content", "candidates", "output"):
            read, data = self._data(name)
            texts = responses_in(data) if self.role is Role.LLM else ()
            if texts:
                found = (Message("assistant", texts[0]),)
                return Said(Field(found, read.status, read.source), (), finish_reason_in(data))
        absent = self.absent()
        return Said(missing(absent.status, absent.source))

    def work_given(self) -> tuple[Field[str], object | None]:
        if self.role is Role.RERANKER:
            return self._data("query")[0], None
        if self.role is Role.EMBEDDER:
            return self._data("input")
        return super().work_given()

    def work_done(self) -> tuple[Field[str], object | None]:
        return self._data("results") if self.role is Role.RERANKER else super().work_done()

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:
        if self.role is not Role.RERANKER:
            return super().documents()
        read, data = self._data("results")
        if not isinstance(data, list):
            return missing(read.status, read.source) if not read.value else NOT_CAPTURED, False
        chunks = [_ranked_chunk(element, self.input_texts()) for element in data]
        found = tuple(chunk for chunk in chunks if chunk is not None)
        if not found and data:
            return NOT_CAPTURED, False
        status = read.status if found else FieldStatus.EMPTY
        return Field(with_score_kinds(found, reranked=True), status, read.source), True

    def input_texts(self) -> tuple[str, ...]:
        """Return the texts that a reranker was given."""
        return tuple(chunk.text for chunk in self.input_documents().value or ())

    def input_documents(self) -> Field[tuple[Chunk, ...]]:
        if self.role is not Role.RERANKER:
            return NOT_CAPTURED
        read, data = self._data("documents")
        if not isinstance(data, list):
            return missing(read.status, read.source) if not read.value else NOT_CAPTURED
        texts = [d.get("text") if isinstance(d, dict) else d for d in data]
        chunks = tuple(Chunk(text) for text in texts if isinstance(text, str))
        if not chunks:
            return NOT_CAPTURED if data else Field((), FieldStatus.EMPTY, read.source)
        return Field(chunks, read.status, read.source)

    def embedding_texts(self) -> Field[tuple[str, ...]]:
        if self.role is not Role.EMBEDDER:
            return NOT_CAPTURED
        read, data = self._data("input")
        if read.value is None:
            return missing(read.status, read.source)
        found = (read.value,) if data is None else embedded_texts_in(data)
        return Field(found, read.status, read.source) if found else NOT_CAPTURED

    def model(self) -> str | None:
        return as_text(self.attributes.get(self._keys.get("model", "")))

    def top_k(self) -> int | None:
        if self.role is not Role.RERANKER:
            return None
        return as_count(self.attributes.get(self._keys.get("top_n", "")))


def _ranked_in(text: str) -> tuple[Chunk, ...]:
    """Return the results that LiteLLM writes as ``[place] score`` and, if known, the text."""
    found = list(_RANKED.finditer(text))
    chunks: list[Chunk] = []
    for at, match in enumerate(found):
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        chunks.append(
            _scored(text[match.end() : end].strip(), as_number(match["score"]), int(match["index"]))
        )
    return tuple(chunks)


def _ranked_chunk(element: object, texts: tuple[str, ...]) -> Chunk | None:
    if not isinstance(element, dict):
        return None
    index = as_count(element.get("index"))
    document = element.get("document")
    text = document.get("text") if isinstance(document, dict) else document
    if not isinstance(text, str):
        text = texts[index] if index is not None and index < len(texts) else ""
    return _scored(text, as_number(element.get("relevance_score")), index)


def _scored(text: str, score: float | None, index: int | None) -> Chunk:
    return Chunk(
        text,
        score=score,
        metadata={} if index is None else {"index": index},
        text_status=FieldStatus.PRESENT if text else FieldStatus.NOT_CAPTURED,
    )


class LiteLlm(GenAiDialect):
    """What LiteLLM writes beside the GenAI conventions."""

    name = NAME
    title = "LiteLLM"
    marker_prefixes = ("litellm.",)
    marker_names = (RAW, "litellm_request")
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "set LITELLM_OTEL_V2=true with OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY"
        " and do not set litellm.turn_off_message_logging"
    )
    sender_scopes = ("litellm",)

    def read(self, span: Span) -> SpanFacts | None:
        """Return what the span says; a raw request has keys of its own."""
        if span.name == RAW:
            return _RawReader(span, self.name).facts()
        return super().read(span)
