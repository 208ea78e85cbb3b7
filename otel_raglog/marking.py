"""Reports to what is appended to their spans, and to metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from otel_raglog.model import Report, Span
from otel_raglog.report.annotations import (
    AnnotationOptions,
    annotate,
    annotate_late,
    may_be_rag,
)
from otel_raglog.telemetry import ExemplarChoice, RunMetrics


@dataclass(frozen=True, slots=True)
class Marks:
    """What is appended to spans, by their ids, and to those that come later.

    ``exemplars`` are the ids of the runs that are marked so.
    """

    additions: dict[bytes, bytes]
    late_addition: bytes
    exemplars: frozenset[str] = frozenset()


class Marking:
    """Marks spans by reports, and counts these. A report that is of no RAG run marks no span."""

    def __init__(
        self, metrics: RunMetrics, exemplars: ExemplarChoice, options: AnnotationOptions
    ) -> None:
        self._metrics = metrics
        self._exemplars = exemplars
        self.options = options

    def marks(self, reports: Sequence[Report], spans: Mapping[bytes, Span]) -> Marks:
        """Return what is appended to ``spans``, the decoded spans of the reports' runs."""
        chosen = frozenset(
            report.run.run_id for report in reports if self._exemplars.choose(report.verdict)
        )
        judged = [report for report in reports if may_be_rag(report)]
        return Marks(
            annotate(reports, spans, self.options, exemplars=chosen),
            annotate_late(judged) if judged else b"",
            chosen,
        )

    def count(self, reports: Sequence[Report], exemplars: frozenset[str]) -> None:
        """Count final reports: each once."""
        for report in reports:
            if may_be_rag(report):
                self._metrics.count(report, exemplar=report.run.run_id in exemplars)
            else:
                self._metrics.skipped.labels(report.skip_reason or "unknown").inc()
        self.count_judge(reports)

    def count_judge(self, reports: Sequence[Report]) -> None:
        """Count what an LLM was asked about runs."""
        for report in reports:
            self._metrics.count_judge(report)
