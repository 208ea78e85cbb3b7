"""Traces whose runs an LLM is asked about: held for its answers, and told of what comes later.

A trace that was held for as long as it may leaves with its local verdicts. What the LLM says of
it then follows in spans of its own, and so it does of a run that its user disliked later.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from otel_raglog.analysis import Assessed
from otel_raglog.clock import Clock
from otel_raglog.errors import BadInput
from otel_raglog.judged import Judged
from otel_raglog.llm_tier import Asked, LlmTier
from otel_raglog.mapping.feedback import is_disliked
from otel_raglog.model import Headers, RawSpan, Report, Span, Tier, WireSpan
from otel_raglog.receive.span import decode_span
from otel_raglog.report.annotations import AnnotationOptions, may_be_rag
from otel_raglog.report.carriers import NewId, carriers
from otel_raglog.telemetry import RunMetrics

_COPIES = 4
"""A trace that is remembered is there as bytes, decoded, and as a run."""

Send = Callable[[Sequence[RawSpan], Headers], bool]
"""Sends spans of our own, with headers; returns whether it took them all. What it did not is counted."""


class Recent:
    """Remembers judged traces for a user's later feedback: the last ones, of so many bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._judged: OrderedDict[bytes, Judged] = OrderedDict()
        self.size_bytes = 0

    def remember(self, judged: Judged) -> None:
        """Keep traces; those that were kept for longest go."""
        for trace in judged.traces:
            self.pop(trace.trace_id)
        for trace in judged.traces:
            self._judged[trace.trace_id] = judged
            self.size_bytes += _COPIES * trace.size_bytes
        while self.size_bytes > self._most_bytes and self._judged:
            self.pop(next(iter(self._judged)))

    def get(self, trace_id: bytes) -> Judged | None:
        """Return what a trace is of; ``None`` if it is not kept."""
        return self._judged.get(trace_id)

    def pop(self, trace_id: bytes) -> Judged | None:
        """Return and forget what a trace is of, with all of its traces; ``None`` if it is not kept."""
        judged = self._judged.get(trace_id)
        for trace in () if judged is None else judged.traces:
            if self._judged.pop(trace.trace_id, None) is not None:
                self.size_bytes -= _COPIES * trace.size_bytes
        return judged

    def __contains__(self, trace_id: bytes) -> bool:
        return trace_id in self._judged


