"""Embedder spans to embeddings of search text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from otel_raglog.conventions.queries import embedded_texts_in
from otel_raglog.mapping.collapse import Call, Nesting, View, best, nest, origin_of
from otel_raglog.mapping.roles import called
from otel_raglog.mapping.texts import is_close_to_any, squeezed
from otel_raglog.model import (
    NOT_CAPTURED,
    EmbedStep,
    Field,
    RetrieveStep,
    RewriteKind,
    RewriteStep,
    Role,
    SpanFacts,
)

_MANY = 2


def find_embeddings(view: View, retrievals: Sequence[RetrieveStep]) -> tuple[EmbedStep, ...]:
    """Return the embeddings of a run in order of time, wrappers collapsed.

    Embeddings inside a reranker are part of it. Texts that were retrieved, and lists of texts
    of which none was searched for, are passages: they are marked, since they are no queries.
    Of a list of which some were, those are this run's.
    """
    reranked = view.under(Role.RERANKER)
    indices = tuple(index for index in view.of_role(Role.EMBEDDER) if index not in reranked)
    nesting = nest(view.tree, indices)
    steps = [step for top in nesting.tops for step in _steps(view, nesting, top)]
    steps.sort(key=lambda step: (step.origin.start_unix_nano, step.origin.span_id))
    return tuple(_marked(step, retrievals) for step in steps)


def mark_hypothetical(
    steps: Iterable[EmbedStep], rewrites: Iterable[RewriteStep]
) -> tuple[EmbedStep, ...]:
    """Return the steps with those of a hypothetical answer (HyDE) marked as passages."""
    passages = [
        text
        for rewrite in rewrites
        if rewrite.kind is RewriteKind.HYDE
        for text in rewrite.rewrites.value or ()
    ]
    return tuple(
        replace(step, passage=True)
        if any(is_close_to_any(text, passages) for text in step.texts.value or ())
        else step
        for step in steps
    )


def is_indexing(embeddings: Sequence[EmbedStep], calls: Sequence[Call], last: Call) -> bool:
    """Tell whether LLM calls only write what is embedded after them, the ``last`` one too.

    So does a job that has a context written for each passage of its index. What it writes
    answers no question. The text that HyDE writes is embedded as well, but the answer is not.
    """
    if not embeddings or not any(_embeds(step, last) for step in embeddings):
        return False
    return all(any(_embeds(step, call) for call in calls) for step in embeddings)


def _embeds(step: EmbedStep, call: Call) -> bool:
    wrote = squeezed(call.output.value or "")
    texts = step.texts.value or ()
    later = call.end <= step.origin.start_unix_nano
    return later and bool(wrote) and any(wrote in squeezed(text) for text in texts)


def _steps(view: View, nesting: Nesting, top: int) -> list[EmbedStep]:
    """Return one step per nest; several only where the outer span says nothing itself."""
    steps: list[EmbedStep] = []
    pending: list[tuple[int, list[int]]] = [(top, [])]
    while pending:
        index, wrappers = pending.pop()
        inner = nesting.children[index]
        if _texts(view.facts(index)).usable or not inner:
            steps.append(_step(view, index, [*wrappers, index, *_below(nesting, index)]))
        elif len(inner) == 1:
            wrappers.append(index)
            pending.append((inner[0], wrappers))
        else:
            pending.extend((child, []) for child in inner)
    return steps


def _below(nesting: Nesting, top: int) -> list[int]:
    found: list[int] = []
    pending = list(nesting.children[top])
    while pending:
        index = pending.pop()
        found.append(index)
        pending.extend(nesting.children[index])
    return sorted(found)


def _step(view: View, carrier: int, members: Sequence[int]) -> EmbedStep:
    ordered = [carrier, *(index for index in members if index != carrier)]
    facts = [f for index in ordered if (f := view.facts(index)) is not None]
    why = "a span of embedding kind"
    if view.node(carrier).role is not Role.EMBEDDER:
        why = f"a span whose name says that it embeds ({called(view.node(carrier))})"
    if len(members) > 1:
        why += f"; {len(members) - 1} wrapper span(s) collapsed into it"
    return EmbedStep(
        origin=origin_of(view, carrier, members, why),
        texts=best([_texts(f) for f in facts]),
        model=next((f.model for f in facts if f.model), None),
    )


def _texts(facts: SpanFacts | None) -> Field[tuple[str, ...]]:
    if facts is None:
        return NOT_CAPTURED
    if facts.role is Role.EMBEDDER:
        return facts.embedding_texts
    if facts.input.value is None:
        return Field(None, facts.input.status, facts.input.source)
    found = (
        (facts.input.value,) if facts.input_data is None else embedded_texts_in(facts.input_data)
    )
    return Field(found, facts.input.status, facts.input.source) if found else NOT_CAPTURED


def _marked(step: EmbedStep, retrievals: Sequence[RetrieveStep]) -> EmbedStep:
    texts = step.texts.value or ()
    queries = [r.query.value for r in retrievals if r.query.usable and r.query.value]
    searched = tuple(text for text in texts if is_close_to_any(text, queries))
    if searched:
        # Several questions' texts may be embedded at once: those of the others are not this run's.
        return (
            step if searched == texts else replace(step, texts=replace(step.texts, value=searched))
        )
    if not texts:
        return step
    retrieved = {squeezed(chunk.text) for r in retrievals for chunk in r.chunks.value or ()}
    several = len(texts) >= _MANY and bool(queries)
    passage = several or all(squeezed(text) in retrieved for text in texts)
    return replace(step, passage=passage)
