"""Many traces to a summary of each service's set-up: what is captured, how often, what is not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from otel_raglog.conventions.base import senders
from otel_raglog.conventions.convention import Convention
from otel_raglog.explaining.explained_trace import ExplainedSpan, Outcome
from otel_raglog.explaining.losses import LossKind, uncaptured
from otel_raglog.explaining.remedies import (
    FRAGMENTS,
    NO_RUNS,
    PARENT_OR_JOIN,
    skip_remedy,
    stage_remedy,
)
from otel_raglog.explaining.span_reading import is_content
from otel_raglog.mapping.roles import evaluates
from otel_raglog.model import Role, Run, Stage, StageState, UnknownReason

EXAMPLES = 3
"""Traces that are named for each finding."""

_SEARCHES = (Stage.EMBEDDER, Stage.RETRIEVER, Stage.RERANKER)
_SEVERAL = 2
_MOST_NOTES = 100


@dataclass(frozen=True, slots=True)
class StageSetup:
    """One stage over all runs that count: in how many it was captured, and from what.

    ``partly``: there are steps, and not all that is judged; ``missing``: the application has the
    stage, and no span tells of it; ``absent``: nothing hints at such a stage.
    """

    stage: Stage
    captured: int
    partly: int
    missing: int
    absent: int
    of: int
    span_names: tuple[tuple[str, int], ...]
    conventions: tuple[str, ...]
    why: str = ""
    remedy: str = ""

    @property
    def share(self) -> float:
        """The share of runs in which the stage was captured whole."""
        return self.captured / self.of if self.of else 0.0


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to know about a service: how often, in which traces, and what to do about it."""

    kind: str
    what: str
    count: int
    remedy: str = ""
    traces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceSetup:
    """What the traces of one service say. ``counted`` are the runs that stages are counted in."""

    service: str
    traces: int
    runs: int
    counted: int
    judgeable: int
    conventions: tuple[str, ...]
    stages: tuple[StageSetup, ...]
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class _Note:
    """A finding that is being counted."""

    what: str
    remedy: str
    lacking: ExplainedSpan | None = None
    """The first span of those whose content was never recorded."""

    count: int = 0
    traces: dict[str, None] = field(default_factory=dict)

    def add(self, trace: str) -> None:
        self.count += 1
        if trace and len(self.traces) < EXAMPLES:
            self.traces[trace] = None


@dataclass(slots=True)
class _RunSeen:
    """What is kept of a run: nothing of its texts."""

    trace: str
    skip_reason: str | None
    states: dict[Stage, StageState]
    names: dict[Stage, tuple[tuple[str, tuple[Convention, ...]], ...]]
    session: bool


@dataclass(slots=True)
class _Service:
    """A service that is being counted."""

    traces: int = 0
    runs: list[_RunSeen] = field(default_factory=list)
    speaking: dict[str, Convention] = field(default_factory=dict)
    recording: set[str] = field(default_factory=set)
    """The conventions that recorded content on some span."""

    notes: dict[tuple[str, str], _Note] = field(default_factory=dict)

    def note(
        self,
        kind: str,
        what: str,
        remedy: str,
        trace: str,
        lacking: ExplainedSpan | None = None,
    ) -> None:
        # What was dropped or cut differs from span to span; what to do about it does not.
        same = what if kind == LossKind.NOT_CAPTURED or not remedy else remedy
        key = (kind, same)
        if len(self.notes) >= _MOST_NOTES and key not in self.notes:
            key = (kind, "")
        self.notes.setdefault(key, _Note(what, remedy, lacking)).add(trace)


class SetupSummary:
    """Counts traces, one by one. Keeps no texts, so that there may be many."""

    def __init__(self) -> None:
        self._services: dict[str, _Service] = {}

    def add(self, runs: Sequence[Run], spans: Sequence[ExplainedSpan], traces: int = 1) -> None:
        """Count the runs of a trace, or of several that were joined, with all their spans."""
        if not runs:
            return
        service = self._services.setdefault(runs[0].service, _Service())
        service.traces += traces
        trace = runs[0].trace_id.hex()
        conventions = {item.reading.span.span_id: item.reading.speaking for item in spans}
        for run in runs:
            service.runs.append(_seen(run, trace, conventions))
            if run.skip_reason is not None:
                note = _Note(" ".join(run.notes), skip_remedy(run.skip_reason))
                service.notes.setdefault((run.skip_reason, ""), note).add(trace)
        for item in spans:
            _note_span(service, item, trace)

    def services(self) -> tuple[ServiceSetup, ...]:
        """Return the summary of each service, in order of names."""
        return tuple(_summary(name, found) for name, found in sorted(self._services.items()))


def _seen(run: Run, trace: str, conventions: dict[bytes, tuple[Convention, ...]]) -> _RunSeen:
    return _RunSeen(
        trace=trace,
        skip_reason=run.skip_reason,
        states=dict(run.stages),
        names={
            stage: tuple(
                (step.origin.name, conventions.get(step.origin.span_id, ()))
                for step in run.steps(stage)
            )
            for stage in Stage
        },
        session=run.session_id is not None,
    )


# ------------------------------------------------------------------------- what is noted


