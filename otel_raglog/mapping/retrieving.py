"""Nested retriever and reranker spans to retrievals and rerankings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from otel_raglog.conventions.documents import chunks_in, with_score_kinds
from otel_raglog.conventions.queries import filters_in
from otel_raglog.mapping.chunks import (
    completed,
    ids_of_several,
    is_extract,
    is_part,
    is_same,
    is_shortened,
    known_by_id,
    known_by_text,
    union,
)
from otel_raglog.mapping.collapse import Nesting, View, best, nest, origin_of
from otel_raglog.mapping.roles import (
    CERTAIN_RERANKER_NAME,
    FUSION_NAME,
    JOINER_NAME,
    RERANKER_NAME,
    RETRIEVER_NAME,
    SEARCH_TOOL_NAME,
    called,
    name_of,
)
from otel_raglog.mapping.texts import data_in
from otel_raglog.model import (
    NOT_CAPTURED,
    Chunk,
    Field,
    FieldStatus,
    RerankStep,
    RetrieveStep,
    Role,
    SpanFacts,
    StepOrigin,
)

Chunks = Field[tuple[Chunk, ...]]

_INFERRED = {FieldStatus.NOT_CAPTURED, FieldStatus.REDACTED}
"""What a reranker was given and is not there for these reasons is what came before it."""


@dataclass(frozen=True, slots=True)
class Search:
    """What the retriever and reranker spans of a run became, each in order of time."""

    retrievals: tuple[RetrieveStep, ...]
    rerankings: tuple[RerankStep, ...]


@dataclass(slots=True)
class _Draft:
    """A retrieval, and the spans that became it: a list, since wrappers may be very deep."""

    step: RetrieveStep
    span_ids: list[bytes]

    def finished(self) -> RetrieveStep:
        ids = tuple(dict.fromkeys(self.span_ids))
        if ids == self.step.origin.span_ids:
            return self.step
        return replace(self.step, origin=replace(self.step.origin, span_ids=ids))


@dataclass(slots=True)
class _Outcome:
    """What a retriever span and all within it became; ``last`` is what it handed on."""

    retrievals: list[_Draft]
    rerankings: list[RerankStep]
    last: Chunks
    parts: int = 1
    """Of how many lists ``last`` is the union, where no span handed it on as one."""


def find_search(view: View) -> Search:
    """Return the logical retrievals and rerankings of a run.

    A retriever inside a retriever is a wrapper when both name the same chunks in the same
    order, a reranking when the outer one hands on a part of them or another order, a fusion
    when the outer one is the union of several.
    """
    nesting = nest(view.tree, view.of_role(Role.RETRIEVER))
    outcomes: dict[int, _Outcome] = {}
    for index in nesting.inside_out:
        inner = [outcomes.pop(child) for child in nesting.children[index]]
        outcomes[index] = _fold(view, index, inner)
    retrievals = [d.finished() for outcome in outcomes.values() for d in outcome.retrievals]
    rerankings = [step for outcome in outcomes.values() for step in outcome.rerankings]
    rerankings.extend(_rerankers(view))
    return _completed(retrievals, rerankings)


def retriever_spans(view: View, step: RetrieveStep) -> tuple[int, ...]:
    """Return the spans, by index, that became a step."""
    ids = set(step.origin.span_ids)
    return tuple(index for index in view.indices if view.node(index).span.span_id in ids)


def _fold(  # noqa: PLR0911  one return per relation of a retriever to those within
    view: View, index: int, inner: list[_Outcome]
) -> _Outcome:
    facts = view.facts(index)
    mine = _found(facts)
    if not inner:
        return _Outcome([_draft(view, index, mine, "a span of retriever kind")], [], mine)
    merged = _Outcome(
        [draft for outcome in inner for draft in outcome.retrievals],
        [step for outcome in inner for step in outcome.rerankings],
        inner[0].last if len(inner) == 1 else NOT_CAPTURED,
        inner[0].parts if len(inner) == 1 else len(inner),
    )
    theirs = [outcome.last.value for outcome in inner if outcome.last.value is not None]
    if mine.value is None or (not theirs and not mine.usable):
        return _as_wrapper(view, index, merged, mine)
    if not theirs:
        return _absorbed(view, index, merged, mine, "the spans within it recorded no chunks")
    candidates = union(theirs)
    several = merged.parts > 1
    if not several and is_same(mine.value, theirs[0]):
        if not is_shortened(mine.value, theirs[0]):
            return _collapsed(view, index, merged, mine)
        return _as_reranking(view, index, merged, mine, candidates)
    name = called(view.node(index))
    part = is_part(mine.value, candidates)
    settled = facts is not None and facts.settled
    whole = part and is_part(candidates, mine.value)
    fusing = several and (whole or bool(FUSION_NAME.search(name)) or not part)
    if fusing and not CERTAIN_RERANKER_NAME.search(name):
        why = f"its chunks are the union of {merged.parts} retrievals within it"
        draft = _draft(view, index, mine, why)
        draft.step = replace(draft.step, fused=True)
        return _Outcome([*merged.retrievals, draft], merged.rerankings, mine)
    if not settled and (part or RERANKER_NAME.search(name) or is_extract(mine.value, candidates)):
        return _as_reranking(view, index, merged, mine, candidates)
    return _absorbed(view, index, merged, mine, "it gives other chunks than the spans within it")


def _found(facts: SpanFacts | None) -> Chunks:
    """Return the chunks a span found, also from the state that a developer's node returned."""
    if facts is None:
        return NOT_CAPTURED
    if facts.documents.usable or facts.role in {Role.RETRIEVER, Role.TOOL, Role.RERANKER}:
        return facts.documents
    found = chunks_in(facts.output_data, bare_strings=True)
    if found is not None:
        status = FieldStatus.PRESENT if found else FieldStatus.EMPTY
        return Field(with_score_kinds(found), status, facts.output.source)
    if facts.output_data is None and facts.output.value:
        return Field((Chunk(facts.output.value),), facts.output.status, facts.output.source)
    return facts.documents


