"""Run records (the flat form of a run, one JSON object each) to runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from otel_raglog.conventions.documents import with_score_kinds
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.mapping.chunks import completed, ids_of_several, known_by_id, places
from otel_raglog.mapping.context import context_in
from otel_raglog.mapping.coverage import Signs, Steps, states_of
from otel_raglog.mapping.outputs import without_reasoning
from otel_raglog.mapping.record_fields import Document, RecordFields, StepFields, read_fields
from otel_raglog.mapping.skipping import explain_skip
from otel_raglog.model import (
    NOT_CAPTURED,
    AssemblyStep,
    Chunk,
    EmbedStep,
    Field,
    FieldStatus,
    GenerateStep,
    Message,
    Provenance,
    RerankStep,
    RetrieveStep,
    RewriteKind,
    RewriteStep,
    Run,
    Stage,
    StepOrigin,
    TokenUsage,
)

CONVENTION = "run_record"

Chunks = Field[tuple[Chunk, ...]]


def run_from_record(record: Mapping[str, object]) -> Run:
    """Return the run of a record (design, section 12).

    A missing key means that the stage is absent or was not recorded, ``null`` that it is
    recorded as missing. Unknown keys are ignored; ``labels``, ``injected`` and ``reference`` are
    never read. Raises :class:`BadInput`, which names the record's id and the wrong key.
    """
    fields = read_fields(record)
    read = _Reader(fields)
    steps = Steps(
        rewriters=read.rewriters(),
        embedders=read.embedders(),
        retrievers=read.retrievers(),
        rerankers=read.rerankers(),
        assemblies=read.assemblies(),
        generators=read.generators(),
    )
    question = read.text("question")
    return explain_skip(
        Run(
            run_id=fields.id,
            trace_id=b"",
            top_span_id=b"",
            service=fields.pipeline or "unknown",
            question=question,
            answer=read.answer(),
            rewriters=steps.rewriters,
            embedders=steps.embedders,
            retrievers=steps.retrievers,
            rerankers=steps.rerankers,
            assemblies=steps.assemblies,
            generators=steps.generators,
            stages=states_of(
                steps, question, Signs(shows_context=bool(fields.prompt), recorded=True)
            ),
            history=read.history(),
            session_id=fields.session,
            turn=fields.turn,
            conventions=(CONVENTION,),
            tokens=read.tokens(),
        )
    )


class _Reader:
    """Reads one record; the methods return the steps of one stage each."""

    def __init__(self, fields: RecordFields) -> None:
        self.fields = fields
        hops = fields.steps or []
        self.hops: dict[str, list[StepFields]] = {}
        for hop in hops:
            self.hops.setdefault(hop.stage.lower(), []).append(hop)
        lists = [fields.retrieved, fields.reranked, fields.passed]
        for hop in hops:
            lists += [hop.chunks, hop.candidates, hop.selected]
        known = [tuple(_chunk(each) for each in documents) for documents in lists if documents]
        self.by_id = known_by_id(known, ids_of_several(known))

    def source(self, key: str) -> Provenance:
        return Provenance(b"", key, CONVENTION)

    def origin(self, name: str, why: str) -> StepOrigin:
        return StepOrigin(name=name, why=f"the record's key {why}")

    def text(self, key: str) -> Field[str]:
        value = getattr(self.fields, key)
        return _text(value, self.source(key))

    def answer(self) -> Field[str]:
        """Return the answer without blocks of reasoning."""
        found = self.text("answer")
        return replace(found, value=without_reasoning(found.value)) if found.value else found

    def texts(self, values: list[str] | None, key: str) -> Field[tuple[str, ...]]:
        if values is None:
            return NOT_CAPTURED
        if any(is_redacted(value) for value in values):
            return Field(None, FieldStatus.REDACTED, self.source(key))
        status = FieldStatus.PRESENT if values else FieldStatus.EMPTY
        return Field(tuple(values), status, self.source(key))

    def chunks(self, documents: list[Document] | None, key: str, *, ranked: bool = False) -> Chunks:
        if documents is None:
            return NOT_CAPTURED
        chunks = with_score_kinds([_chunk(document) for document in documents], reranked=ranked)
        status = FieldStatus.PRESENT if chunks else FieldStatus.EMPTY
        return completed(Field(chunks, status, self.source(key)), self.by_id, {})

    def rewriters(self) -> tuple[RewriteStep, ...]:
        question = self.text("question")
        found = tuple(
            RewriteStep(
                self.origin("rewriter", "steps"),
                self._rewrite_kind(hop.rewrites or []),
                question if hop.input is None else _text(hop.input, self.source("steps")),
                self.texts(hop.rewrites or ([hop.query] if hop.query else None), "steps"),
                hop.model,
            )
            for hop in self.hops.get(Stage.REWRITER, ())
        )
        if found or not self.fields.has("rewrites"):
            return found
        rewrites = self.fields.rewrites
        if rewrites == []:
            return ()
        return (
            RewriteStep(
                self.origin("rewriter", "rewrites"),
                self._rewrite_kind(rewrites or []),
                question,
                self.texts(rewrites, "rewrites"),
            ),
        )

    def _rewrite_kind(self, rewrites: Sequence[str]) -> RewriteKind:
        if len(rewrites) > 1:
            return RewriteKind.MULTI_QUERY
        return RewriteKind.CONDENSE if self.fields.history else RewriteKind.REWRITE

    def embedders(self) -> tuple[EmbedStep, ...]:
        found = tuple(
            EmbedStep(
                self.origin("embedder", "steps"),
                self.texts(hop.texts or _listed(hop.input) or _listed(hop.query), "steps"),
                hop.model or self.fields.embedder_model,
            )
            for hop in self.hops.get(Stage.EMBEDDER, ())
        )
        if found or not self.fields.has("embedder_input"):
            return found
        texts = self.texts(self.fields.embedder_input, "embedder_input")
        origin = self.origin("embedder", "embedder_input")
        return (EmbedStep(origin, texts, self.fields.embedder_model),)

    def retrievers(self) -> tuple[RetrieveStep, ...]:
        found = tuple(
            RetrieveStep(
                self.origin("retriever", "steps"),
                _text(hop.query, self.source("steps")),
                self.chunks(hop.chunks, "steps"),
                hop.top_k or self.fields.top_k,
                _filters(hop.filters),
            )
            for hop in self.hops.get(Stage.RETRIEVER, ())
        )
        if found or not self.fields.has("retrieved"):
            return found
        rewrites = self.fields.rewrites or []
        query = rewrites[0] if len(rewrites) == 1 else self.fields.question
        return (
            RetrieveStep(
                self.origin("retriever", "retrieved"),
                _text(query, self.source("rewrites" if len(rewrites) == 1 else "question")),
                self.chunks(self.fields.retrieved, "retrieved"),
                self.fields.top_k,
            ),
        )

    def rerankers(self) -> tuple[RerankStep, ...]:
        found = tuple(
            RerankStep(
                self.origin("reranker", "steps"),
                _text(hop.query or self.fields.question, self.source("steps")),
                self.chunks(hop.candidates or self.fields.retrieved, "steps"),
                self.chunks(hop.selected or hop.chunks, "steps", ranked=True),
                hop.top_k,
                hop.model,
            )
            for hop in self.hops.get(Stage.RERANKER, ())
        )
        if found or not self.fields.has("reranked"):
            return found
        ranked = self.chunks(self.fields.reranked, "reranked", ranked=True)
        selected = ranked
        if self.fields.has("passed"):
            selected = _scored(self.chunks(self.fields.passed, "passed"), ranked)
        return (
            RerankStep(
                self.origin("reranker", "reranked"),
                self.text("question"),
                self.chunks(self.fields.retrieved, "retrieved"),
                selected,
            ),
        )

    def assemblies(self) -> tuple[AssemblyStep, ...]:
        if not self.fields.has("prompt"):
            return ()
        if self.fields.has("passed"):
            selected = self.chunks(self.fields.passed, "passed")
        elif self.fields.has("reranked"):
            selected = self.chunks(self.fields.reranked, "reranked", ranked=True)
        else:
            selected = self.chunks(self.fields.retrieved, "retrieved")
        prompt = self.prompt()
        context = prompt
        messages = self.messages().value
        if messages:
            found = context_in(messages, {}, selected.value or (), self.fields.question)
            if found is not None:
                status = prompt.status if found.strip() else FieldStatus.EMPTY
                context = Field(found, status, prompt.source)
        return (AssemblyStep(self.origin("assembly", "prompt"), selected, context, prompt),)

    def generators(self) -> tuple[GenerateStep, ...]:
        if not self.fields.has("answer"):
            return ()
        return (
            GenerateStep(
                self.origin("generator", "answer"),
                self.messages(),
                self.answer(),
                self.fields.finish_reason,
                self.tokens(),
                self.fields.model,
            ),
        )

    def prompt(self) -> Field[str]:
        messages = self.messages()
        if messages.value is None:
            return Field(None, messages.status, messages.source)
        text = "\n\n".join(message.content for message in messages.value)
        return Field(text, messages.status, messages.source)

    def messages(self) -> Field[tuple[Message, ...]]:
        prompt = self.text("prompt")
        if prompt.value is None:
            return Field(None, prompt.status, prompt.source)
        messages = [Message("user", prompt.value)]
        if self.fields.system_prompt:
            messages.insert(0, Message("system", self.fields.system_prompt))
        return Field(tuple(messages), prompt.status, prompt.source)

    def history(self) -> Field[tuple[Message, ...]]:
        turns = self.fields.history
        if not turns:
            return NOT_CAPTURED
        messages = tuple(Message(role, content) for role, content in turns)
        return Field(messages, FieldStatus.PRESENT, self.source("history"))

    def tokens(self) -> TokenUsage:
        tokens = self.fields.tokens
        return (
            TokenUsage(tokens.prompt, tokens.completion, tokens.total) if tokens else TokenUsage()
        )


def _text(value: str | None, source: Provenance) -> Field[str]:
    if value is None:
        return NOT_CAPTURED
    if is_redacted(value):
        return Field(None, FieldStatus.REDACTED, source)
    if not value.strip():
        return Field("", FieldStatus.EMPTY, source)
    return Field(value, FieldStatus.PRESENT, source)


def _listed(value: str | None) -> list[str] | None:
    return None if value is None else [value]


def _filters(value: object) -> str | None:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str) if value else None


def _chunk(document: Document) -> Chunk:
    status = FieldStatus.PRESENT
    if document.text is None:
        status = FieldStatus.NOT_CAPTURED
    elif is_redacted(document.text):
        status = FieldStatus.REDACTED
    elif not document.text.strip():
        status = FieldStatus.EMPTY
    score = document.score
    return Chunk(
        text=document.text or "" if status is FieldStatus.PRESENT else "",
        id=document.id,
        score=score if score is not None and abs(score) < float("inf") else None,
        title=document.title,
        metadata={
            key: value
            for key, value in (document.metadata or {}).items()
            if isinstance(value, str | int | float | bool)
        },
        text_status=status,
    )


def _scored(chunks: Chunks, ranked: Chunks) -> Chunks:
    """Give passed chunks the scores that the reranker gave them."""
    if not chunks.value:
        return chunks
    scores = ranked.value or ()
    return replace(
        chunks,
        value=tuple(
            chunk
            if place is None
            else replace(chunk, score=scores[place].score, score_kind=scores[place].score_kind)
            for chunk, place in zip(chunks.value, places(chunks.value, scores), strict=True)
        ),
    )
