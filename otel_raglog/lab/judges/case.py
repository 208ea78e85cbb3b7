"""A run record to what a judge is shown of it, and which findings about it can be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from otel_raglog.checks.reading import answer_of, prompt_of, text_of
from otel_raglog.errors import BadInput
from otel_raglog.judge.redacting import Redactor
from otel_raglog.lab.judges.findings import Findings
from otel_raglog.lab.judges.recorded import (
    found_of,
    is_unread,
    misses_chunks,
    passed_of,
    unlabelled,
)
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Chunk, Run, Stage

NOT_RECORDED = "(not recorded)"
ABSENT = "(this pipeline has no such stage)"
_NOTHING = Redactor(())


@dataclass(frozen=True, slots=True)
class Case:
    """A run with its references.

    ``stages`` are those that the run has and that can be labelled, ``unlabelled`` the others that
    it has, and why. ``chunks`` are the retrieved ones by alias (``c1`` …), ``selected`` and
    ``excluded`` the aliases of what went on and of what the reranker left out, ``unread`` those of
    which no text was recorded. ``misses_chunks``: more were retrieved than was recorded.
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
    unlabelled: Mapping[Stage, str] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()
    misses_chunks: bool = False

    def ids_of(self, aliases: Iterable[str]) -> tuple[str, ...]:
        """Return the ids of chunks, aliases where these have none."""
        return tuple(self.ids.get(alias) or alias for alias in aliases)

    def about_its_stages(self, findings: Findings) -> Findings:
        """Return findings without those about stages that the run lacks, or that have no label.

        A judge may state some all the same; nothing checks them, and they bear on no other stage.
        """
        others = {stage.value: None for stage in Stage if stage not in self.stages}
        return findings.model_copy(update=others)

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


def case_of(record: Mapping[str, Any], redact: Redactor = _NOTHING) -> Case:
    """Return the case of a run record, of which all texts have gone through ``redact``.

    Read are the run and of ``reference`` ``answers``, ``evidence_ids``, ``evidence_texts`` and
    ``standalone`` (the question without its history). Labels and injections are not shown.

    Raises:
        BadInput: the record is malformed.
    """
    run = run_from_record(record)
    reference = record.get("reference") or {}
    if not isinstance(reference, Mapping):
        raise BadInput(f"run record {run.run_id!r}: reference: must be a mapping")
    run = redact(run)
    # A key that is null says that something was passed, and not what.
    passed = None if record.get("passed", ()) is None else passed_of(run)
    found = found_of(run) or ()
    extra = [chunk for chunk in passed or () if _place(chunk, found) is None]
    chunks = {f"c{number}": chunk for number, chunk in enumerate((*found, *extra), 1)}
    every = tuple(chunks.values())
    names = tuple(chunks)
    selected = tuple(dict.fromkeys(names[at] for at in _places(passed or (), every)))
    chosen = bool(run.rerankers) and passed is not None
    missing = unlabelled(run, passed)
    standalone = _text(reference.get("standalone"))
    return Case(
        run=run,
        stages=tuple(stage for stage in Stage if run.steps(stage) and stage not in missing),
        chunks=chunks,
        selected=selected,
        excluded=tuple(name for name in names if name not in selected) if chosen else (),
        answers=tuple(map(redact.text, _texts(reference.get("answers")))),
        evidence_ids=_texts(reference.get("evidence_ids")),
        evidence_texts=tuple(map(redact.text, _texts(reference.get("evidence_texts")))),
        standalone=None if standalone is None else redact.text(standalone),
        cut_off=bool(run.generators) and run.generators[-1].finish_reason == "length",
        ids={name: chunk.id for name, chunk in chunks.items() if chunk.id},
        unlabelled=missing,
        unread=frozenset(name for name, chunk in chunks.items() if is_unread(chunk)),
        misses_chunks=misses_chunks(run),
    )


def parts_of(case: Case) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each part of a prompt."""
    run = case.run
    yield "question", text_of(run.question) or NOT_RECORDED
    if run.history.usable and run.history.value:
        turns = (f"{message.role}: {message.content}" for message in run.history.value)
        yield "conversation_before", "\n".join(turns)
    if case.standalone:
        yield "question_by_itself", case.standalone
    yield "reference_answers", _listed(case.answers) or "(unknown)"
    yield "evidence", _evidence(case)
    yield "stages", ", ".join(case.stages)
    rewrites = chain.from_iterable(step.rewrites.value or () for step in run.rewriters)
    yield "rewrites", _of_stage(case, Stage.REWRITER, filter(str.strip, rewrites))
    embedded = chain.from_iterable(step.texts.value or () for step in run.embedders)
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
        return NOT_RECORDED if stage in case.unlabelled else ABSENT
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