def _draft(view: View, index: int, chunks: Chunks, why: str) -> _Draft:
    facts, node = view.facts(index), view.node(index)
    name = name_of(node)
    if facts is not None and facts.role is Role.TOOL:
        why = f"a tool that hands on documents for a query ({name})"
        if SEARCH_TOOL_NAME.search(name):
            why = f"a tool whose name says that it searches ({name})"
    elif facts is not None and facts.role is not Role.RETRIEVER:
        why = f"a span around an embedding that hands on documents ({name})"
        if RETRIEVER_NAME.search(name) or JOINER_NAME.search(name):
            why = f"a span whose name says that it retrieves ({name})"
    step = RetrieveStep(
        origin=origin_of(view, index, [index], why),
        query=facts.query if facts else NOT_CAPTURED,
        chunks=chunks,
        top_k=facts.top_k if facts else None,
        filters=(filters_in(facts.input_data) if facts else None) or _written_filters(view, index),
    )
    return _Draft(step, [node.span.span_id])


def _written_filters(view: View, index: int) -> str | None:
    """Return the filter that an LLM wrote for a search within the search (a self-query)."""
    for inner in view.of_role(Role.LLM):
        facts = view.facts(inner) if view.ran_within(index, inner) else None
        for message in (facts.output_messages.value or ()) if facts else ():
            for data in data_in(message.content, None):
                found = filters_in(data)
                if found:
                    return found
    return None


def _as_wrapper(view: View, index: int, merged: _Outcome, mine: Chunks) -> _Outcome:
    """A retriever span without chunks of its own says nothing more than those within."""
    if len(merged.retrievals) == 1 and not merged.rerankings:
        draft = merged.retrievals[0]
        own = _draft(view, index, mine, "").step
        chunks, query = draft.step.chunks, draft.step.query
        if not chunks.usable and mine.status is not FieldStatus.NOT_CAPTURED:
            chunks = mine
        query = own.query if query.value is None else query
        draft.step = replace(draft.step, chunks=chunks, query=query)
        _wrap(view, index, draft, "the one around it is its wrapper")
        merged.last = chunks
    elif merged.last.value is None:
        lists = [d.step.chunks.value for d in merged.retrievals if d.step.chunks.value]
        if lists:
            merged.last = Field(union(lists), FieldStatus.PRESENT)
            merged.parts = len(lists)
    return merged


