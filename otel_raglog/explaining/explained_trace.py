"""The spans of a trace, and its runs, to what became of each span, in the order of the tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.explaining.losses import Lost, losses_of
from otel_raglog.explaining.remedies import (
    FRAGMENTS,
    NO_RUNS,
    missing_stage_remedy,
    skip_remedy,
)
from otel_raglog.explaining.span_reading import (
    CONTENT,
    SpanReading,
    is_content,
    is_there,
    read_closely,
)
from otel_raglog.mapping.evaluators import evaluator_spans
from otel_raglog.mapping.mapping import OWN_SCOPES
from otel_raglog.mapping.tree import NONE, Node, Tree, build_tree, unique_spans
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
    Role,
    Run,
    Span,
    Stage,
    Step,
)

_WRAPPERS = frozenset({Role.CHAIN, Role.AGENT, Role.UNKNOWN, Role.PROMPT, Role.GUARDRAIL})


class Outcome(StrEnum):
    """What became of a span."""

    STEP = "step"
    COLLAPSED = "collapsed"
    WRAPPER = "wrapper"
    NO_STEP = "no_step"
    LEFT_OUT = "left_out"
    NOT_READ = "not_read"


@dataclass(frozen=True, slots=True)
class ExplainedSpan:
    """A span, where it is in the tree, what became of it and what it lost.

    ``parent`` is a position among the spans of the trace, -1 above all. ``became`` says it in
    words; ``why`` has the sentences of the steps, ``placed`` how its parent was found where that
    was not the one it names.
    """

    reading: SpanReading
    parent: int
    depth: int
    outcome: Outcome
    became: str
    why: tuple[str, ...] = ()
    placed: str = ""
    read_here: tuple[str, ...] = ()
    """The question and the answer of runs that were read from this span."""
    losses: tuple[Lost, ...] = ()
    uncaptured: tuple[str, ...] = ()
    """Facts that were never recorded, though the step needs them."""


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to do, what it is about, and how many spans that lost something it is for."""

    text: str
    kinds: tuple[str, ...]
    spans: int = 0


@dataclass(frozen=True, slots=True)
class ExplainedTrace:
    """A trace: its spans in depth-first order, siblings in order of start."""

    spans: tuple[ExplainedSpan, ...]
    remedies: tuple[Remedy, ...]


def explain_trace(
    spans: Iterable[Span], runs: Sequence[Run], conventions: ConventionSet
) -> ExplainedTrace:
    """Return what became of each of ``spans``, of which ``runs`` were made.

    Never raises, however broken, deep or wide the trace is.
    """
    readings = {span.span_id: read_closely(span, conventions) for span in unique_spans(spans)}
    facts = {key: read.facts for key, read in readings.items() if read.facts is not None}
    tree = build_tree([read.span for read in readings.values()], facts)
    steps = _Steps(runs)
    outside = _outside(tree)
    recording = {
        used.convention
        for read in readings.values()
        for used in read.used
        if is_content(read, used.fact)
    }
    positions = {index: place for place, index in enumerate(tree.order)}
    explained: list[ExplainedSpan] = []
    for index in tree.order:
        node = tree.nodes[index]
        reading = readings[node.span.span_id]
        parent = positions[node.parent] if node.parent != NONE else NONE
        outcome, became = _outcome(node, reading, steps, outside.get(index))
        losses: tuple[Lost, ...] = ()
        lacking: tuple[str, ...] = ()
        if outcome is not Outcome.LEFT_OUT:
            lacking = _uncaptured(reading, steps)
            losses = losses_of(reading, _documents(reading, steps), lacking, recording)
        explained.append(
            ExplainedSpan(
                reading=reading,
                parent=parent,
                depth=explained[parent].depth + 1 if parent != NONE else 0,
                outcome=outcome,
                became=became,
                why=steps.why(node.span.span_id),
                placed=_placed(tree, node, readings),
                read_here=steps.read_at.get(node.span.span_id, ()),
                losses=losses,
                uncaptured=lacking,
            )
        )
    remedies = (*remedies_of(explained), *_of_runs(runs, readings.values()))
    return ExplainedTrace(tuple(explained), remedies)


