"""Held traces to reports: decode, map, measure and judge, on the calling thread.

Where an LLM is asked, that goes on beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from otel_raglog.checks.check import Check
from otel_raglog.checks.runner import FailureObserver, measure
from otel_raglog.clock import Clock
from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.registry import BUILT_IN
from otel_raglog.detect.detector import Detector
from otel_raglog.errors import BadInput
from otel_raglog.llm_tier import Asked, LlmTier
from otel_raglog.mapping.feedback import is_disliked
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.mapping.views import with_views
from otel_raglog.model import (
    HeldTrace,
    JudgeUse,
    Measurement,
    Report,
    Run,
    Span,
    Tier,
    Trace,
    WireSpan,
)
from otel_raglog.receive.span import decode_span
from otel_raglog.redaction.redaction import Redaction
from otel_raglog.report.building import build_report

_MOST_ENCODED_CHUNKS = 200
_MOST_ENCODED_CHARACTERS = 500_000


def _is_heavy(run: Run) -> bool:
    texts = {chunk.text for step in run.retrievers for chunk in step.chunks.value or ()}
    texts |= {chunk.text for step in run.rerankers for chunk in step.candidates.value or ()}
    return len(texts) > _MOST_ENCODED_CHUNKS or sum(map(len, texts)) > _MOST_ENCODED_CHARACTERS


def _decoded(wires: Iterable[WireSpan], decode: Callable[[WireSpan], Span]) -> Iterator[Span]:
    for wire in wires:
        try:
            yield decode(wire)
        except BadInput:
            continue


@dataclass(frozen=True, slots=True)
class Mapped:
    """A trace with its runs, and how long each took to map."""

    trace: Trace
    runs: tuple[Run, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Assessed:
    """What the local tier says of a run, and the LLM that is asked about it, if one is."""

    report: Report
    asked: Asked | None = None

    def final(self) -> Report:
        """Return the final report; wait for the LLM if need be."""
        return self.report if self.asked is None else self.asked.final(self.report)


@dataclass(frozen=True, slots=True)
class Analyser:
    """The whole local line from spans to verdicts."""

    checks: Sequence[Check]
    detector: Detector
    clock: Clock
    quote_text: bool = False
    failures: FailureObserver | None = None
    conventions: ConventionSet = BUILT_IN
    without: tuple[str, ...] = ()
    """The groups of checks that the detector reads and that do not run."""
    llm: LlmTier | None = None
    redaction: Redaction | None = None
    """What is left out of all that is shown of a run; what is judged is the run as it is."""

    @property
    def detector_version(self) -> str:
        """The detector's version, with what it has to do without: it judges otherwise then."""
        left_out = f"+without-{'-'.join(self.without)}" if self.without else ""
        return f"{self.detector.version}{left_out}"

    def decode(self, held: HeldTrace) -> Trace:
        """Return the readable spans of ``held``; unreadable ones are left out of the analysis."""
        spans = tuple(_decoded(held.spans, decode_span))
        redaction = self.redaction
        shown = None
        if redaction is not None:
            shown = tuple(_decoded(held.spans, lambda wire: decode_span(redaction.span(wire))))
        return Trace(held.trace_id, spans, held.completion, held.waited_seconds, shown)

    def reports(self, trace: Trace) -> tuple[Report, ...]:
        """Return one report per run of ``trace``."""
        return self.reports_of(self.mapped(trace))

    def mapped(self, trace: Trace) -> Mapped:
        """Return the runs of ``trace``, not judged yet."""
        started = self.clock.perf_counter()
        runs = map_trace(trace, self.conventions)
        if trace.shown is not None:
            seen = map_trace(replace(trace, spans=trace.shown), self.conventions)
            runs = tuple(with_views(runs, seen))
        spent = self.clock.perf_counter() - started
        return Mapped(trace, runs, spent / max(1, len(runs)))

    def reports_of(self, mapped: Mapped) -> tuple[Report, ...]:
        """Return the final report of each run; wait for the LLM where it is asked."""
        return tuple(assessed.final() for assessed in self.assess_all(mapped))

    def judge(self, run: Run) -> Report:
        """Return the final report of ``run``; wait for the LLM where it is asked."""
        return self.assess(run).final()

    def assess_all(self, mapped: Mapped) -> tuple[Assessed, ...]:
        """Return what the local tier says of each run, the LLM being asked about some."""
        disliked = self.llm is not None and is_disliked(mapped.trace.spans)
        return tuple(self.assess(run, mapped.seconds, disliked=disliked) for run in mapped.runs)

    def measure(self, run: Run) -> tuple[Run, tuple[Measurement, ...]]:
        """Return what the detector is given: ``run``, with a note if need be, and measurements.

        A run of which too much was retrieved is measured by rules alone, a run to be skipped not
        at all. Training measures by this too.
        """
        checks = self.checks
        if _is_heavy(run):
            # Each chunk costs milliseconds to encode, and others wait behind this run.
            checks = [check for check in checks if check.name.startswith("rules.")]
            run = replace(run, notes=(*run.notes, "so much was retrieved that rules alone judged"))
        if run.skip_reason is not None:
            return run, ()
        return run, measure(run, checks, self.failures)

    def assess(self, run: Run, spent_seconds: float = 0.0, *, disliked: bool = False) -> Assessed:
        """Return what the local tier says of ``run``, the LLM being asked about it if it is chosen.

        ``disliked``: its user marked it as bad.
        """
        llm = self.llm
        # First: the answers take longer than all that is measured here.
        chosen = None if llm is None else llm.before(run, disliked=disliked)
        report = self._local(run, spent_seconds)
        if llm is not None and chosen is None:
            chosen = llm.after(report.run, report.verdicts)
        if isinstance(chosen, JudgeUse):
            return Assessed(replace(report, judge=chosen))
        return Assessed(report, chosen)

    def _local(self, run: Run, spent_seconds: float) -> Report:
        started = self.clock.perf_counter()
        run, measurements = self.measure(run)
        verdicts = self.detector.judge(run, measurements)
        spent = spent_seconds + self.clock.perf_counter() - started
        return build_report(
            run,
            measurements,
            verdicts,
            detector_version=self.detector_version,
            tier=Tier.LOCAL,
            analysis_seconds=spent,
            quote_text=self.quote_text,
        )
