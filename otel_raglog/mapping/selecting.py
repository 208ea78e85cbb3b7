"""Retrievals and rerankings to the chunks that were selected for the prompt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from otel_raglog.mapping.chunks import Key, is_part, keys_of, union
from otel_raglog.mapping.collapse import Call, View
from otel_raglog.mapping.context import has_any, probes_of
from otel_raglog.mapping.retrieving import Search
from otel_raglog.mapping.texts import folded
from otel_raglog.model import (
    NOT_CAPTURED,
    Chunk,
    Field,
    FieldStatus,
    RetrieveStep,
    StepOrigin,
)

Chunks = Field[tuple[Chunk, ...]]


def selected_chunks(
    view: View, search: Search, family: Sequence[Call] = (), judges: Sequence[Call] = ()
) -> Chunks:
    """Return the chunks that the last selecting steps handed on to the prompt.

    Those are the rerankings whose choice no later reranking took up, and the retrievals that
    no fusion and no reranking took up. Left out is what one of ``judges`` (LLM calls that
    neither rewrite nor answer) read and what was then searched for once more, if none of it is
    in the prompts of ``family``: it was rejected, not dropped.
    """
    lists: list[tuple[StepOrigin, Chunks]] = []
    for position, step in enumerate(search.rerankings):
        later = search.rerankings[position + 1 :]
        if not (
            step.selected.value
            and any(_takes_up(other.candidates, step.selected) for other in later)
        ):
            lists.append((step.origin, step.selected))
    nests = _Nests(view, search.retrievals)
    lists.extend(
        (retrieval.origin, retrieval.chunks)
        for retrieval in search.retrievals
        if not _is_taken(retrieval, search, nests)
    )
    lists = _without_rejected(lists, search.retrievals, family, judges)
    usable = [chunks for _, chunks in lists if chunks.usable]
    if not usable:
        return lists[0][1] if lists else NOT_CAPTURED
    chunks = union([found.value or () for found in usable])
    status = FieldStatus.PRESENT if chunks else FieldStatus.EMPTY
    if any(found.status is FieldStatus.TRUNCATED for found in usable):
        status = FieldStatus.TRUNCATED
    return Field(chunks, status, usable[-1].source)


class _Nests:
    """Tells whether a retrieval's span lies within another's, or handed its chunks to it."""

    def __init__(self, view: View, retrievals: Iterable[RetrieveStep]) -> None:
        self._view = view
        wanted = {span_id for step in retrievals for span_id in step.origin.span_ids}
        self._index = {
            span_id: index
            for index in view.indices
            if (span_id := view.node(index).span.span_id) in wanted
        }

    def inside(self, inner: RetrieveStep, outer: RetrieveStep) -> bool:
        first = self._index.get(inner.origin.span_id)
        return first is not None and any(
            self._view.tree.contains(index, first)
            for span_id in outer.origin.span_ids
            if (index := self._index.get(span_id)) is not None
        )

    def given(self, step: RetrieveStep) -> Chunks:
        index = self._index.get(step.origin.span_id)
        facts = self._view.facts(index) if index is not None else None
        return facts.input_documents if facts is not None else NOT_CAPTURED


class _Later:
    """Tells whether what was found before a time is found once more after it."""

    def __init__(self, retrievals: Sequence[RetrieveStep]) -> None:
        self._retrievals = retrievals
        self._again: dict[int, tuple[Chunk, ...]] = {}
        self._last: dict[Key, int] = {}
        for step in retrievals:
            start = step.origin.start_unix_nano
            for chunk in step.chunks.value or ():
                for key in keys_of(chunk):
                    self._last[key] = max(start, self._last.get(key, start))

    def finds(self, chunk: Chunk, time: int) -> bool:
        if all(self._last.get(key, -1) < time for key in keys_of(chunk)):
            return False
        return is_part((chunk,), self._found_from(time))

    def _found_from(self, time: int) -> tuple[Chunk, ...]:
        if time not in self._again:
            steps = [step for step in self._retrievals if step.origin.start_unix_nano >= time]
            self._again[time] = union(step.chunks.value or () for step in steps)
        return self._again[time]


def _takes_up(candidates: Chunks, chunks: Chunks) -> bool:
    return candidates.value is not None and is_part(chunks.value or (), candidates.value)


def _is_taken(step: RetrieveStep, search: Search, nests: _Nests) -> bool:
    """Tell whether a later step had a retrieval's chunks to choose from.

    A fusion has those of all retrievals within it, even if it cut them all. Of one beside it
    (Haystack's joiner) it may have cut some: one chunk in common is enough.
    """
    fusions = [other for other in search.retrievals if other.fused and other is not step]
    if any(nests.inside(step, other) for other in fusions):
        return True
    takers = [other.candidates for other in search.rerankings]
    if not step.fused:
        takers += [other.chunks for other in fusions]
        takers += [nests.given(other) for other in fusions]
    chunks = step.chunks.value
    if not chunks:
        return any(taker.usable for taker in takers)
    return any(
        taker.value is not None and any(is_part((chunk,), taker.value) for chunk in chunks)
        for taker in takers
    )


def _without_rejected(
    lists: Sequence[tuple[StepOrigin, Chunks]],
    retrievals: Sequence[RetrieveStep],
    family: Sequence[Call],
    judges: Sequence[Call],
) -> list[tuple[StepOrigin, Chunks]]:
    verdicts = [(call, folded(call.prompt)) for call in judges if call.output.value]
    if not verdicts or not family:
        return list(lists)
    prompts = [folded(call.prompt) for call in family]
    later = _Later(retrievals)
    last_search = max((step.origin.start_unix_nano for step in retrievals), default=-1)

    def rejected(origin: StepOrigin, chunks: Chunks) -> bool:
        end = origin.end_unix_nano
        if end > last_search:
            return False
        own = probes_of([c for c in chunks.value or () if not later.finds(c, end)])
        return (
            bool(own)
            and not any(has_any(prompt, own) for prompt in prompts)
            and any(
                end <= call.start and call.end <= last_search and has_any(prompt, own)
                for call, prompt in verdicts
            )
        )

    return [(origin, chunks) for origin, chunks in lists if not rejected(origin, chunks)]
