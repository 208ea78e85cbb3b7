"""The steps of a run, and those it lacks, to the state of each stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from otel_raglog.mapping.texts import holds, same_text
from otel_raglog.model import (
    AssemblyStep,
    Chunk,
    EmbedStep,
    Field,
    FieldStatus,
    GenerateStep,
    RerankStep,
    RetrieveStep,
    RewriteStep,
    Stage,
    StageState,
    StepOrigin,
    UnknownReason,
)

_REASONS: Mapping[FieldStatus, UnknownReason] = {
    FieldStatus.REDACTED: UnknownReason.REDACTED,
    FieldStatus.TRUNCATED: UnknownReason.INCOMPLETE,
    FieldStatus.EVICTED: UnknownReason.INCOMPLETE,
    FieldStatus.NOT_CAPTURED: UnknownReason.NOT_CAPTURED,
    FieldStatus.EXTERNAL: UnknownReason.NOT_CAPTURED,
}
_WORDS: Mapping[UnknownReason, str] = {
    UnknownReason.REDACTED: "was replaced by a placeholder",
    UnknownReason.INCOMPLETE: "arrived cut or with parts missing",
    UnknownReason.NOT_CAPTURED: "was not recorded",
}


@dataclass(frozen=True, slots=True)
class Steps:
    """All steps of a run, by stage."""

    rewriters: tuple[RewriteStep, ...] = ()
    embedders: tuple[EmbedStep, ...] = ()
    retrievers: tuple[RetrieveStep, ...] = ()
    rerankers: tuple[RerankStep, ...] = ()
    assemblies: tuple[AssemblyStep, ...] = ()
    generators: tuple[GenerateStep, ...] = ()


@dataclass(frozen=True, slots=True)
class Signs:
    """What tells of stages that left no span.

    ``lexical``: every retrieval says that it searches by words; asked where no embedding is.
    ``shows_context``: the prompt visibly holds context; asked where nothing searches.
    ``unread_calls``: an LLM call before the search whose output is hidden. ``early_calls``: an
    LLM call before those that made the answer. ``partial``: the trace was released before it
    was whole. ``recorded``: a run record, whose missing keys say that there is no rewriter.
    """

    lexical: bool = False
    shows_context: bool = False
    unread_calls: UnknownReason | None = None
    early_calls: bool = False
    partial: bool = False
    recorded: bool = False


def states_of(steps: Steps, question: Field[str], signs: Signs) -> dict[Stage, StageState]:
    """Return the state of every stage: seen, absent, or unknown and why."""
    return {
        Stage.REWRITER: _rewriter(steps, question, signs),
        Stage.EMBEDDER: _embedder(steps, signs),
        Stage.RETRIEVER: _retriever(steps, signs),
        Stage.RERANKER: _reranker(steps, signs),
        Stage.ASSEMBLY: _assembly(steps, signs),
        Stage.GENERATOR: _generator(steps),
    }


def reason_of(field: Field[object]) -> UnknownReason | None:
    """Return why a field cannot be judged; ``None`` when it is there, even if it is empty."""
    return _REASONS.get(field.status)


def is_retrieved(steps: Steps, signs: Signs) -> bool:
    """Tell whether anything says that the pipeline retrieves."""
    return has_searched(steps) or signs.shows_context


def _unseen(signs: Signs, what: str) -> StageState:
    if signs.partial:
        return StageState(
            0, reason=UnknownReason.INCOMPLETE, why=f"{what}, and the trace was not whole"
        )
    return StageState(0, absent=True, why=what)


def _judged(count: int, reason: UnknownReason | None, what: str, why: str = "") -> StageState:
    if reason is None:
        return StageState(count, why=why)
    return StageState(count, reason=reason, why=f"{what} {_WORDS.get(reason, 'is missing')}")


def _failed(origins: Sequence[StepOrigin]) -> StageState:
    message = next((origin.error for origin in origins if origin.error), "")
    return StageState(
        len(origins), reason=UnknownReason.ERROR, why=f"it failed and gave nothing: {message}"
    )


def _rewriter(steps: Steps, question: Field[str], signs: Signs) -> StageState:
    rewrites = steps.rewriters
    if rewrites:
        usable = [step for step in rewrites if reason_of(step.rewrites) is None]
        if not usable and all(step.origin.error for step in rewrites):
            return _failed([step.origin for step in rewrites])
        cut = bool(usable) and question.status is FieldStatus.TRUNCATED
        what = "the question" if cut else "what the rewriter wrote"
        reason = None if usable else reason_of(rewrites[0].rewrites)
        return _judged(len(rewrites), reason_of(question) if cut else reason, what)
    if signs.unread_calls is not None:
        return StageState(
            0,
            reason=signs.unread_calls,
            why="an LLM was called before the search, but what it wrote is hidden",
        )
    if signs.recorded:
        return _unseen(signs, "the record has no rewrites")
    why = ""
    if _is_changed(steps, question):
        why = "the search text is not the question, and what rewrote it left no span"
    elif signs.early_calls and signs.shows_context and not has_searched(steps):
        why = "an LLM was called before the answer, and a search that it wrote for left no span"
    if why:
        return StageState(0, reason=UnknownReason.NOT_CAPTURED, why=why)
    return _unseen(signs, "no LLM call wrote what was searched for")


def _is_changed(steps: Steps, question: Field[str]) -> bool:
    """Tell whether something else than the question, or a part of it, was searched for."""
    asked = question.value if question.usable else None
    return bool(asked) and any(
        step.query.usable
        and bool(step.query.value)
        and not same_text(step.query.value or "", asked or "")
        and not holds(asked or "", step.query.value or "")
        and not holds(step.query.value or "", asked or "")
        for step in steps.retrievers
    )


def has_searched(steps: Steps) -> bool:
    """Tell whether a step was seen that searches, or belongs to a search."""
    return bool(steps.retrievers or steps.rerankers or steps.embedders)


def _embedder(steps: Steps, signs: Signs) -> StageState:
    embeddings = steps.embedders
    if embeddings:
        usable = [step for step in embeddings if reason_of(step.texts) is None]
        if not usable and all(step.origin.error for step in embeddings):
            return _failed([step.origin for step in embeddings])
        reason = None if usable else reason_of(embeddings[0].texts)
        return _judged(len(embeddings), reason, "the embedded text")
    if signs.recorded:
        return _unseen(signs, "the record has no embedder input")
    if signs.lexical:
        return _unseen(signs, "the retriever says that it searches by words")
    if not is_retrieved(steps, signs):
        return _unseen(signs, "nothing in the trace retrieves")
    return StageState(
        0,
        reason=UnknownReason.NOT_CAPTURED,
        why="a retriever that may be a dense one was seen, but no span of its embedder",
    )


def _retriever(steps: Steps, signs: Signs) -> StageState:
    found = steps.retrievers
    if not found:
        if not is_retrieved(steps, signs):
            return _unseen(signs, "nothing in the trace retrieves")
        return StageState(
            0,
            reason=UnknownReason.NOT_CAPTURED,
            why="there are signs of retrieval (an embedding, context in the prompt) but no span",
        )
    lists = [step.chunks for step in found if not (step.origin.error and not step.chunks.usable)]
    if not lists:
        return _failed([step.origin for step in found])
    why = ""
    if any(step.reconstructed for step in found):
        why = "it left no span: rebuilt from the reranker's candidates"
    return _judged(len(found), _worst(lists), "what was retrieved", why)


def _reranker(steps: Steps, signs: Signs) -> StageState:
    found = steps.rerankers
    if not found:
        return _unseen(signs, "no span selects among the retrieved chunks")
    reasons = [
        _worst([step.candidates]) or _worst([step.selected])
        for step in found
        if not (step.origin.error and not step.selected.usable)
    ]
    if not reasons:
        return _failed([step.origin for step in found])
    reason = None if None in reasons else reasons[0]
    return _judged(len(found), reason, "what the reranker was given or handed on")


def _assembly(steps: Steps, signs: Signs) -> StageState:
    found = steps.assemblies
    if not found:
        if not is_retrieved(steps, signs):
            return _unseen(signs, "there is no context to put into a prompt")
        return StageState(
            0, reason=UnknownReason.NOT_CAPTURED, why="the prompt that was sent left no span"
        )
    step = found[-1]
    reason = reason_of(step.prompt)
    if reason is not None:
        return _judged(len(found), reason, "the prompt")
    return _judged(len(found), _worst([step.selected]), "what was selected for the prompt")


def _generator(steps: Steps) -> StageState:
    found = steps.generators
    if not found:
        return StageState(
            0, reason=UnknownReason.NOT_CAPTURED, why="no LLM call that answers left a span"
        )
    step = found[-1]
    if step.origin.error and not step.answer.value:
        return _failed([step.origin])
    reason = reason_of(step.answer)
    if reason is not None:
        return _judged(len(found), reason, "the answer")
    return _judged(len(found), reason_of(step.messages), "the prompt")


def _worst(lists: Sequence[Field[tuple[Chunk, ...]]]) -> UnknownReason | None:
    """Return why lists of chunks cannot be judged: one that is not whole spoils their union."""
    for chunks in lists:
        reason = reason_of(chunks)
        if reason is not None:
            return reason
    texts = [chunk for found in lists for chunk in found.value or ()]
    hidden = [chunk for chunk in texts if not chunk.text and chunk.text_status in _REASONS]
    return _REASONS[hidden[0].text_status] if texts and len(hidden) == len(texts) else None