class Asking:
    """Where traces wait for an LLM, for ``hold_seconds`` at most.

    All but :meth:`__contains__`, :meth:`remembers`, ``len`` and the size is for one thread.
    """

    def __init__(  # noqa: PLR0917  these are the parts that it connects
        self,
        llm: LlmTier,
        send: Send,
        metrics: RunMetrics,
        options: AnnotationOptions,
        clock: Clock,
        new_id: NewId,
        *,
        hold_seconds: float,
        remember_bytes: int = 0,
    ) -> None:
        self._llm = llm
        self._send = send
        self._metrics = metrics
        self._options = options
        self._clock = clock
        self._new_id = new_id
        self._hold_seconds = hold_seconds
        self._held: dict[bytes, tuple[Judged, float]] = {}
        self._left: list[Judged] = []
        self._recent = Recent(remember_bytes)
        self._bytes = 0

    def __contains__(self, trace_id: bytes) -> bool:
        return trace_id in self._held

    def __len__(self) -> int:
        held = {id(judged) for judged, _ in list(self._held.values())}
        return len(held) + len(self._left)

    def remembers(self, trace_id: bytes) -> bool:
        """Tell whether feedback on a trace that has left can still be heeded."""
        return trace_id in self._recent

    @property
    def size_bytes(self) -> int:
        """Memory that traces take that are held, asked about or remembered, roughly."""
        return self._bytes + self._recent.size_bytes

    def hold(self, judged: Judged) -> bool:
        """Let traces wait for the answers about their runs; ``False`` when one waits already."""
        if any(trace.trace_id in self._held for trace in judged.traces):
            return False
        deadline = self._clock.monotonic() + self._hold_seconds
        self._take_in(judged)
        for trace in judged.traces:
            self._held[trace.trace_id] = judged, deadline
        return True

    def add_late(self, span: WireSpan) -> bool:
        """Let a late span wait with its trace; ``False`` when that does not wait."""
        held = self._held.get(span.trace_id)
        if held is None:
            return False
        held[0].late.append(span)
        held[0].charge += span.size_bytes
        self._bytes += span.size_bytes
        return True

    def next_leaving(self, *, all_now: bool = False) -> Judged | None:
        """Return traces that wait no longer: answered, or held for as long as they may.

        They are held until :meth:`has_left` or :meth:`drop` is told: late spans go nowhere before.
        """
        now = self._clock.monotonic()
        for judged, deadline in self._held.values():
            if judged.answered or deadline <= now or all_now:
                return judged
        return None

    def has_left(self, judged: Judged, reports: Sequence[Report]) -> None:
        """Go on asking about traces that have left unanswered; remember the others for feedback.

        ``reports`` are those with which they have left.
        """
        self._let_out(judged)
        if judged.pending:
            self._take_in(judged)
            self._left.append(judged)
        else:
            self.has_been_counted(judged, reports)

    def has_been_counted(self, judged: Judged, reports: Sequence[Report]) -> None:
        """Remember traces whose final reports are in the metrics, for feedback."""
        judged.counted = True
        if any(report.tier is Tier.LOCAL and may_be_rag(report) for report in reports):
            self._recent.remember(judged)

    def drop(self, judged: Judged) -> None:
        """Forget traces that passed without a verdict."""
        self._let_out(judged)

    def next_answered(self, *, all_now: bool = False) -> Judged | None:
        """Return and forget traces that have left, and about which the LLM has answered since."""
        for place, judged in enumerate(self._left):
            if judged.answered or all_now:
                self._let_out(judged)
                return self._left.pop(place)
        return None

    def _take_in(self, judged: Judged) -> None:
        judged.charge = _COPIES * judged.size_bytes + sum(span.size_bytes for span in judged.late)
        self._bytes += judged.charge

    def _let_out(self, judged: Judged) -> None:
        for trace in judged.traces:
            if self._held.get(trace.trace_id, (None,))[0] is judged:
                del self._held[trace.trace_id]
        self._bytes -= judged.charge
        judged.charge = 0

    def publish(self, judged: Judged, reports: Sequence[Report]) -> None:
        """Send what the LLM says of runs whose spans have left with local verdicts."""
        headers = judged.traces[0].spans[0].headers
        resources = {
            span.span_id: span.origin.resource for trace in judged.traces for span in trace.spans
        }
        for each, report in zip(judged.assessed, reports, strict=True):
            if report.tier is not Tier.LLM or each.asked is None:
                continue
            spans = carriers(
                report,
                judged.spans,
                resources,
                supersedes=each.report.detector_version,
                options=self._options,
                new_id=self._new_id,
            )
            if self._send(tuple(spans), headers):
                self._metrics.late_verdicts.inc()

    # ------------------------------------------------------------------ feedback of users

    def look_at(self, span: WireSpan) -> None:
        """Ask about the run of a span that came late, if that says that its user disliked it."""
        if span.trace_id in self._recent:
            with contextlib.suppress(BadInput):
                self.look_at_all([decode_span(span)])

    def look_at_all(self, spans: Iterable[Span]) -> None:
        """Ask about the runs that spans are linked to, or are late spans of, if they say so."""
        for span in spans:
            targets = {span.trace_id, *(link.trace_id for link in span.links)}
            known = [target for target in targets if target in self._recent]
            if known and is_disliked([span]):
                for target in known:
                    self._ask_again(target)

    def _ask_again(self, trace_id: bytes) -> None:
        judged = self._recent.get(trace_id)
        if judged is None:
            return
        assessed = tuple(self._again(each) for each in judged.assessed)
        if any(each.asked is not None for each in assessed):  # else another time
            self._recent.pop(trace_id)
            again = replace(judged, assessed=assessed, late=[])
            self._take_in(again)
            self._left.append(again)

    def _again(self, each: Assessed) -> Assessed:
        if each.report.skip_reason is not None or each.final().tier is Tier.LLM:
            return Assessed(each.final())
        asked = self._llm.again(each.report.run)
        return Assessed(each.report, asked if isinstance(asked, Asked) else None)
