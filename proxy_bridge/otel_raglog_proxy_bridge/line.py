"""Calls, one after another, to the spans of the runs that they make up."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from otel_raglog_proxy_bridge.classifying import Classifier
from otel_raglog_proxy_bridge.fronts import FrontOptions, read_front
from otel_raglog_proxy_bridge.model import Call, CallStage, ReadCall, Side
from otel_raglog_proxy_bridge.parsing import parse
from otel_raglog_proxy_bridge.runs import CapturedRun, Grouper, GroupingOptions
from otel_raglog_proxy_bridge.spans import RunSpans, run_to_spans
from otel_raglog_proxy_bridge.trace_headers import trace_id_of


@dataclass(frozen=True, slots=True)
class LineOptions:
    """What the pipeline is called, and how its calls are put together."""

    service: str = "proxied-pipeline"
    version: str = ""
    grouping: GroupingOptions = field(default_factory=GroupingOptions)
    front: FrontOptions = field(default_factory=FrontOptions)


class Line:
    """Classifies, reads and groups calls. No I/O; not thread-safe: one worker owns it."""

    def __init__(self, options: LineOptions, classifier: Classifier) -> None:
        self.options = options
        self.classifier = classifier
        self.grouper = Grouper(options.grouping)
        self.counts: Counter[str] = Counter()
        self.reads: list[ReadCall] | None = None
        self._before: CallStage | None = None

    def begin(self, call_id: str, started_ns: int) -> None:
        """Note that an outbound call started: its run waits for it."""
        self.grouper.begin(call_id, started_ns)

    def begin_front(self, call_id: str, started_ns: int, traceparent: str = "") -> None:
        """Note that the pipeline's own API was called."""
        mark = Call(call_id, "", "", request_headers={"traceparent": traceparent})
        self.grouper.begin_front(call_id, started_ns, trace_id_of(mark))

    def forget(self, call_id: str) -> None:
        """Note that a call that began will not be added: it was dropped, or is of no interest."""
        self.grouper.forget(call_id)
        self.grouper.end_front(None, call_id)

    def add(self, call: Call) -> tuple[CapturedRun, ...]:
        """Take an ended call; return the runs that it closed."""
        exchange = parse(call)
        if call.side is Side.FRONT:
            front = read_front(exchange, self.options.front)
            self.counts["front" if front else "front_without_question"] += 1
            return self.grouper.end_front(front, call.id)
        read = self.classifier.classify(exchange, self._before)
        self.counts[read.decision.stage.value] += 1
        if self.reads is not None:
            self.reads.append(read)
        if read.reading is not None:
            self._before = read.decision.stage
        return self.grouper.add(read)

    def tick(self, now_ns: int) -> tuple[CapturedRun, ...]:
        """Return the runs that are over."""
        return self.grouper.tick(now_ns)

    def flush(self) -> tuple[CapturedRun, ...]:
        """Return the runs that are open."""
        return self.grouper.flush()

    def spans(self, run: CapturedRun) -> RunSpans:
        """Return the spans of a run."""
        return run_to_spans(run, self.options.service, self.options.version)
