"""A report that comes after its spans have left to spans of its own, each linked to its target.

A span that is sent twice is not updated by trace stores: the first write wins. So a verdict that
comes later travels on a new span of the kind EVALUATOR, in a trace of its own, whose one link says
what it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from otel_raglog import __version__
from otel_raglog.model import Origin, RawSpan, Report, Span, Verdict
from otel_raglog.report.annotations import (
    AnnotationOptions,
    add_verdicts,
    run_attributes,
    set_attributes,
    verdicts_by_span,
)

SCOPE = "otel_raglog"
"""The instrumentation scope of our own spans, which are never analysed."""

SUPERSEDES = "raglog.supersedes"
"""Names the version of the detector whose verdict on the target this one replaces."""

_TRACE_ID_BYTES = 16
_SPAN_ID_BYTES = 8

NewId = Callable[[int], bytes]
"""Returns so many random bytes."""


def carriers(
    report: Report,
    spans: Mapping[bytes, Span],
    resources: Mapping[bytes, bytes],
    *,
    supersedes: str,
    options: AnnotationOptions,
    new_id: NewId,
) -> Iterator[RawSpan]:
    """Yield a span for the run's top span and for each span of a judged step.

    Args:
        report: the report that comes later.
        spans: the run's spans by id, for their times and traces. Targets that are not among them
            have none.
        resources: the serialized ``ResourceSpans`` around each span, by its id: a carrier is of the
            same service.
        supersedes: the version of the detector whose verdicts are on the spans.
        options: what else to write.
        new_id: the source of ids.
    """
    scope = ScopeSpans(scope=InstrumentationScope(name=SCOPE, version=__version__))
    envelope = scope.SerializeToString()
    by_span: dict[bytes, list[Verdict]] = {report.run.top_span_id: [], **verdicts_by_span(report)}
    for span_id, verdicts in by_span.items():
        target = spans.get(span_id)
        if target is None:
            continue
        message = _linked(target, new_id)
        attributes: dict[str, str] = {
            "openinference.span.kind": "EVALUATOR",
            SUPERSEDES: supersedes,
        }
        set_attributes(message, attributes)
        if span_id == report.run.top_span_id:
            set_attributes(message, run_attributes(report, exemplar=False))
        else:
            set_attributes(message, {"raglog.run.id": report.run.run_id})
        if verdicts:
            add_verdicts(message, verdicts, target, options)
        yield RawSpan(Origin(resources.get(span_id, b""), envelope), message.SerializeToString())


def _linked(target: Span, new_id: NewId) -> SpanMessage:
    message = SpanMessage(
        trace_id=new_id(_TRACE_ID_BYTES),
        span_id=new_id(_SPAN_ID_BYTES),
        name="raglog.verdict",
        kind=SpanMessage.SPAN_KIND_INTERNAL,
        start_time_unix_nano=target.end_unix_nano,
        end_time_unix_nano=target.end_unix_nano,
    )
    message.links.add(trace_id=target.trace_id, span_id=target.span_id)
    return message
