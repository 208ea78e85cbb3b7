"""Payloads of spans with verdicts on them, written as the service writes them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from samples import GENERATOR, RETRIEVER, TOP, decoded_span, make_report, origin, span_message

from otel_raglog.model import FaultType, JudgeUse, Payload, RawSpan, Report, Stage, Tier
from otel_raglog.report.annotations import AnnotationOptions, annotate
from otel_raglog.report.carriers import carriers
from otel_raglog_exporters.grouping import encode_payload

FAULT: Mapping[Stage, FaultType] = {Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK}
PLACES = {TOP: b"", RETRIEVER: TOP, GENERATOR: TOP}
_SPANS = {span_id: decoded_span(span_id) for span_id in PLACES}


def judged_payload(
    faulty: Mapping[Stage, FaultType] = FAULT, report: Report | None = None, service: str = "shop"
) -> Payload:
    """Return the three spans of a run, with the verdicts of a report on them."""
    added = annotate([report or make_report(faulty)], _SPANS, AnnotationOptions())
    return encode_payload(
        [
            RawSpan(
                origin(service),
                span_message(span_id, parent).SerializeToString() + added.get(span_id, b""),
            )
            for span_id, parent in PLACES.items()
        ]
    )


def later_payload() -> Payload:
    """Return the spans that carry the verdicts of an LLM on the same run."""
    ids = count(1)
    report = make_report(
        FAULT, tier=Tier.LLM, detector_version="llm-1", judge=JudgeUse("m", calls=5, cost_usd=0.01)
    )
    return encode_payload(
        list(
            carriers(
                report,
                _SPANS,
                dict.fromkeys(_SPANS, origin("shop").resource),
                supersedes="rules-1",
                options=AnnotationOptions(),
                new_id=lambda size: next(ids).to_bytes(size, "big"),
            )
        )
    )


def plain_payload() -> Payload:
    """Return a span that nothing was said about."""
    return encode_payload([RawSpan(origin(), span_message().SerializeToString())])
