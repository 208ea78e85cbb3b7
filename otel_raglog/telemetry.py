"""Reports to Prometheus metrics."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from otel_raglog.clock import Clock
from otel_raglog.model import (
    FieldStatus,
    Measurement,
    Report,
    RunVerdict,
    Stage,
    StageVerdict,
)

_log = structlog.get_logger()

OVERFLOW = "_overflow"
UNKNOWN_SERVICE = "unknown_service"
_MAX_LABEL_LENGTH = 120

_PROBABILITY_BUCKETS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_RATIO_BUCKETS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.999)
_SCORE_BUCKETS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 5.0, 20.0, 100.0)
_COUNT_BUCKETS = (0, 1, 2, 3, 5, 8, 10, 20, 50, 100)
_STAGE_SECONDS_BUCKETS = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_ANALYSIS_SECONDS_BUCKETS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)

CONTEXT_UTILIZATION = "assembly.intact_share"
PROMPT_BUDGET = "assembly.budget_ratio"
WORDS_UNSUPPORTED = "generator.words_unsupported_share"
"""Measurements of the rules, from which three histograms come."""


class CappedLabel:
    """Names at most ``limit`` distinct values of a label; further ones are ``_overflow``.

    An early value keeps its series. Thread-safe.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._seen: set[str] = set()
        self._lock = threading.Lock()

    def __call__(self, value: str) -> str:
        """Return the label value to use for ``value``."""
        name = _printable(value)
        with self._lock:
            if name in self._seen:
                return name
            if len(self._seen) < self._limit:
                self._seen.add(name)
                return name
        return OVERFLOW


