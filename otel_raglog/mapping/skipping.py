"""Runs and traces of which nothing can be judged to the reason, in a word and in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from otel_raglog.conventions.registry import recognise, unread_keys
from otel_raglog.mapping.judging import holds_judged, is_judgement, is_scored
from otel_raglog.model import (
    NOT_CAPTURED,
    FieldStatus,
    Run,
    Span,
    Stage,
    StageState,
    Trace,
    UnknownReason,
)

_SHOWN_KEYS = 8
_QUESTION_REASONS = {
    FieldStatus.REDACTED: UnknownReason.REDACTED,
    FieldStatus.EVICTED: UnknownReason.INCOMPLETE,
    FieldStatus.TRUNCATED: UnknownReason.INCOMPLETE,
}


def explain_skip(run: Run, *, cached: bool = False) -> Run:
    """Return the run with its ``skip_reason`` and a note when it cannot be judged, else as it is.

    Reasons are ``cached_answer`` (with ``cached``: a cache gave the answer), ``embedding_only``,
    ``no_stages``, ``no_retrieval``, ``evaluation`` and ``no_question``.
    """
    states = run.stages
    if not run.generators and not run.retrievers:
        return _without_search_and_answer(run, cached=cached)
    if (judging := _evaluating(run)) is not None:
        return _skip(run, "evaluation", judging, UnknownReason.SKIPPED)
    if states[Stage.RETRIEVER].absent and not run.retrievers:
        note = "an LLM was called without any sign of retrieval: this is no RAG run"
        return _skip(run, "no_retrieval", note, UnknownReason.SKIPPED)
    if not (run.question.usable and run.question.value):
        status = run.question.status
        note = f"the question is not known ({status.value.replace('_', ' ')})"
        reason = _QUESTION_REASONS.get(status, UnknownReason.NOT_CAPTURED)
        return _skip(run, "no_question", note, reason)
    return run


def _without_search_and_answer(run: Run, *, cached: bool) -> Run:
    if cached:
        note = "a cache gave the answer: nothing was retrieved or generated for this question"
        state = StageState(0, reason=UnknownReason.SKIPPED, why=note)
        hidden = {s: state for s, found in run.stages.items() if not (found.absent or found.steps)}
        run = replace(run, stages={**run.stages, **hidden})
        return _skip(run, "cached_answer", note, UnknownReason.SKIPPED)
    if run.embedders:
        note = (
            "only embedding calls (and what was written to be embedded) are in this trace; the "
            "search and the answer they belong to are in other traces or were not captured"
        )
        return _skip(run, "embedding_only", note, UnknownReason.SKIPPED)
    note = "no span of this trace retrieves, reranks or answers"
    return _skip(run, "no_stages", note, UnknownReason.SKIPPED)


def _evaluating(run: Run) -> str | None:
    """Return how a run shows that it judges the answer of another one, ``None`` if it does not."""
    said = [(step.messages.value or (), step.answer.value or "") for step in run.generators]
    if said and all(is_judgement(messages, answer) for messages, answer in said):
        return "the LLM is told to judge an answer: this evaluates another run"
    searched = (
        run.retrievers or run.embedders or run.rerankers or run.stages[Stage.RETRIEVER].absent
    )
    if (
        said
        and not searched
        and all(is_scored(answer) and holds_judged(messages, answer) for messages, answer in said)
    ):
        return (
            "nothing was searched, and the LLM, given an answer, says scores or verdicts: this "
            "evaluates another run"
        )
    return None


def around_evaluators(run: Run) -> Run:
    """Return a run, of a trace with evaluators that were left out, that has no stages as theirs."""
    if run.skip_reason != "no_stages":
        return run
    note = "there are no other steps than those of evaluators"
    return _skip(replace(run, notes=()), "evaluation", note, UnknownReason.SKIPPED)


def unread_run(trace: Trace, spans: Sequence[Span]) -> Run:
    """Return the run of a trace none of whose spans speaks a vocabulary that is read.

    The reason is ``unread_convention`` or ``no_genai_spans``.
    """
    names = sorted({name for span in spans if (name := recognise(span)) is not None})
    keys = sorted({key for span in spans for key in unread_keys(span)})
    if not names:
        note = "no span of this trace carries attributes of an LLM or retrieval instrumentation"
        return skipped_run(trace, spans, "no_genai_spans", note)
    shown = ", ".join(keys[:_SHOWN_KEYS]) + (", …" if len(keys) > _SHOWN_KEYS else "")
    prefixes = ", ".join(sorted({f"{key.split('.')[0]}.*" for key in keys}))
    note = (
        f"the spans carry {prefixes} attributes ({', '.join(names)}), which this version does "
        f"not read; keys seen: {shown}"
    )
    return skipped_run(trace, spans, "unread_convention", note)


def skipped_run(trace: Trace, spans: Sequence[Span], reason: str, note: str) -> Run:
    """Return a run without steps, for a trace that cannot be mapped."""
    tops = sorted(
        spans or trace.spans,
        key=lambda span: (bool(span.parent_id), span.start_unix_nano, span.span_id),
    )
    service = tops[0].resource.get("service.name") if tops else None
    state = StageState(0, reason=UnknownReason.SKIPPED, why=note)
    return Run(
        run_id=trace.trace_id.hex(),
        trace_id=trace.trace_id,
        top_span_id=tops[0].span_id if tops else b"",
        service=str(service) if service else "unknown",
        question=NOT_CAPTURED,
        answer=NOT_CAPTURED,
        stages=dict.fromkeys(Stage, state),
        completion=trace.completion,
        span_ids=tuple(sorted({span.span_id for span in tops})),
        skip_reason=reason,
        notes=(note,),
    )


def _skip(run: Run, word: str, note: str, reason: UnknownReason) -> Run:
    stages = {
        stage: state
        if state.absent or state.reason is not None
        else replace(state, reason=reason, why=note)
        for stage, state in run.stages.items()
    }
    return replace(run, skip_reason=word, notes=(*run.notes, note), stages=stages)
