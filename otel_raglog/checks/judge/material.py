"""Gathers the texts of a run that an LLM could be shown, or why there are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from otel_raglog.checks.phrases import counted
from otel_raglog.checks.reading import (
    answer_of,
    answering_step,
    chunk_text,
    chunks_of,
    context_of,
    prompt_of,
    readable,
    retrieved_of,
    selected_of,
)
from otel_raglog.checks.rules.reranker import excluded_of, with_texts
from otel_raglog.checks.text.survival import Fate, PromptText
from otel_raglog.mapping.chunks import union
from otel_raglog.model import (
    Chunk,
    Field,
    FieldStatus,
    RewriteKind,
    Run,
    Stage,
    UnknownReason,
)

_FINISH_CHARACTERS = 60

_EMPTY = "empty"
_STATUS: Mapping[FieldStatus, str] = {
    FieldStatus.PRESENT: _EMPTY,
    FieldStatus.EMPTY: _EMPTY,
    FieldStatus.TRUNCATED: _EMPTY,
    FieldStatus.REDACTED: "redacted",
    FieldStatus.NOT_CAPTURED: "not captured",
    FieldStatus.EVICTED: "lost before it was recorded",
    FieldStatus.EXTERNAL: "stored elsewhere",
}
_REASON: Mapping[UnknownReason, str] = {
    UnknownReason.NOT_CAPTURED: "not captured",
    UnknownReason.INCOMPLETE: "parts of its record were lost",
    UnknownReason.REDACTED: "redacted",
    UnknownReason.ERROR: "it ended in an error",
    UnknownReason.ABSTAINED: "not captured",
    UnknownReason.SKIPPED: "not captured",
}
_KINDS: Mapping[RewriteKind, str] = {
    RewriteKind.REWRITE: "",
    RewriteKind.CONDENSE: "made of the question and the earlier turns",
    RewriteKind.MULTI_QUERY: "one of several queries",
    RewriteKind.HYDE: "a hypothetical passage",
}
_FATES: Mapping[Fate, str] = {
    Fate.DROPPED: "not in the generator's prompt",
    Fate.TRUNCATED: "only in part in the generator's prompt",
    Fate.PARTIAL: "only in part in the generator's prompt",
}
_ROLES: Mapping[str, str] = {
    "user": "by the user",
    "human": "by the user",
    "assistant": "by the assistant",
    "ai": "by the assistant",
    "system": "by the application",
    "tool": "by a tool",
}
_CUT = "cut in the recording"


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the run; ``note`` is in our own words, never of the run."""

    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Texts:
    """All texts of one kind. ``missing`` says why there are none, ``notes`` what has no text."""

    label: str
    texts: tuple[Text, ...] = ()
    missing: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Material:
    """All texts that an LLM could be shown of a run, before any is shortened or left out."""

    question: Texts
    turns: Texts
    rewrites: Texts
    embedded: Texts
    passed: Texts
    context: Texts
    excluded: Texts
    answer: Texts
    finish: Texts

    @classmethod
    def of(cls, run: Run) -> Material:
        """Return what ``run`` has."""
        passed, context = _passed(run)
        step = answering_step(run)
        finish = (step.finish_reason if step else None) or ""
        return cls(
            _one("question", run.question),
            _turns(run),
            _rewrites(run),
            _embedded(run),
            passed,
            context,
            _excluded(run),
            _answer(run),
            Texts("finish reason", (Text(finish[:_FINISH_CHARACTERS]),) if finish else ()),
        )


def _one(label: str, field: Field[str]) -> Texts:
    if not field.usable or field.value is None or not field.value.strip():
        return Texts(label, missing=_STATUS[field.status])
    note = _CUT if field.status is FieldStatus.TRUNCATED else ""
    return Texts(label, (Text(field.value, note),))


def _turns(run: Run) -> Texts:
    turns = run.history.value if run.history.usable and run.history.value else ()
    return Texts(
        "earlier turn",
        tuple(Text(turn.content, _ROLES.get(turn.role.casefold(), "")) for turn in turns),
    )


def _rewrites(run: Run) -> Texts:
    texts = tuple(
        Text(text, note)
        for step in run.rewriters
        for text, note in (
            *((each, _KINDS[step.kind]) for each in step.rewrites.value or () if each.strip()),
            *(((step.filters, "the search's filter"),) if step.filters else ()),
        )
    )
    return _or_why(run, Stage.REWRITER, "rewrite", texts, (s.rewrites for s in run.rewriters))


def _embedded(run: Run) -> Texts:
    texts = tuple(
        Text(text, "a passage, which need not be the question" if step.passage else "")
        for step in run.embedders
        for text in (step.texts.value if step.texts.usable and step.texts.value else ())
        if text.strip()
    )
    return _or_why(run, Stage.EMBEDDER, "embedded text", texts, (s.texts for s in run.embedders))


def _or_why(
    run: Run,
    stage: Stage,
    label: str,
    texts: tuple[Text, ...],
    fields: Iterable[Field[tuple[str, ...]]],
) -> Texts:
    if texts:
        return Texts(label, texts)
    why = next((_STATUS[field.status] for field in fields), _why_no(run, stage))
    return Texts(label, missing=why)


def _why_no(run: Run, stage: Stage) -> str:
    state = run.stages.get(stage)
    if state is not None and state.absent:
        return f"this pipeline has no {stage}"
    return _REASON[state.reason] if state is not None and state.reason else "not captured"


