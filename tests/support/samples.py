"""Small values for tests: spans, runs and reports with sane defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from otel_raglog.model import (
    NOT_CAPTURED,
    AssemblyStep,
    Chunk,
    FaultType,
    GenerateStep,
    Message,
    Origin,
    Report,
    RetrieveStep,
    Run,
    RunVerdict,
    Span,
    Stage,
    StageState,
    StageVerdict,
    StepOrigin,
    Tier,
    TokenUsage,
    Verdict,
    WireSpan,
    present,
)

TRACE_ID = bytes(range(16))
TOP = b"\x01" * 8
RETRIEVER = b"\x02" * 8
GENERATOR = b"\x03" * 8


def key_value(key: str, value: object) -> KeyValue:
    """Return an OTLP attribute."""
    return KeyValue(key=key, value=_any(value))


def _any(value: object) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, (list, tuple)):
        return AnyValue(array_value=ArrayValue(values=[_any(item) for item in value]))
    return AnyValue(string_value=str(value))


def span_message(
    span_id: bytes = TOP,
    parent_id: bytes = b"",
    name: str = "span",
    attributes: Mapping[str, object] | None = None,
    trace_id: bytes = TRACE_ID,
    end: int = 2_000_000_000,
) -> SpanMessage:
    """Return an OTLP span message."""
    return SpanMessage(
        trace_id=trace_id,
        span_id=span_id,
        parent_span_id=parent_id,
        name=name,
        start_time_unix_nano=1_000_000_000,
        end_time_unix_nano=end,
        attributes=[key_value(key, value) for key, value in (attributes or {}).items()],
    )


def origin(service: str = "shop") -> Origin:
    """Return the envelopes of a service."""
    resource = ResourceSpans()
    resource.resource.attributes.append(key_value("service.name", service))
    return Origin(
        resource.SerializeToString(), ScopeSpans(schema_url="https://x").SerializeToString()
    )


def wire_span(message: SpanMessage | None = None, *, held: bool = True) -> WireSpan:
    """Return a span as it arrives."""
    message = message or span_message()
    return WireSpan(
        trace_id=message.trace_id,
        span_id=message.span_id,
        parent_id=message.parent_span_id,
        remote_parent=False,
        held=held,
        finishes_run=False,
        spoofed=any(item.key.startswith("raglog.") for item in message.attributes)
        or any(event.name == "gen_ai.evaluation.result" for event in message.events),
        origin=origin(),
        raw=message.SerializeToString(),
    )


def decoded_span(span_id: bytes = TOP, attributes: Mapping[str, object] | None = None) -> Span:
    """Return a decoded span."""
    return Span(
        trace_id=TRACE_ID,
        span_id=span_id,
        parent_id=b"",
        name="span",
        kind=1,
        start_unix_nano=1_000_000_000,
        end_unix_nano=2_000_000_000,
        attributes=dict(attributes or {}),  # type: ignore[arg-type]
        events=(),
        links=(),
        status_code=0,
        status_message="",
        dropped_attributes_count=0,
        dropped_events_count=0,
        scope_name="",
        resource={},
    )


CHUNKS = (
    Chunk("The night ferry leaves at 22:15.", id="c1", score=0.8),
    Chunk("Dogs stay on deck 4.", id="c2", score=0.4),
)


def make_run(**changes: object) -> Run:
    """Return a run with a retriever, an assembly and a generator; ``changes`` replace fields."""
    run = Run(
        run_id=TRACE_ID.hex(),
        trace_id=TRACE_ID,
        top_span_id=TOP,
        service="shop",
        question=present("When does the night ferry leave?"),
        answer=present("It leaves at 22:15."),
        retrievers=(
            RetrieveStep(
                StepOrigin(RETRIEVER, (RETRIEVER,), "retrieve", "kind RETRIEVER", 0, 500_000_000),
                present("When does the night ferry leave?"),
                present(CHUNKS),
                top_k=2,
            ),
        ),
        assemblies=(
            AssemblyStep(
                StepOrigin(GENERATOR, (GENERATOR,), "chat", "the prompt is on the LLM span"),
                present(CHUNKS),
                present("\n".join(chunk.text for chunk in CHUNKS)),
                present("Context:\n" + "\n".join(chunk.text for chunk in CHUNKS)),
            ),
        ),
        generators=(
            GenerateStep(
                StepOrigin(GENERATOR, (GENERATOR,), "chat", "the last LLM", 0, 1_500_000_000),
                present((Message("user", "Context: ... When does the night ferry leave?"),)),
                present("It leaves at 22:15."),
                finish_reason="stop",
                tokens=TokenUsage(40, 8, 48),
                model="m",
            ),
        ),
        stages={
            Stage.REWRITER: StageState(0, absent=True),
            Stage.EMBEDDER: StageState(0, absent=True),
            Stage.RETRIEVER: StageState(1),
            Stage.RERANKER: StageState(0, absent=True),
            Stage.ASSEMBLY: StageState(1),
            Stage.GENERATOR: StageState(1),
        },
        history=NOT_CAPTURED,
        tokens=TokenUsage(40, 8, 48),
    )
    return replace(run, **changes)  # type: ignore[arg-type]


def make_report(
    faulty: Mapping[Stage, FaultType] | None = None, run: Run | None = None, **changes: object
) -> Report:
    """Return a report in which the stages of ``faulty`` are faulty."""
    run = run or make_run()
    faults = faulty or {}
    verdicts = {}
    for stage in Stage:
        if not run.steps(stage):
            verdicts[stage] = Verdict(stage, StageVerdict.ABSENT)
        elif stage in faults:
            verdicts[stage] = Verdict(
                stage,
                StageVerdict.FAULTY,
                probability=0.9,
                threshold=0.5,
                fault_types=(faults[stage],),
                explanation=f"{stage} is wrong",
            )
        else:
            verdicts[stage] = Verdict(
                stage, StageVerdict.OK, probability=0.1, threshold=0.5, explanation="fine"
            )
    report = Report(
        run=run,
        verdict=RunVerdict.FAULTY if faults else RunVerdict.OK,
        verdicts=verdicts,
        measurements=(),
        detector_version="rules-1",
        tier=Tier.LOCAL,
        analysis_seconds=0.012,
    )
    return replace(report, **changes)  # type: ignore[arg-type]
