"""Traces that are one run to that run; each span stays where it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from otel_raglog.mapping.joining import Together
from otel_raglog.model import Completion, Run, Span, Trace

_WORST_FIRST = (
    Completion.EVICTED,
    Completion.SPAN_LIMIT,
    Completion.MAX_WAIT,
    Completion.SHUTDOWN,
    Completion.ORPHAN_QUIET,
)

NOT_ONE_RUN = "these traces match, but their spans do not make one run"


def united(traces: Sequence[Trace], answering: Run) -> Trace:
    """Return all spans as one trace: that of the run that answers.

    Where its topmost span lasts around another trace (whose context was lost in a thread), that
    one belongs below it.
    """
    own = next(trace for trace in traces if trace.trace_id == answering.trace_id)
    outer = next((span for span in own.spans if span.span_id == answering.top_span_id), None)
    leaves = {step.origin.span_id for step in answering.generators}
    if outer is not None and outer.span_id in leaves:
        outer = None
    spans = _together(own.spans, [t.spans for t in traces if t is not own], outer)
    shown = None
    if own.shown is not None:
        shown = _together(own.shown, [t.shown or () for t in traces if t is not own], outer)
    reasons = [trace.completion for trace in traces]
    return Trace(
        trace_id=own.trace_id,
        spans=spans,
        completion=next((why for why in _WORST_FIRST if why in reasons), own.completion),
        waited_seconds=max(trace.waited_seconds for trace in traces),
        shown=shown,
    )


def _together(
    own: Sequence[Span], others: Sequence[Sequence[Span]], outer: Span | None
) -> tuple[Span, ...]:
    return (*own, *(_below(outer, span) for spans in others for span in spans))


def unite(
    traces: Sequence[Trace],
    runs: Mapping[bytes, Run],
    together: Together,
    found: Sequence[Run],
) -> Run | None:
    """Return the run that several traces are; ``None`` when they do not make exactly one.

    ``runs`` are those of the traces by themselves, ``found`` those of all of them
    :func:`united`. The run has the id of the trace whose LLM
    call answers, and the topmost span of that one.
    """
    if len(found) != 1 or not found[0].generators:
        return None
    (run,) = found
    trace_of = {span.span_id: trace.trace_id for trace in traces for span in trace.spans}
    answering = runs[trace_of.get(run.generators[-1].origin.span_id, together.generator)]
    ids = tuple(trace.trace_id for trace in sorted(traces, key=_start))
    note = f"joined from {len(ids)} traces: {', '.join(trace_id.hex() for trace_id in ids)}"

    def named(each: Run, service: str) -> Run:
        return replace(
            each,
            run_id=answering.run_id,
            trace_id=answering.trace_id,
            top_span_id=answering.top_span_id,
            service=service,
            joined_traces=ids,
            notes=(note, *each.notes),
        )

    view = None if run.view is None else named(run.view, answering.shown.service)
    return replace(named(run, answering.service), view=view)


def _start(trace: Trace) -> tuple[int, bytes]:
    return min(span.start_unix_nano for span in trace.spans), trace.trace_id


def _below(outer: Span | None, span: Span) -> Span:
    if (
        outer is None
        or span.parent_id
        or span.start_unix_nano < outer.start_unix_nano
        or span.end_unix_nano > outer.end_unix_nano
    ):
        return span
    return replace(span, parent_id=outer.span_id)