def _why_unknown(run: Run) -> str:
    """Return why no chunks are known of the run."""
    return next((_STATUS[step.chunks.status] for step in run.retrievers), "") or _why_no(
        run, Stage.RETRIEVER
    )


def _found(run: Run) -> tuple[Chunk, ...] | None:
    """Return all chunks that came up, of the retrievers and of the rerankers' candidates."""
    lists = [
        chunks
        for chunks in (
            retrieved_of(run),
            *(chunks_of(step.candidates) for step in run.rerankers),
        )
        if chunks is not None
    ]
    return union(lists) if lists else None


def _passed(run: Run) -> tuple[Texts, Texts]:
    """Return the passed chunks, and what the generator had to answer from that is none of them."""
    label, seen = "passed chunk", "prompt part"
    selected = selected_of(run)
    context = context_of(run)
    if selected is None:
        pieces = context.pieces if context is not None else ()
        if pieces:
            return Texts(label, tuple(map(Text, pieces))), Texts(seen)
        return Texts(label, missing=_why_unknown(run)), Texts(seen)
    chunks = with_texts(selected, _found(run) or ())
    told = readable(chunks)
    texts = {chunk_text(chunk) for chunk in told}
    more = [piece for piece in (context.pieces if context else ()) if piece not in texts]
    prompt = prompt_of(run)
    looked = None if prompt is None else PromptText.of(prompt)
    shown = tuple(
        Text(chunk_text(chunk), _FATES.get(looked.survival(chunk.text).fate, "") if looked else "")
        for chunk in told
    )
    missing = "" if shown else _why_none(chunks, "no chunk was passed")
    notes = _without_text(chunks, told) if shown else ()
    return Texts(label, shown, missing, notes), Texts(seen, tuple(map(Text, more)))


def _excluded(run: Run) -> Texts:
    label = "excluded chunk"
    found, selected = _found(run), selected_of(run)
    if found is None or selected is None:
        return Texts(label, missing=_why_unknown(run))
    chunks = excluded_of(found, with_texts(selected, found))
    told = readable(chunks)
    if not told:
        return Texts(label, missing=_why_none(chunks, "no chunk was excluded"))
    texts = tuple(Text(chunk_text(chunk)) for chunk in told)
    return Texts(label, texts, notes=_without_text(chunks, told))


def _why_none(chunks: Sequence[Chunk], nothing: str) -> str:
    """Return why no text of ``chunks`` is shown."""
    if not chunks:
        return nothing
    return f"{counted(len(chunks), 'chunk')} without text: {_STATUS[chunks[0].text_status]}"


def _without_text(chunks: Sequence[Chunk], told: Sequence[Chunk]) -> tuple[str, ...]:
    count = len(chunks) - len(told)
    return (f"of {counted(count, 'further chunk')} no text was recorded",) if count else ()


def _answer(run: Run) -> Texts:
    label = "answer"
    answer = answer_of(run)
    fields = (run.answer, *(step.answer for step in run.generators[-1:]))
    if answer is None:
        status = next((f.status for f in fields if f.status is FieldStatus.REDACTED), None)
        return Texts(label, missing=_STATUS[status or run.answer.status])
    if not answer.strip():
        return Texts(label, missing=_EMPTY)
    cut = any(f.status is FieldStatus.TRUNCATED and f.value == answer for f in fields)
    return Texts(label, (Text(answer, _CUT if cut else ""),))


def ungraded(run: Run, material: Material) -> Mapping[Stage, str]:
    """Return why stages cannot be graded by ``material``; the assembly is not asked about."""
    if material.question.missing:
        return dict.fromkeys(Stage, f"question {material.question.missing}")
    found, selected = _found(run), selected_of(run)
    unread = _why_none(found, "") if found and not readable(found) else ""
    # That no chunk was passed is known, and can be judged; what it says otherwise cannot.
    unknown = "" if selected == () else material.passed.missing
    why = {
        Stage.REWRITER: _unless(run, Stage.REWRITER) or material.rewrites.missing,
        Stage.EMBEDDER: _unless(run, Stage.EMBEDDER) or material.embedded.missing,
        Stage.RETRIEVER: _unless(run, Stage.RETRIEVER) or _unless_known(run, found) or unread,
        Stage.RERANKER: _unless(run, Stage.RERANKER)
        or _unless_chosen(run)
        or _unless_known(run, found)
        or _unless_known(run, selected)
        or unknown,
        Stage.ASSEMBLY: "not asked about",
        Stage.GENERATOR: _unless(run, Stage.GENERATOR)
        or ("" if material.answer.missing == _EMPTY else material.answer.missing)
        or ("" if material.context.texts else unknown),
    }
    return {stage: reason for stage, reason in why.items() if reason}


def _unless_chosen(run: Run) -> str:
    """Return why it is not known what a reranker chose, empty when it is."""
    choices = [
        *(step.selected for step in run.assemblies),
        *(step.selected for step in run.rerankers),
    ]
    if any(chunks_of(field) is not None for field in choices):
        return ""
    return next((_STATUS[step.selected.status] for step in run.rerankers), "")


def _unless_known(run: Run, chunks: tuple[Chunk, ...] | None) -> str:
    return _why_unknown(run) if chunks is None else ""


def _unless(run: Run, stage: Stage) -> str:
    """Return why the run has no step of ``stage``, empty when it has."""
    return "" if run.steps(stage) else _why_no(run, stage)