def _note_span(service: _Service, item: ExplainedSpan, trace: str) -> None:
    reading = item.reading
    if item.outcome is Outcome.LEFT_OUT:
        if reading.facts is not None and evaluates(reading.span, reading.facts):
            what = "spans of evaluators, left out with all below them"
            service.note("evaluators", what, "", trace)
        elif reading.role is Role.IGNORED:
            service.note("ignored", "spans that your configuration leaves out", "", trace)
        return
    if reading.unread is not None:
        what = f"spans of {reading.unread}, which this version does not read"
        service.note("unread", what, "", trace)
    if reading.facts is None:
        return
    for convention in reading.speaking:
        service.speaking.setdefault(convention.name, convention)
    writing = senders(reading.speaking)
    if len(writing) >= _SEVERAL:
        titles = " and ".join(convention.title for convention in writing)
        what = f"spans with attributes of {titles}: the first counts, the others fill its gaps"
        service.note("several_conventions", what, "", trace)
    service.recording.update(
        used.convention for used in reading.used if is_content(reading, used.fact)
    )
    for lost in item.losses:
        lacking = item if lost.kind is LossKind.NOT_CAPTURED else None
        service.note(lost.kind.value, lost.what, lost.remedy, trace, lacking)


# --------------------------------------------------------------------------- the summary


def _summary(name: str, service: _Service) -> ServiceSetup:
    speaking = tuple(service.speaking.values())
    counted = _counted(service.runs)
    return ServiceSetup(
        service=name,
        traces=service.traces,
        runs=len(service.runs),
        counted=len(counted),
        judgeable=sum(run.skip_reason is None for run in service.runs),
        conventions=tuple(convention.title for convention in speaking),
        stages=tuple(_stage(stage, counted, speaking, service.recording) for stage in Stage),
        findings=tuple(_findings(service, counted)),
    )


def _counted(runs: Sequence[_RunSeen]) -> list[_RunSeen]:
    """Return the runs that stages are counted in: those of questions; else what there is."""
    questions = [run for run in runs if run.skip_reason not in FRAGMENTS | NO_RUNS]
    return questions or [run for run in runs if run.skip_reason not in NO_RUNS]


def _stage(
    stage: Stage,
    runs: Sequence[_RunSeen],
    speaking: Sequence[Convention],
    recording: Collection[str],
) -> StageSetup:
    states = [run.states[stage] for run in runs]
    names: Counter[str] = Counter()
    conventions: dict[str, Convention] = {}
    for run in runs:
        steps = run.names[stage]
        names.update({name for name, _ in steps if name})
        conventions.update({item.name: item for _, found in steps for item in found})
    state = _usual(states)
    return StageSetup(
        stage=stage,
        captured=sum(item.steps > 0 and item.reason is None for item in states),
        partly=sum(item.steps > 0 and item.reason is not None for item in states),
        missing=sum(item.steps == 0 and not item.absent for item in states),
        absent=sum(item.steps == 0 and item.absent for item in states),
        of=len(states),
        span_names=tuple(sorted(names.items(), key=lambda item: (-item[1], item[0]))),
        conventions=tuple(item.title for item in conventions.values()),
        why=state.why if state else "",
        remedy=(
            stage_remedy(stage, state, tuple(conventions.values()) or speaking, recording)
            if state
            else ""
        ),
    )


def _usual(states: Sequence[StageState]) -> StageState | None:
    """Return the most frequent state of those that are not captured whole, if there are any."""
    lacking = [item for item in states if item.steps == 0 or item.reason is not None]
    if not lacking:
        return None

    def kind(state: StageState) -> tuple[bool, bool, UnknownReason | None]:
        return state.steps > 0, state.absent, state.reason

    (usual, _), *_ = Counter(map(kind, lacking)).most_common(1)
    return next(item for item in lacking if kind(item) == usual)


def _findings(service: _Service, counted: Sequence[_RunSeen]) -> Iterator[Finding]:
    yield from _fragments(service)
    for (kind, _), note in service.notes.items():
        remedy = note.remedy
        if note.lacking is not None:
            # Content that is on in one trace is on in all of them.
            span = note.lacking
            lost = uncaptured(span.reading, span.uncaptured, service.recording)
            remedy = lost[0].remedy
        yield Finding(kind, note.what, note.count, remedy, tuple(note.traces))
    without = [run for run in counted if not run.session]
    if without:
        yield Finding(
            "no_session",
            f"runs without a session id ({len(without)} of {len(counted)}): turns of a "
            "conversation cannot be told",
            len(without),
            "set session.id or gen_ai.conversation.id on the spans, if there are conversations",
            _examples(without),
        )
    if not service.speaking and service.traces:
        yield Finding(
            "nothing_read",
            "traces of which no span is read",
            service.traces,
            "instrument the framework or the clients (README, What is read), or say in "
            "conventions.custom what your own spans are (docs/custom-conventions.md)",
        )


def _fragments(service: _Service) -> Iterator[Finding]:
    """Yield that parts of runs are traces of their own, where both sides are there."""
    embeddings = [run for run in service.runs if run.skip_reason == "embedding_only"]
    searches = [
        run
        for run in service.runs
        if run.skip_reason not in NO_RUNS
        and run.states[Stage.RETRIEVER].steps
        and not run.states[Stage.GENERATOR].steps
    ]
    calls = [
        run
        for run in service.runs
        if run.states[Stage.GENERATOR].steps
        and not any(run.states[stage].steps for stage in _SEARCHES)
    ]
    alone = [*embeddings, *searches]
    if alone and calls:
        yield Finding(
            "fragments",
            f"parts of runs in traces of their own: {len(alone)} that only search or embed, "
            f"{len(calls)} that only call an LLM",
            len(alone) + len(calls),
            PARENT_OR_JOIN,
            _examples([*alone, *calls]),
        )


def _examples(runs: Iterable[_RunSeen]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run.trace for run in runs if run.trace))[:EXAMPLES]
