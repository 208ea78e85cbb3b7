"""A run to what a judge cannot find out about it: what was not recorded makes no label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from otel_raglog.checks.judge.material import Material, ungraded
from otel_raglog.checks.reading import answer_of, chunks_of, prompt_of, retrieved_of
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.mapping.chunks import union
from otel_raglog.model import Chunk, Field, FieldStatus, Run, Stage

_READ = frozenset({FieldStatus.PRESENT, FieldStatus.EMPTY})
_REDACTED = "redacted"
_PASSED = "what went on to the prompt was not captured"


def found_of(run: Run) -> tuple[Chunk, ...] | None:
    """Return all chunks that came up: of retrievers, and of the rerankers' candidates."""
    candidates = (chunks_of(step.candidates) for step in run.rerankers)
    lists = [chunks for chunks in (retrieved_of(run), *candidates) if chunks is not None]
    return union(lists) if lists else None


def passed_of(run: Run) -> tuple[Chunk, ...] | None:
    """Return what went on to the prompt: of the last reranker, else of the assembly, else all.

    ``None`` where a reranker chose and its choice was not recorded.
    """
    fields = [step.selected for step in reversed(run.rerankers)]
    fields += [step.selected for step in reversed(run.assemblies)]
    for each in fields:
        chunks = chunks_of(each)
        if chunks is not None:
            return chunks
    return None if run.rerankers else retrieved_of(run)


def is_unread(chunk: Chunk) -> bool:
    """Tell whether the text of a chunk was not recorded, or is redacted."""
    return chunk.text_status not in _READ or is_redacted(chunk.text)


def misses_chunks(run: Run) -> bool:
    """Tell whether chunks of some retrieval were not recorded; a union of all makes up for that."""
    fused = any(step.fused and chunks_of(step.chunks) is not None for step in run.retrievers)
    return not fused and any(chunks_of(step.chunks) is None for step in run.retrievers)


def unlabelled(run: Run, passed: Sequence[Chunk] | None) -> Mapping[Stage, str]:
    """Return why stages that the run has cannot be labelled at all.

    ``passed`` is what went on to the prompt, ``None`` where that is not known. Texts that are
    redacted as a whole count as not recorded.
    """
    material = Material.of(run)
    why = dict(ungraded(run, material))
    hidden = is_redacted(run.question.value or "")
    if not material.question.missing and not hidden:
        why[Stage.REWRITER] = why.get(Stage.REWRITER) or _of_texts(
            step.rewrites for step in run.rewriters
        )
        why[Stage.EMBEDDER] = why.get(Stage.EMBEDDER) or _of_texts(
            step.texts for step in run.embedders
        )
        why[Stage.RERANKER] = why.get(Stage.RERANKER) or (_PASSED if passed is None else "")
        why[Stage.ASSEMBLY] = _of_assembly(run, passed)
        why[Stage.GENERATOR] = _of_generator(run, passed, material.answer.missing)
    elif hidden:
        why = dict.fromkeys(Stage, f"question {_REDACTED}")
    return {stage: why[stage] for stage in Stage if run.steps(stage) and why.get(stage)}


def _of_texts(fields: Iterator[Field[tuple[str, ...]]]) -> str:
    """Return why not all texts of a stage are known: of one that is not, nothing can be said."""
    for field in fields:
        if field.status not in _READ:
            return _in_words(field.status)
        if any(map(is_redacted, field.value or ())):
            return _REDACTED
    return ""


def _of_assembly(run: Run, passed: Sequence[Chunk] | None) -> str:
    prompt = prompt_of(run)
    if prompt is None:
        return f"prompt {_in_words(_status_of_prompt(run))}"
    if is_redacted(prompt):
        return f"prompt {_REDACTED}"
    if passed is None:
        return _PASSED
    return "chunks without text" if passed and all(map(is_unread, passed)) else ""


def _of_generator(run: Run, passed: Sequence[Chunk] | None, why_no_answer: str) -> str:
    """Return why; without a prompt the passed chunks stand in for it, where all were recorded."""
    answer, prompt = answer_of(run), prompt_of(run)
    if answer is None:
        return why_no_answer
    if is_redacted(answer) or is_redacted(prompt or ""):
        return _REDACTED
    if prompt is not None:
        return ""
    if _status_of_prompt(run) is FieldStatus.REDACTED:
        return f"prompt {_REDACTED}"
    if passed is None:
        return _PASSED
    return "no prompt, and chunks without text" if any(map(is_unread, passed)) else ""


def _status_of_prompt(run: Run) -> FieldStatus:
    steps = (*(step.prompt for step in run.assemblies), *(step.messages for step in run.generators))
    return steps[-1].status if steps else FieldStatus.NOT_CAPTURED


def _in_words(status: FieldStatus) -> str:
    return "empty" if status is FieldStatus.PRESENT else status.value.replace("_", " ")
