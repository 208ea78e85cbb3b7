"""Captured HTTP calls of a pipeline to requests of spans, as the add-on would send them live."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from otel_raglog import __version__
from otel_raglog.errors import BadInput
from otel_raglog.model import Batch
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.otlp_json import split_json
from otel_raglog_proxy_bridge.classifying import Classifier
from otel_raglog_proxy_bridge.line import Line, LineOptions
from otel_raglog_proxy_bridge.model import Call, CallStage, ReadCall
from otel_raglog_proxy_bridge.offline import runs_of
from otel_raglog_proxy_bridge.runs import CapturedRun
from otel_raglog_proxy_bridge.spans import RunSpans


@dataclass(frozen=True, slots=True)
class CapturedRequests:
    """What calls became: a request for each run, and what each call was taken for.

    ``stray`` are calls of a stage that are of no run: embeddings that index, a chat without any
    search. ``spans`` tell which span is which call.
    """

    batches: tuple[Batch, ...]
    reads: tuple[ReadCall, ...]
    runs: tuple[CapturedRun, ...]
    spans: tuple[RunSpans, ...]
    stray: Mapping[CallStage, int] = field(default_factory=dict)
    undecided: int = 0

    def in_words(self, name: str) -> str:
        """Return a sentence on the calls of file ``name``."""
        irrelevant = sum(read.reading is None for read in self.reads)
        runs = sum(run.is_rag for run in self.runs)
        counted = f"{_count(len(self.reads), 'call')}, {_count(runs, 'run')}"
        parts = [counted, f"{irrelevant} irrelevant"]
        if self.undecided:
            parts.append(f"of which {self.undecided} nobody could tell")
        if self.stray:
            counts = ", ".join(f"{count} {stage}" for stage, count in sorted(self.stray.items()))
            parts.append(f"of no run: {counts}")
        return f"{name}: {'; '.join(parts)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def to_requests(
    calls: Sequence[Call],
    service: str,
    limits: Limits,
    markers: Markers,
    classifier: Classifier,
    *,
    all_runs: bool = False,
) -> CapturedRequests:
    """Return the requests that the add-on would have sent of ``calls``.

    With ``all_runs`` also those of calls that make up no run: the add-on sends them, but nothing
    can be said of them.
    """
    line = Line(LineOptions(service, __version__), classifier)
    line.reads = []
    stray: Counter[CallStage] = Counter()
    batches: list[Batch] = []
    runs: list[CapturedRun] = []
    spans: list[RunSpans] = []
    for run in runs_of(line, calls):
        if not run.is_rag:
            stray.update(read.decision.stage for read in run.calls)
        if run.is_rag or all_runs:
            written = line.spans(run)
            runs.append(run)
            spans.append(written)
            batches.append(_batch(written, limits, markers))
    undecided = sum(read.decision.by == "none" for read in line.reads)
    return CapturedRequests(
        tuple(batches), tuple(line.reads), tuple(runs), tuple(spans), stray, undecided
    )


def _batch(written: RunSpans, limits: Limits, markers: Markers) -> Batch:
    body = json.dumps({"resourceSpans": [written.resource_spans]}).encode()
    batch = split_json(body, limits, markers)
    if batch.rejected_count:
        raise BadInput(f"the bridge wrote spans that are none: {dict(batch.rejected)}")
    return batch