def _wrap(view: View, index: int, draft: _Draft, why: str) -> None:
    draft.span_ids.append(view.node(index).span.span_id)
    origin = replace(draft.step.origin, why=f"a span of retriever kind; {why}")
    draft.step = replace(draft.step, origin=origin)


def _collapsed(view: View, index: int, merged: _Outcome, mine: Chunks) -> _Outcome:
    """Both name the same chunks: keep the step that has their texts."""
    facts = view.facts(index)
    if len(merged.retrievals) == 1 and not merged.rerankings:
        if facts is not None and facts.structured_documents:
            return _absorbed(view, index, merged, mine, "the span within it found the same chunks")
        _wrap(view, index, merged.retrievals[0], "the one around it handed the same chunks on")
    return merged


def _absorbed(view: View, index: int, merged: _Outcome, mine: Chunks, why: str) -> _Outcome:
    own = _draft(view, index, mine, f"a span of retriever kind; {why}")
    ids = merged.retrievals[0].span_ids if merged.retrievals else []
    ids.append(view.node(index).span.span_id)
    for draft in merged.retrievals[1:]:
        ids.extend(draft.span_ids)
    query = own.step.query
    for draft in merged.retrievals:
        query = draft.step.query if query.value is None else query
    return _Outcome([_Draft(replace(own.step, query=query), ids)], merged.rerankings, mine)


def _as_reranking(
    view: View, index: int, merged: _Outcome, mine: Chunks, candidates: tuple[Chunk, ...]
) -> _Outcome:
    facts = view.facts(index)
    inside = [i for i in view.of_role(Role.RERANKER) if view.tree.contains(index, i)]
    if not inside and not any(
        step.selected.value is not None and is_same(step.selected.value, mine.value or ())
        for step in merged.rerankings
    ):
        if is_same(mine.value or (), candidates):
            change = "in parts"
        elif len(mine.value or ()) == len(candidates):
            change = "in another order"
        else:
            change = f"{len(mine.value or ())} of {len(candidates)}"
        why = f"a retriever around a retriever that hands its chunks on {change}"
        step = RerankStep(
            origin=origin_of(view, index, [index], why),
            query=facts.query if facts else NOT_CAPTURED,
            candidates=Field(
                candidates,
                FieldStatus.PRESENT if candidates else FieldStatus.EMPTY,
                merged.last.source,
            ),
            selected=mine,
            top_k=facts.top_k if facts else None,
            model=facts.model if facts else None,
        )
        merged.rerankings.append(step)
    merged.last, merged.parts = mine, 1
    return merged


def _rerankers(view: View) -> list[RerankStep]:
    nesting: Nesting = nest(view.tree, view.of_role(Role.RERANKER))
    steps: list[RerankStep] = []
    for top in nesting.tops:
        members = [top, *(i for i in view.of_role(Role.RERANKER) if view.tree.contains(top, i))]
        steps.append(_reranking(view, members))
    return steps


def _reranking(view: View, members: Sequence[int]) -> RerankStep:
    known = [(index, facts) for index in members if (facts := view.facts(index)) is not None]
    known.sort(key=lambda pair: not pair[1].structured_documents)
    carrier = next((i for i, facts in known if facts.documents.usable), members[0])
    kind = view.node(carrier).role
    why = "a span of reranker kind"
    if kind is not Role.RERANKER:
        why = f"a span whose name says that it selects among chunks ({called(view.node(carrier))})"
    if len(members) > 1:
        why += f"; {len(members) - 1} wrapper span(s) collapsed into it"
    said = [facts for _, facts in known]
    return RerankStep(
        origin=origin_of(view, carrier, members, why),
        query=best([f.query for f in said]),
        candidates=best([_or_loss(f.input_documents, f.input) for f in said]),
        selected=best([_or_loss(f.documents, f.output) for f in said]),
        top_k=next((f.top_k for f in said if f.top_k is not None), None),
        model=next((f.model for f in said if f.model), None),
    )