def remedies_of(spans: Iterable[ExplainedSpan]) -> tuple[Remedy, ...]:
    """Return each remedy once, in order of the spans that it is for."""
    found: dict[str, list[str]] = {}
    for item in spans:
        for lost in item.losses:
            found.setdefault(lost.remedy, []).append(lost.kind.value)
    return tuple(
        Remedy(text, tuple(dict.fromkeys(kinds)), len(kinds)) for text, kinds in found.items()
    )


def _of_runs(runs: Sequence[Run], readings: Iterable[SpanReading]) -> tuple[Remedy, ...]:
    """Return what to do about runs that are skipped, and about stages that left no span."""
    speaking = tuple({item.name: item for read in readings for item in read.speaking}.values())
    found: dict[str, dict[str, None]] = {}
    for run in runs:
        if run.skip_reason is not None and (text := skip_remedy(run.skip_reason)):
            found.setdefault(text, {})[f"not judged ({run.skip_reason})"] = None
        if run.skip_reason not in FRAGMENTS | NO_RUNS:
            for stage, state in run.stages.items():
                if text := missing_stage_remedy(stage, state, speaking):
                    found.setdefault(text, {})[f"no {stage.value}"] = None
    return tuple(Remedy(text, tuple(kinds)) for text, kinds in found.items())


def fields_of(step: Step) -> Mapping[str, Field[object]]:
    """Return the content of a step, by the fact of a span that it is read from."""
    match step:
        case RewriteStep():
            return {"output_messages": step.rewrites}
        case EmbedStep():
            return {"embedding_texts": step.texts}
        case RetrieveStep():
            return {"query": step.query, "documents": step.chunks}
        case RerankStep():
            return {
                "query": step.query,
                "input_documents": step.candidates,
                "documents": step.selected,
            }
        case AssemblyStep():
            return {"messages": step.prompt}
        case GenerateStep():
            return {"messages": step.messages, "output_messages": step.answer}


