"""A run record to what a judge is shown of it, and which findings about it can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from otel_raglog.checks.reading import (
    answer_of,
    chunks_of,
    prompt_of,
    question_of,
    retrieved_of,
    rewrites_of,
    selected_of,
)
from otel_raglog.errors import BadInput
from otel_raglog.lab.judges.findings import Findings
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Chunk, Run, Stage

NOT_RECORDED = "(not recorded)"
ABSENT = "(this pipeline has no such stage)"


@dataclass(frozen=True, slots=True)
class Case:
    """A run with its references.

    ``stages`` are those that the run has. ``chunks`` are the retrieved ones by alias (``c1`` …),
    ``selected`` and ``excluded`` the aliases of what went on and of what the reranker left out.
    """

    run: Run
    stages: tuple[Stage, ...]
    chunks: Mapping[str, Chunk]
    selected: tuple[str, ...]
    excluded: tuple[str, ...]
    answers: tuple[str, ...] = ()
    evidence_ids: tuple[str, ...] = ()
    evidence_texts: tuple[str, ...] = ()
    standalone: str | None = None
    cut_off: bool = False
    ids: Mapping[str, str] = field(default_factory=dict)

    def ids_of(self, aliases: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of chunks, aliases where these have none."""
        return tuple(self.ids.get(alias) or alias for alias in aliases)

    def check(self, findings: Findings) -> None:
        """Refuse findings that cannot be.

        Raises:
            BadInput: findings about a stage are missing, or name a chunk that the stage does not
                have; says which.
        """
        for stage in self.stages:
            if getattr(findings, stage.value) is None:
                raise BadInput(f"{stage.value} is null, but the run has this stage")
        retriever, reranker, assembly = findings.retriever, findings.reranker, findings.assembly
        named = (
            ("retriever.needed_chunks", retriever.needed_chunks if retriever else (), self.chunks),
            ("reranker.needed_excluded", reranker.needed_excluded if reranker else (), self.excluded),
            (
                "assembly.needed_lost",
                [each.chunk for each in assembly.needed_lost] if assembly else (),
                self.selected,
            ),
        )  # fmt: skip
        for place, aliases, known in named:
            stage = Stage(place.partition(".")[0])
            if stage in self.stages and (wrong := sorted(set(aliases) - set(known))):
                few = ", ".join(known) or "none"
                raise BadInput(f"{place} has {len(wrong)} names that are none of: {few}")


def case_of(record: Mapping[str, Any]) -> Case:
    """Return the case of a run record.

    Read are the run and of ``reference`` ``answers``, ``evidence_ids``, ``evidence_texts`` and
    ``standalone`` (the question without its history). Labels and injections are not shown.

    Raises:
        BadInput: the record is malformed.
    """
    run = run_from_record(record)
    reference = record.get("reference") or {}
    if not isinstance(reference, Mapping):
        raise BadInput(f"run record {run.run_id!r}: reference: must be a mapping")
    retrieved = retrieved_of(run) or ()
    selected_chunks = _selected(run)
    extra = [chunk for chunk in selected_chunks if _place(chunk, retrieved) is None]
    chunks = {f"c{number}": chunk for number, chunk in enumerate((*retrieved, *extra), 1)}
    every = tuple(chunks.values())
    names = tuple(chunks)
    selected = tuple(dict.fromkeys(names[at] for at in _places(selected_chunks, every)))
    reranked = bool(run.rerankers)
    return Case(
        run=run,
        stages=tuple(stage for stage in Stage if run.steps(stage)),
        chunks=chunks,
        selected=selected,
        excluded=tuple(name for name in names if name not in selected) if reranked else (),
        answers=_texts(reference.get("answers")),
        evidence_ids=_texts(reference.get("evidence_ids")),
        evidence_texts=_texts(reference.get("evidence_texts")),
        standalone=_text(reference.get("standalone")),
        cut_off=bool(run.generators) and run.generators[-1].finish_reason == "length",
        ids={name: chunk.id for name, chunk in chunks.items() if chunk.id},
    )


def parts_of(case: Case) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each part of a prompt."""
    run = case.run
    yield "question", question_of(run) or NOT_RECORDED
    if run.history.usable and run.history.value:
        turns = (f"{message.role}: {message.content}" for message in run.history.value)
        yield "conversation_before", "\n".join(turns)
    if case.standalone:
        yield "question_by_itself", case.standalone
    yield "reference_answers", _listed(case.answers) or "(unknown)"
    yield "evidence", _evidence(case)
    yield "stages", ", ".join(case.stages)
    yield (
        "rewrites",
        _of_stage(case, Stage.REWRITER, (t for s in run.rewriters for t in rewrites_of(s))),
    )
    embedded = (text for step in run.embedders for text in step.texts.value or ())
    yield "embedded_texts", _of_stage(case, Stage.EMBEDDER, embedded)
    yield "retrieved_chunks", "\n\n".join(map(_shown, case.chunks.items())) or "(none)"
    if case.run.rerankers:
        yield "passed_by_the_reranker", ", ".join(case.selected) or "(none)"
        yield "excluded_by_the_reranker", ", ".join(case.excluded) or "(none)"
    else:
        yield "selected_for_the_prompt", ", ".join(case.selected) or "(none)"
    yield "prompt", prompt_of(run) or NOT_RECORDED
    answer = answer_of(run)
    yield "answer", NOT_RECORDED if answer is None else answer or "(empty)"
    if case.cut_off:
        yield "finish_reason", "length"


def _selected(run: Run) -> Sequence[Chunk]:
    for step in reversed(run.rerankers):
        chunks = chunks_of(step.selected)
        if chunks is not None:
            return chunks
    return selected_of(run) or ()


def _places(chunks: Sequence[Chunk], among: Sequence[Chunk]) -> Iterator[int]:
    for chunk in chunks:
        place = _place(chunk, among)
        if place is not None:
            yield place


def _place(chunk: Chunk, among: Sequence[Chunk]) -> int | None:
    """Return where a chunk is: by its id, or where it has none, by its text."""
    for place, other in enumerate(among):
        if chunk.id is not None and other.id is not None:
            if chunk.id == other.id:
                return place
        elif chunk.text and chunk.text == other.text:
            return place
    return None


def _shown(item: tuple[str, Chunk]) -> str:
    name, chunk = item
    title = f" {chunk.title}" if chunk.title else ""
    return f"[{name}]{title}\n{chunk.text or NOT_RECORDED}"


def _of_stage(case: Case, stage: Stage, texts: Iterable[str]) -> str:
    if stage not in case.stages:
        return ABSENT
    return _listed(texts) or NOT_RECORDED


def _evidence(case: Case) -> str:
    by_id = {chunk_id: name for name, chunk_id in case.ids.items()}
    known = [by_id[each] for each in case.evidence_ids if each in by_id]
    missing = len(case.evidence_ids) - len(known)
    lines = (
        [f"retrieved chunks that are known to hold evidence: {', '.join(known)}"] if known else []
    )
    if missing:
        lines.append(f"known pieces of evidence that were not retrieved: {missing}")
    lines += [f"known evidence: {text}" for text in case.evidence_texts]
    return "\n".join(lines) or "(unknown)"


def _listed(texts: Iterable[str]) -> str:
    return "\n".join(f"- {text}" for text in texts)


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(str(each) for each in value) if isinstance(value, list | tuple) else ()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