class ExemplarChoice:
    """Chooses the runs that are marked ``raglog.exemplar``: at most some a minute.

    Faulty runs come first: an ok run is chosen only as the first of its minute.
    """

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._minute = -1
        self._chosen = 0
        self._ok_chosen = False

    def choose(self, verdict: RunVerdict) -> bool:
        """Tell whether a run with ``verdict`` becomes an exemplar."""
        minute = int(self._clock.monotonic() // 60)
        if minute != self._minute:
            self._minute, self._chosen, self._ok_chosen = minute, 0, False
        if self._chosen >= self._per_minute or verdict is RunVerdict.UNKNOWN:
            return False
        if verdict is RunVerdict.OK:
            if self._ok_chosen:
                return False
            self._ok_chosen = True
        self._chosen += 1
        return True


class RunMetrics:
    """Counts final reports. Counters move once per run."""

    def __init__(self, registry: CollectorRegistry, max_label_values: int = 20) -> None:
        self._service = CappedLabel(max_label_values)
        self._failures: set[tuple[str, str]] = set()

        def counter(name: str, text: str, *labels: str) -> Counter:
            return Counter(name, text, labels, registry=registry)

        def histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
            return Histogram(name, text, labels, buckets=buckets, registry=registry)

        self.runs = counter("raglog_runs", "Runs by verdict.", "service", "verdict")
        self.verdicts = counter(
            "raglog_stage_verdicts", "Stages judged.", "service", "stage", "verdict"
        )
        self.first_faulty = counter(
            "raglog_first_faulty_stage",
            "Faulty runs, by the stage where their first fault is.",
            "service",
            "stage",
        )
        self.faults = counter("raglog_faults", "Faults found.", "service", "stage", "fault_type")
        self.warnings = counter("raglog_warnings", "Warnings.", "service", "stage", "warning")
        self.skipped = counter("raglog_skipped", "Traces or runs not judged.", "reason")
        self.retrieval_empty = counter(
            "raglog_retrieval_empty", "Runs whose retrieval returned nothing.", "service"
        )
        self.output_truncated = counter(
            "raglog_output_truncated", "Runs whose answer was cut off.", "service"
        )
        self.late_spans = counter("raglog_late_spans", "Spans that came after the verdict.")
        self.traces_evicted = counter(
            "raglog_traces_evicted", "Traces released before they were whole.", "reason"
        )
        self.joined_traces = counter(
            "raglog_joined_traces", "Traces that were judged as one run with others."
        )
        self.probability = histogram(
            "raglog_stage_fault_probability",
            "Probability that a stage is faulty.",
            _PROBABILITY_BUCKETS,
            "service",
            "stage",
        )
        self.top_score = histogram(
            "raglog_retrieval_top_score",
            "Best retrieval score of a run, in the store's own unit.",
            _SCORE_BUCKETS,
            "service",
            "score_kind",
        )
        self.chunks = histogram(
            "raglog_retrieved_chunks", "Chunks retrieved in a run.", _COUNT_BUCKETS, "service"
        )
        self.utilization = histogram(
            "raglog_context_utilization_ratio",
            "Share of the selected chunks that are in the prompt unmodified.",
            _RATIO_BUCKETS,
            "service",
        )
        self.budget = histogram(
            "raglog_prompt_budget_ratio",
            "Prompt tokens over the model's limit.",
            _RATIO_BUCKETS,
            "service",
        )
        self.groundedness = histogram(
            "raglog_groundedness_ratio",
            "Share of the answer's own words that the prompt holds.",
            _RATIO_BUCKETS,
            "service",
        )
        self.stage_seconds = histogram(
            "raglog_stage_duration_seconds",
            "Time that the application spent in a stage.",
            _STAGE_SECONDS_BUCKETS,
            "service",
            "stage",
        )
        self.llm_calls = counter("raglog_llm_calls", "Calls of the LLM that judges.", "model")
        self.llm_tokens = counter(
            "raglog_llm_tokens", "Tokens of the LLM that judges.", "model", "kind"
        )
        self.llm_cost = counter(
            "raglog_llm_cost_usd", "USD for the LLM that judges, where its price is known.", "model"
        )
        self.judge_skipped = counter(
            "raglog_judge_skipped", "Runs that no LLM was asked about.", "reason"
        )
        self.judge_abstained = counter(
            "raglog_judge_abstained", "Checks by the LLM without an answer.", "check", "reason"
        )
        self.injection_suspected = counter(
            "raglog_judge_injection_suspected",
            "Runs shown to the LLM whose texts try to instruct it.",
            "service",
            "kind",
        )
        self.late_verdicts = counter(
            "raglog_late_verdicts", "Verdicts of the LLM that came after the spans had left."
        )
        self.check_failures = counter(
            "raglog_check_failures", "Checks that raised, and so yielded nothing.", "check", "error"
        )
        self.analysis_seconds = histogram(
            "raglog_analysis_seconds", "Time to judge a run.", _ANALYSIS_SECONDS_BUCKETS
        )

    def check_failed(self, check: str, error: str) -> None:
        """Count a check that raised ``error``; log the first of its kind."""
        if (check, error) not in self._failures:
            self._failures.add((check, error))
            _log.error("check failed; its measurements are missing", check=check, error=error)
        self.check_failures.labels(check, error).inc()

    def failed(self, where: str) -> None:
        """Count a defect of the assembler or of what it calls: spans passed unjudged."""
        self.skipped.labels(f"{where}_error").inc()

    def count(self, report: Report, *, exemplar: bool) -> None:
        """Count a final report; ``exemplar`` attaches its trace id to what it counts."""
        run = report.run
        service = self._service(run.shown.service or UNKNOWN_SERVICE)
        trace = {"trace_id": run.trace_id.hex()} if exemplar else None
        self.runs.labels(service, report.verdict.value).inc(exemplar=trace)
        self.analysis_seconds.observe(report.analysis_seconds)
        if report.skip_reason:
            self.skipped.labels(report.skip_reason).inc()
        if report.first_faulty_stage is not None:
            self.first_faulty.labels(service, report.first_faulty_stage.value).inc(exemplar=trace)
        for stage, verdict in report.verdicts.items():
            self.verdicts.labels(service, stage.value, verdict.verdict.value).inc(exemplar=trace)
            if verdict.probability is not None:
                self.probability.labels(service, stage.value).observe(verdict.probability, trace)
            if verdict.verdict is StageVerdict.FAULTY:
                for fault in verdict.fault_types:
                    self.faults.labels(service, stage.value, fault.value).inc(exemplar=trace)
            for warning in verdict.warnings:
                self.warnings.labels(service, stage.value, warning.value).inc()
            seconds = [step.origin.seconds for step in run.steps(stage) if step.origin.span_ids]
            if seconds and stage is not Stage.ASSEMBLY:
                self.stage_seconds.labels(service, stage.value).observe(sum(seconds), trace)
        self._count_retrieval(report, service, trace)
        self._count_measured(report.measurements, service, trace)

    def count_judge(self, report: Report) -> None:
        """Count what an LLM was asked about a run, or why it was not."""
        use = report.judge
        if use is None:
            return
        if use.skipped:
            self.judge_skipped.labels(use.skipped).inc()
        self.llm_calls.labels(use.model).inc(use.calls)
        kinds = {
            "prompt": use.prompt_tokens - use.cached_tokens,
            "cached": use.cached_tokens,
            "completion": use.completion_tokens,
        }
        for what, tokens in kinds.items():
            self.llm_tokens.labels(use.model, what).inc(max(0, tokens))
        if use.cost_usd is not None:
            self.llm_cost.labels(use.model).inc(use.cost_usd)
        for check, reason in use.abstained:
            self.judge_abstained.labels(check, reason).inc()
        service = self._service(report.run.shown.service or UNKNOWN_SERVICE)
        for kind in {kind for kind, _ in use.suspected}:
            self.injection_suspected.labels(service, kind).inc()

    def _count_retrieval(self, report: Report, service: str, trace: dict[str, str] | None) -> None:
        retrievals = [step for step in report.run.retrievers if step.chunks.usable]
        if retrievals:
            ids = {
                chunk.id or chunk.text for step in retrievals for chunk in step.chunks.value or ()
            }
            self.chunks.labels(service).observe(len(ids), trace)
            if not ids and all(step.chunks.status is FieldStatus.EMPTY for step in retrievals):
                self.retrieval_empty.labels(service).inc(exemplar=trace)
        scored = [
            (chunk.score, chunk.score_kind.value)
            for step in retrievals
            for chunk in step.chunks.value or ()
            if chunk.score is not None
        ]
        for kind in {kind for _, kind in scored}:
            scores = [score for score, own in scored if own == kind]
            best = min(scores) if kind == "distance" else max(scores)
            self.top_score.labels(service, kind).observe(best, trace)
        if any(step.finish_reason in {"length", "max_tokens"} for step in report.run.generators):
            self.output_truncated.labels(service).inc(exemplar=trace)

    def _count_measured(
        self, measurements: tuple[Measurement, ...], service: str, trace: dict[str, str] | None
    ) -> None:
        values = {m.name: m.value for m in measurements if m.value is not None}
        unsupported = values.get(WORDS_UNSUPPORTED)
        shown = (
            (self.utilization, values.get(CONTEXT_UTILIZATION)),
            (self.budget, values.get(PROMPT_BUDGET)),
            (self.groundedness, None if unsupported is None else 1 - unsupported),
        )
        for histogram, value in shown:
            if value is not None:
                histogram.labels(service).observe(value, trace)


def add_gauge(registry: CollectorRegistry, name: str, text: str, read: Callable[[], float]) -> None:
    """Register a gauge that is read when it is scraped."""
    Gauge(name, text, registry=registry).set_function(read)


def _printable(value: str) -> str:
    cleaned = "".join(character if character.isprintable() else "_" for character in value)
    return cleaned[:_MAX_LABEL_LENGTH]
