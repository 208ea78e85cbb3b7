"""What a run lacks to one line: what to do about it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from otel_raglog.conventions.convention import Convention
from otel_raglog.model import Role, Stage, StageState, UnknownReason

CUSTOM = "map it with a rule of your own (conventions.custom, docs/custom-conventions.md)"
PARENT_OR_JOIN = (
    "open one span around each question, so that its calls are one trace, or set join.enabled "
    "(docs/joining.md)"
)
_UNRECORDED = {
    Stage.REWRITER: "instrument the client of the model that rewrites; a rewrite without a model "
    f"needs a span of its own: {CUSTOM}",
    Stage.EMBEDDER: "instrument the embedding client too, so that its call is a span of this trace",
    Stage.RETRIEVER: "trace the search: the framework's retriever, or the client of the vector "
    f"database, or a span of your own around it; where a span of yours is there, {CUSTOM}",
    Stage.RERANKER: f"trace the reranker, with the documents in and out; {CUSTOM}",
    Stage.ASSEMBLY: "the prompt is read from the LLM call that answers: see the generator",
    Stage.GENERATOR: "instrument the client of the language model; where its calls are traces of "
    f"their own, {PARENT_OR_JOIN}",
}
_ABSENT = {
    Stage.REWRITER: "nothing, unless the application rewrites questions: then instrument "
    f"the client of that model, or {CUSTOM}",
    Stage.EMBEDDER: "nothing, unless the application embeds questions: then instrument the "
    "embedding client too",
    Stage.RETRIEVER: "nothing, unless the application searches: then trace the search, or "
    + CUSTOM,
    Stage.RERANKER: "nothing, unless the application reranks: ",
    Stage.ASSEMBLY: "nothing: without retrieved text there is no context in the prompt",
    Stage.GENERATOR: "nothing, unless the application answers: then instrument the client "
    "of the language model",
}


FRAGMENTS = frozenset({"embedding_only", "no_retrieval"})
"""Why a trace is skipped that may be a part of a run."""

NO_RUNS = frozenset(
    {
        "cached_answer",
        "evaluation",
        "ignored",
        "no_genai_spans",
        "no_spans",
        "no_stages",
        "unread_convention",
    }
)
"""Why a trace is skipped that is no run at all, as far as its spans tell, or needs no stages."""

_SKIPPED = {
    "embedding_only": f"if this belongs to a question, {PARENT_OR_JOIN}",
    "no_retrieval": "if this answers from retrieved text, trace the search as well; if that is in a "
    f"trace of its own, {PARENT_OR_JOIN}",
    "no_question": "have the question in the input of the topmost span, or in the messages of the "
    "LLM call",
    "unread_convention": "instrument with a convention that is read "
    "(docs/reference/conventions.md), or map these attributes with rules of your own "
    "(docs/custom-conventions.md)",
    "no_genai_spans": "nothing, unless this is a question: then instrument search and LLM, or, "
    "where spans of your own are these steps, say so in conventions.custom "
    "(docs/custom-conventions.md)",
    "no_stages": "nothing, unless this is a question: then instrument search and LLM",
    "cached_answer": "nothing: only answers that are made anew are judged",
}
_OTHER = {
    UnknownReason.INCOMPLETE: "parts were lost on the way: the spans' losses tell how",
    UnknownReason.ERROR: "the step failed in the application: see its error",
}


def content_remedy(speaking: Sequence[Convention], recording: Collection[str] = ()) -> str:
    """Return how the content of spans is turned on, as the first convention that knows says.

    Empty when that one is among ``recording``, the names of those whose content is on. What one
    after it recorded does not matter: a sender's own switch may leave some content to GenAI keys.
    """
    first = next((item for item in speaking if item.remedy), None)
    return "" if first is None or first.name in recording else first.remedy


def skip_remedy(reason: str) -> str:
    """Return what to do about a trace that is skipped; empty where that is as it should be."""
    return _SKIPPED.get(reason, "")


def missing_stage_remedy(stage: Stage, state: StageState, speaking: Sequence[Convention]) -> str:
    """Return what to do about a stage that left no span; empty where none is to be expected.

    A reranker is, of which none of the conventions could tell.
    """
    if state.steps:
        return ""
    untold = stage is Stage.RERANKER and bool(speaking) and not _tell_rerankers(speaking)
    return stage_remedy(stage, state, speaking) if untold or not state.absent else ""


def stage_remedy(
    stage: Stage,
    state: StageState,
    speaking: Sequence[Convention],
    recording: Collection[str] = (),
) -> str:
    """Return what to do about a stage that was not captured whole; empty when it was.

    ``speaking`` are the conventions of the stage's spans, or of all where it has none;
    ``recording`` the names of those that recorded content, so that it is on.
    """
    if state.steps:
        return _partly(stage, state, speaking, recording)
    if state.absent and stage is Stage.RERANKER:
        return _ABSENT[stage] + _about_rerankers(speaking)
    return (_ABSENT if state.absent else _UNRECORDED)[stage]


def _partly(
    stage: Stage,
    state: StageState,
    speaking: Sequence[Convention],
    recording: Collection[str],
) -> str:
    """Return what to do about a stage whose steps were captured, and not all that is in them."""
    if state.reason is UnknownReason.REDACTED:
        return f"content is hidden: {content_remedy(speaking) or 'show it'}"
    if state.reason is not UnknownReason.NOT_CAPTURED:
        return _OTHER.get(state.reason, "see why nothing was judged") if state.reason else ""
    if stage is Stage.ASSEMBLY:
        return "it is read from what was retrieved and from the prompt: see these stages"
    switch = content_remedy(speaking, recording)
    return switch or f"this instrumentation does not record it: write it on the span, or {CUSTOM}"


def _about_rerankers(speaking: Sequence[Convention]) -> str:
    if speaking and not _tell_rerankers(speaking):
        titles = " and ".join(item.title for item in speaking)
        verb = "has" if len(speaking) == 1 else "have"
        return f"{titles} {verb} no kind for rerankers, so {CUSTOM}"
    return f"then trace the reranker, or {CUSTOM}"


def _tell_rerankers(speaking: Sequence[Convention]) -> bool:
    return any(Role.RERANKER in item.wanted for item in speaking)