class _Steps:
    """The steps of the runs by the spans that they were made of."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self.read_at: dict[bytes, tuple[str, ...]] = {}
        self.carried: dict[bytes, list[tuple[str, Step]]] = {}
        self.members: dict[bytes, list[tuple[str, Step]]] = {}
        several = len(runs) > 1
        for number, run in enumerate(runs, 1):
            of_run = f" of run {number}" if several else ""
            for stage in Stage:
                self._add(run, stage, of_run)
            for word, field in (("question", run.question), ("answer", run.answer)):
                if field.source is not None:
                    place = field.source.span_id
                    here = self.read_at.get(place, ())
                    self.read_at[place] = (*here, f"{word}{of_run}")

    def _add(self, run: Run, stage: Stage, of_run: str) -> None:
        steps = run.steps(stage)
        for at, step in enumerate(steps, 1):
            which = f" step {at} of {len(steps)}" if len(steps) > 1 else ""
            name = f"{stage.value}{which}{of_run}"
            origin = step.origin
            self.carried.setdefault(origin.span_id, []).append((name, step))
            for span_id in origin.span_ids:
                if span_id != origin.span_id:
                    self.members.setdefault(span_id, []).append((name, step))

    def why(self, span_id: bytes) -> tuple[str, ...]:
        """Return the sentences of the steps whose verdict a span bears."""
        return tuple(
            f"{name}: {step.origin.why}"
            for name, step in self.carried.get(span_id, ())
            if step.origin.why
        )


def _outside(tree: Tree) -> dict[int, str]:
    """Return the spans that are no part of any run, with the reason."""
    found: dict[int, str] = {}
    facts = {n.span.span_id: n.facts for n in tree.nodes if n.facts is not None}
    judging = evaluator_spans([node.span for node in tree.nodes], facts)
    for index in tree.order:
        node = tree.nodes[index]
        if node.span.scope_name.startswith(OWN_SCOPES):
            found[index] = "left out: a span of otel-raglog's own"
        elif node.span.span_id in judging:
            found[index] = "left out: an evaluator's span"
        elif node.role is Role.IGNORED:
            found[index] = "left out: your configuration says so (stage: ignore)"
        elif node.parent in found:
            found[index] = "left out with the span above it"
    return found


def _outcome(
    node: Node, reading: SpanReading, steps: _Steps, outside: str | None
) -> tuple[Outcome, str]:
    span_id = node.span.span_id
    carried = steps.carried.get(span_id)
    if carried:
        return Outcome.STEP, ", ".join(name for name, _ in carried)
    members = steps.members.get(span_id)
    if members:
        places = ", ".join(f"{name} ({step.origin.name})" for name, step in members)
        return Outcome.COLLAPSED, f"collapsed into {places}"
    if outside is not None:
        return Outcome.LEFT_OUT, outside
    if reading.facts is None:
        return Outcome.NOT_READ, _why_unread(reading)
    role = reading.role
    if role in _WRAPPERS:
        around = "wrapper" if node.children else "no step"
        return (Outcome.WRAPPER if node.children else Outcome.NO_STEP), f"{around} ({role.value})"
    return Outcome.NO_STEP, f"no step ({role.value})"


def _why_unread(reading: SpanReading) -> str:
    if reading.unread is not None:
        return f"not read: {reading.unread} is not read by this version"
    if reading.speaking:
        titles = ", ".join(item.title for item in reading.speaking)
        return f"not read: it has keys of {titles}, and none that say what it did"
    return "not read: no attribute of an LLM or retrieval instrumentation"


def _placed(tree: Tree, node: Node, readings: Mapping[bytes, SpanReading]) -> str:
    """Return how the parent was found, where it is not the one that the span names."""
    named = node.span.parent_id
    parent = tree.nodes[node.parent].span if node.parent != NONE else None
    if not named or (parent is not None and parent.span_id == named):
        return "" if named or parent is None else "it names no parent: put here by its time"
    if named in readings:
        if parent is None:
            return "its parents lead in a circle, which is cut here"
        return f"put here by its time, as a second instrumentation's (parent {named.hex()})"
    missing = f"its parent {named.hex()} is not among the spans that are read"
    return missing if parent is None else f"{missing}: put here by its time"


def _uncaptured(reading: SpanReading, steps: _Steps) -> tuple[str, ...]:
    """Return the facts that a step lacks since they were never recorded.

    Of several spans that are one step it does not matter which of them has the content.
    """
    span_id = reading.span.span_id
    carried = steps.carried.get(span_id, ())
    if carried:
        lacking = [
            fact
            for _, step in carried
            for fact, field in fields_of(step).items()
            if field.status is FieldStatus.NOT_CAPTURED and not _says(reading, fact)
        ]
        return tuple(dict.fromkeys(lacking))
    if span_id in steps.members:
        return ()
    return tuple(
        item.fact
        for item in reading.sought
        if item.fact in CONTENT.get(reading.role, ()) and item.status is FieldStatus.NOT_CAPTURED
    )


def _documents(reading: SpanReading, steps: _Steps) -> dict[str, tuple[Chunk, ...]]:
    """Return the documents of the step that a span is; of a search that is none, its own."""
    span_id = reading.span.span_id
    found: dict[str, tuple[Chunk, ...]] = {}
    for _, step in steps.carried.get(span_id, ()):
        if isinstance(step, RetrieveStep):
            found["documents"] = step.chunks.value or ()
        elif isinstance(step, RerankStep):
            found["input_documents"] = step.candidates.value or ()
            found["documents"] = step.selected.value or ()
    known = span_id in steps.carried or span_id in steps.members
    if known or reading.facts is None or reading.role not in {Role.RETRIEVER, Role.RERANKER}:
        return found
    return {"documents": reading.facts.documents.value or ()}


def _says(reading: SpanReading, fact: str) -> bool:
    return reading.facts is not None and is_there(reading.facts, fact)