def _or_loss(chunks: Chunks, whole: Field[str]) -> Chunks:
    """Return chunks that are not there as lost, where the value that held them was."""
    if chunks.status is FieldStatus.NOT_CAPTURED and whole.value is None:
        return Field(None, whole.status, whole.source)
    return chunks


def _completed(retrievals: list[RetrieveStep], rerankings: list[RerankStep]) -> Search:
    """Order the steps in time, and fill in what one step knows of another's chunks."""
    retrievals.sort(key=lambda step: _when(step.origin))
    rerankings.sort(key=lambda step: _when(step.origin))
    lists = [step.chunks.value for step in retrievals if step.chunks.value]
    for reranking in rerankings:
        lists.extend(
            chunks.value for chunks in (reranking.candidates, reranking.selected) if chunks.value
        )
    unsure = ids_of_several(lists)
    nameless = any(chunk.id is None for chunks in lists for chunk in chunks)
    by_id, by_text = known_by_id(lists, unsure), known_by_text(lists) if nameless else {}
    searched: list[RetrieveStep] = []
    for retrieval in retrievals:
        chunks = completed(retrieval.chunks, by_id, by_text)
        step = retrieval if chunks is retrieval.chunks else replace(retrieval, chunks=chunks)
        searched.append(_as_fusion(step, searched))
    ranked: list[RerankStep] = []
    for reranking in rerankings:
        own = [reranking.candidates.value or ()]
        mine = known_by_id(own, ids_of_several(own)) if unsure else {}
        selected = completed(reranking.selected, {**by_id, **mine}, by_text)
        given = completed(reranking.candidates, by_id, by_text)
        if not given.usable and given.status in _INFERRED:
            before = _given_before(reranking, selected, searched, ranked)
            given = before if before.usable else given
        ranked.append(replace(reranking, candidates=given, selected=selected))
    return Search(tuple(searched), tuple(ranked))


def _as_fusion(step: RetrieveStep, before: Sequence[RetrieveStep]) -> RetrieveStep:
    """Mark a step named as a join of the searches beside it (Haystack), if it holds their chunks."""
    if step.fused or not step.chunks.value or not JOINER_NAME.search(step.origin.name):
        return step
    earlier = [
        other.chunks.value
        for other in before
        if other.chunks.value and other.origin.end_unix_nano <= step.origin.start_unix_nano
    ]
    if len(earlier) < 2 or not is_part(step.chunks.value, union(earlier)):  # noqa: PLR2004
        return step
    why = (
        f"a span whose name says that it joins searches, with the chunks of {len(earlier)} of them"
    )
    return replace(step, fused=True, origin=replace(step.origin, why=why))


def _given_before(
    step: RerankStep,
    selected: Chunks,
    retrievals: Sequence[RetrieveStep],
    rerankings: Sequence[RerankStep],
) -> Chunks:
    """Return what the steps before a reranking handed on, if its choice is from there."""
    start = step.origin.start_unix_nano
    before: list[Chunks] = [
        other.selected for other in rerankings if other.origin.end_unix_nano <= start
    ]
    found: list[Chunks] = before[-1:] or [
        other.chunks for other in retrievals if other.origin.end_unix_nano <= start
    ]
    lists = [chunks.value for chunks in found if chunks.usable and chunks.value]
    candidates = union(lists)
    if not candidates or not is_extract(selected.value or candidates, candidates):
        return NOT_CAPTURED
    return Field(candidates, FieldStatus.PRESENT, found[-1].source)


def _when(origin: StepOrigin) -> tuple[int, int, bytes]:
    return origin.start_unix_nano, origin.end_unix_nano, origin.span_id
