"""Turns a run into which of its stages can be judged, and why the others cannot."""

from __future__ import annotations

from collections.abc import Iterable

from otel_raglog.checks.text.lexicon import COURTEOUS, COURTESIES, QUESTION_WORDS, STOPWORDS
from otel_raglog.checks.text.words import words
from otel_raglog.mapping.statements import is_rows, is_statement
from otel_raglog.model import (
    AssemblyStep,
    EmbedStep,
    Field,
    FieldStatus,
    GenerateStep,
    RerankStep,
    RetrieveStep,
    RewriteStep,
    Run,
    Stage,
    StageState,
    StageVerdict,
    Step,
    UnknownReason,
    Verdict,
)

_REASON_OF_STATUS = {
    FieldStatus.REDACTED: UnknownReason.REDACTED,
    FieldStatus.EVICTED: UnknownReason.INCOMPLETE,
    FieldStatus.TRUNCATED: UnknownReason.INCOMPLETE,
    FieldStatus.NOT_CAPTURED: UnknownReason.NOT_CAPTURED,
    FieldStatus.EXTERNAL: UnknownReason.NOT_CAPTURED,
}


def verdict_without_judging(run: Run, stage: Stage) -> Verdict | None:
    """Return ``absent`` or ``unknown`` with its reason, or ``None`` for a stage to be judged.

    A stage whose state names a reason keeps it. A run that the mapping skipped is ``skipped`` in
    every other stage that is not absent. A stage whose steps all failed is an ``error``; one
    whose needed fields are redacted, lost or were never recorded is unknown for that reason.
    """
    state = run.stages.get(stage) or _state_of_steps(run, stage)
    if state.absent:
        return Verdict(stage, StageVerdict.ABSENT, explanation=state.why)
    if state.reason is not None:
        return _unknown(stage, state.reason, state.why)
    if run.skip_reason is not None:
        return _unknown(stage, UnknownReason.SKIPPED, f"the run was skipped: {run.skip_reason}")
    return _steps_without_judging(run, stage, state)


def _steps_without_judging(run: Run, stage: Stage, state: StageState) -> Verdict | None:
    steps = run.steps(stage)
    if not steps:
        why = state.why or f"no {stage} step was recorded"
        return _unknown(stage, UnknownReason.NOT_CAPTURED, why)
    if all(step.origin.error is not None for step in steps):
        return _unknown(stage, UnknownReason.ERROR, f"every {stage} step ended in an error")
    if not run.question.usable or not (run.question.value or "").strip():
        return _unknown(stage, _reason(run.question), "the question was not recorded")
    return _lacking(run, stage, steps)


def step_unknown(step: Step) -> UnknownReason | None:
    """Return why one step cannot be judged, ``None`` when it can."""
    if step.origin.error is not None:
        return UnknownReason.ERROR
    fields = _needed(step)
    if any(_readable(field) for field in fields):
        return UnknownReason.ABSTAINED if _writes_statements(step) else None
    return _reason(fields[0]) if fields else UnknownReason.NOT_CAPTURED


def asks_nothing(run: Run) -> bool:
    """Tell whether a question only thanks, greets or applauds: a search for that finds nothing."""
    said = words(run.question.value or "") if run.question.usable else ()
    return (
        "?" not in (run.question.value or "")
        and any(word in COURTESIES for word in said)
        and all(word in COURTEOUS or word in STOPWORDS for word in said)
        and not any(word in QUESTION_WORDS for word in said)
    )


def finds_rows(run: Run) -> bool:
    """Tell whether a search by a statement of a query language found values and no passages."""
    return any(
        is_statement(step.query.value) and all(is_rows(text) for text in texts)
        for step in run.retrievers
        if step.query.value
        and (texts := [chunk.text for chunk in step.chunks.value or () if chunk.text])
    )


def _lacking(run: Run, stage: Stage, steps: Iterable[Step]) -> Verdict | None:
    """Return ``unknown`` when no step of the stage has what it takes to judge it."""
    reasons = [step_unknown(step) for step in steps]
    if stage is Stage.RETRIEVER and None in reasons and _texts_hidden(run):
        return _unknown(stage, UnknownReason.REDACTED, "the texts of the chunks are redacted")
    if None in reasons:
        return None
    reason = next(reason for reason in reasons if reason is not None)
    what = {
        Stage.REWRITER: "the rewrites",
        Stage.EMBEDDER: "the embedded text",
        Stage.RETRIEVER: "the retrieved chunks",
        Stage.RERANKER: "the reranked chunks",
        Stage.ASSEMBLY: "the selected chunks or the prompt",
        Stage.GENERATOR: "the answer",
    }[stage]
    if reason is UnknownReason.ABSTAINED:
        why = "a statement of a query language cannot be compared with the question's words"
        return _unknown(stage, reason, why)
    if reason is UnknownReason.ERROR:
        return _unknown(stage, reason, f"every {stage} step ended in an error or left no data")
    how = {UnknownReason.REDACTED: "redacted", UnknownReason.INCOMPLETE: "lost on the way"}
    return _unknown(stage, reason, f"{what} were {how.get(reason, 'not recorded')}")


def _writes_statements(step: Step) -> bool:
    """Tell whether all that a rewriter wrote are statements of a query language (SQL, filters)."""
    written = step.rewrites.value if isinstance(step, RewriteStep) else None
    return bool(written) and all(is_statement(text) for text in written or ())


def _needed(step: Step) -> tuple[Field[object], ...]:
    """Return the fields of which at least one must be readable."""
    match step:
        case RewriteStep():
            return (step.rewrites,)
        case EmbedStep():
            return (step.texts,)
        case RetrieveStep():
            return (step.chunks,)
        case RerankStep():
            return (step.selected,)
        case AssemblyStep():
            return (step.prompt, step.context)
        case GenerateStep():
            return (step.answer,)


def _readable(field: Field[object]) -> bool:
    return field.usable


def _texts_hidden(run: Run) -> bool:
    chunks = [chunk for step in run.retrievers for chunk in step.chunks.value or ()]
    return bool(chunks) and all(c.text_status is FieldStatus.REDACTED for c in chunks)


def _reason(field: Field[object]) -> UnknownReason:
    return _REASON_OF_STATUS.get(field.status, UnknownReason.NOT_CAPTURED)


def _state_of_steps(run: Run, stage: Stage) -> StageState:
    count = len(run.steps(stage))
    if count:
        return StageState(count)
    return StageState(0, reason=UnknownReason.NOT_CAPTURED, why=f"no {stage} step was recorded")


def _unknown(stage: Stage, reason: UnknownReason, why: str) -> Verdict:
    return Verdict(stage, StageVerdict.UNKNOWN, reason=reason, explanation=why)
