"""Reports to the attributes and events that are appended to spans, as OTLP bytes.

A span's own bytes are not touched: protobuf merges concatenated messages, and appended
attributes and events are further items of repeated fields.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

from otel_raglog.model import JudgeUse, Report, RunVerdict, Span, Stage, StageVerdict, Verdict
from otel_raglog.receive.markers import EVALUATION_EVENT, OWN_PREFIX
from otel_raglog.receive.markers import EVALUATION_NAME as EVALUATION_NAME_BYTES

NAMESPACE = OWN_PREFIX.decode()
EVALUATION_NAME = EVALUATION_NAME_BYTES.decode()
MAX_VALUE_BYTES = 1_900
"""Tempo cuts attribute values at 2,048 bytes."""

_CUT_MARK = "…"
_NO_RAG = frozenset(
    {"no_spans", "no_genai_spans", "no_stages", "no_retrieval", "evaluation", "ignored"}
)
"""Skip reasons of traces that answer no question from retrieved text."""

_WORST_FIRST = (RunVerdict.FAULTY, RunVerdict.UNKNOWN, RunVerdict.OK)
_MAX_WORD_CHARS = 64
_REMEMBERED_WORDS = 256

AttributeInput: TypeAlias = str | bool | int | float | Sequence[str]


@dataclass(frozen=True, slots=True)
class AnnotationOptions:
    """What is written beside the ``raglog.*`` attributes."""

    openinference_evaluations: bool = False


def annotate(
    reports: Iterable[Report],
    spans: Mapping[bytes, Span],
    options: AnnotationOptions,
    *,
    exemplars: frozenset[str] = frozenset(),
) -> dict[bytes, bytes]:
    """Return the bytes to append to each span, by span id.

    Args:
        reports: all reports of one trace. One that is of no RAG run marks no span.
        spans: the decoded spans of the trace, by span id, for end times and existing indices.
        options: what else to write.
        exemplars: run ids that are marked ``raglog.exemplar``.
    """
    additions: dict[bytes, SpanMessage] = {}
    for report in reports:
        if not may_be_rag(report):
            continue
        top = report.run.top_span_id
        if top in spans:
            message = additions.setdefault(top, SpanMessage())
            set_attributes(message, run_attributes(report, exemplar=report.run.run_id in exemplars))
        for span_id, verdicts in verdicts_by_span(report).items():
            if span_id not in spans:
                continue
            message = additions.setdefault(span_id, SpanMessage())
            add_verdicts(message, verdicts, spans[span_id], options)
        if options.openinference_evaluations and top in spans:
            _add_trace_evaluations(additions[top], report, spans[top])
    return {span_id: message.SerializeToString() for span_id, message in additions.items()}


def annotate_late(reports: Sequence[Report]) -> bytes:
    """Return the bytes to append to a span that came after its trace's verdict.

    Which of several runs a late span belongs to cannot be told: then it gets the worst verdict and
    all faulty stages, and no run id.
    """
    faulty = {stage for report in reports for stage in report.faulty_stages}
    verdicts = [report.verdict for report in reports]
    worst = next(verdict for verdict in _WORST_FIRST if verdict in verdicts)
    attributes: dict[str, AttributeInput] = {
        "raglog.run.verdict": worst.value,
        "raglog.run.faulty_stages": [stage.value for stage in Stage if stage in faulty],
    }
    if len(reports) == 1:
        attributes["raglog.run.id"] = reports[0].run.run_id
    message = SpanMessage()
    set_attributes(message, attributes)
    return message.SerializeToString()


def annotate_joined(report: Report) -> bytes:
    """Return the bytes to append to the topmost spans of the other traces of a joined run."""
    message = SpanMessage()
    set_attributes(message, {"raglog.run.id": report.run.run_id})
    return message.SerializeToString()


def may_be_rag(report: Report) -> bool:
    """Tell whether ``report`` is of a run that may be a RAG run, judged or not.

    Others are left untouched: their spans pass byte for byte.
    """
    return report.skip_reason not in _NO_RAG


def run_attributes(report: Report, *, exemplar: bool) -> dict[str, AttributeInput]:
    """Return the attributes of the run's topmost span."""
    run = report.run
    attributes: dict[str, AttributeInput] = {
        "raglog.run.id": run.run_id,
        "raglog.run.verdict": report.verdict.value,
        "raglog.run.faulty_stages": [stage.value for stage in report.faulty_stages],
        "raglog.run.complete": report.complete,
        "raglog.run.completion": run.completion.value,
        "raglog.detector.version": report.detector_version,
        "raglog.detector.tier": report.tier.value,
        "raglog.analysis.duration_ms": round(report.analysis_seconds * 1000, 3),
    }
    if report.cost_usd is not None:
        attributes["raglog.analysis.cost_usd"] = report.cost_usd
    if report.judge is not None:
        attributes |= _judge_attributes(report.judge)
    if report.first_faulty_stage is not None:
        attributes["raglog.run.first_faulty_stage"] = report.first_faulty_stage.value
    if run.shown.session_id is not None:
        attributes["raglog.session.id"] = run.shown.session_id
    if run.turn is not None:
        attributes["raglog.session.turn"] = run.turn
    if run.joined_traces:
        attributes["raglog.run.joined_traces"] = [item.hex() for item in run.joined_traces]
    if report.skip_reason is not None:
        attributes["raglog.skip_reason"] = report.skip_reason
    if exemplar:
        attributes["raglog.exemplar"] = True
    return attributes


def _judge_attributes(judge: JudgeUse) -> dict[str, AttributeInput]:
    if judge.skipped:
        return {"raglog.judge.skipped": judge.skipped}
    attributes: dict[str, AttributeInput] = {
        "raglog.judge.model": judge.model,
        "raglog.judge.calls": judge.calls,
    }
    if judge.abstained:
        attributes["raglog.judge.abstained"] = [f"{check}: {why}" for check, why in judge.abstained]
    if judge.suspected:
        attributes["raglog.judge.injection_suspected"] = [
            f"{kind}: {where}" for kind, where in judge.suspected
        ]
    return attributes


def verdicts_by_span(report: Report) -> dict[bytes, list[Verdict]]:
    """Return the verdicts of each step's span: the step's own where steps are judged singly."""
    by_span: dict[bytes, list[Verdict]] = {}
    for stage in Stage:
        whole = report.verdicts[stage]
        if whole.verdict is StageVerdict.ABSENT:
            continue
        single = {verdict.step: verdict for verdict in whole.steps}
        for index, step in enumerate(report.run.steps(stage)):
            if step.origin.span_id:
                by_span.setdefault(step.origin.span_id, []).append(single.get(index, whole))
    return by_span


def add_verdicts(
    message: SpanMessage, verdicts: Sequence[Verdict], span: Span, options: AnnotationOptions
) -> None:
    """Write verdicts of one span, ``span``, as attributes and events."""
    # A span has one raglog.stage. Where it carries several (a prompt that is built by the
    # generator's own span), the faulty one speaks, and otherwise the last in pipeline order;
    # every verdict has its event.
    faulty = [verdict for verdict in verdicts if verdict.verdict is StageVerdict.FAULTY]
    set_attributes(message, _step_attributes(faulty[0] if faulty else verdicts[-1]))
    for verdict in verdicts:
        event = message.events.add(
            name=EVALUATION_EVENT.decode(), time_unix_nano=span.end_unix_nano
        )
        _set_pairs(event.attributes, _evaluation(verdict))
    if options.openinference_evaluations:
        first = _next_index(span.attributes, "evaluations.")
        for number, verdict in enumerate(verdicts, start=first):
            prefix = f"evaluations.{number}.evaluation."
            set_attributes(message, _openinference_evaluation(prefix, verdict))


def _step_attributes(verdict: Verdict) -> dict[str, AttributeInput]:
    attributes: dict[str, AttributeInput] = {
        "raglog.stage": verdict.stage.value,
        "raglog.verdict": verdict.verdict.value,
    }
    if verdict.probability is not None:
        attributes["raglog.fault.probability"] = verdict.probability
    if verdict.threshold is not None:
        attributes["raglog.fault.threshold"] = verdict.threshold
    if verdict.fault_types:
        attributes["raglog.fault.types"] = [fault.value for fault in verdict.fault_types]
    if verdict.warnings:
        attributes["raglog.warnings"] = [warning.value for warning in verdict.warnings]
    if verdict.explanation:
        attributes["raglog.explanation"] = verdict.explanation
    return attributes


def _evaluation(verdict: Verdict) -> dict[str, AttributeInput]:
    attributes: dict[str, AttributeInput] = {
        EVALUATION_NAME: f"{NAMESPACE}{verdict.stage.value}",
        "gen_ai.evaluation.score.label": verdict.verdict.value,
    }
    if verdict.probability is not None:
        attributes["gen_ai.evaluation.score.value"] = verdict.probability
    if verdict.explanation:
        attributes["gen_ai.evaluation.explanation"] = verdict.explanation
    return attributes


def _openinference_evaluation(prefix: str, verdict: Verdict) -> dict[str, AttributeInput]:
    attributes: dict[str, AttributeInput] = {
        f"{prefix}name": f"{NAMESPACE}{verdict.stage.value}",
        f"{prefix}label": verdict.verdict.value,
        f"{prefix}annotator_kind": "CODE",
    }
    if verdict.probability is not None:
        attributes[f"{prefix}score"] = verdict.probability
    if verdict.explanation:
        attributes[f"{prefix}explanation"] = verdict.explanation
    return attributes


def _add_trace_evaluations(message: SpanMessage, report: Report, top: Span) -> None:
    first = _next_index(top.attributes, "trace.evaluations.")
    prefix = f"trace.evaluations.{first}.evaluation."
    set_attributes(
        message,
        {
            f"{prefix}name": f"{NAMESPACE}run",
            f"{prefix}label": report.verdict.value,
            f"{prefix}annotator_kind": "CODE",
            f"{prefix}identifier": report.run.run_id,
        },
    )


def _next_index(attributes: Mapping[str, object], prefix: str) -> int:
    """Return the first free index behind ``prefix``: existing items are never overwritten."""
    taken = [
        int(index)
        for key in attributes
        if key.startswith(prefix)
        and (index := key.removeprefix(prefix).partition(".")[0]).isascii()
        and index.isdigit()
    ]
    return max(taken, default=-1) + 1


def set_attributes(message: SpanMessage, attributes: Mapping[str, AttributeInput]) -> None:
    """Append attributes to a span."""
    _set_pairs(message.attributes, attributes)


def _set_pairs(
    target: RepeatedCompositeFieldContainer[KeyValue], attributes: Mapping[str, AttributeInput]
) -> None:
    target.extend([_pair(key, value) for key, value in attributes.items()])


def _pair(key: str, value: AttributeInput) -> KeyValue:
    """Return an attribute, not to be changed: words such as stages and verdicts are shared."""
    if isinstance(value, str) and len(value) <= _MAX_WORD_CHARS:
        return _word_pair(key, value)
    return KeyValue(key=key, value=_any_value(value))


@lru_cache(maxsize=_REMEMBERED_WORDS)
def _word_pair(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=_any_value(value))


def _any_value(value: AttributeInput) -> AnyValue:
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, str):
        return AnyValue(string_value=cut(value))
    return AnyValue(
        array_value=ArrayValue(values=[AnyValue(string_value=cut(item)) for item in value])
    )


def cut(text: str, max_bytes: int = MAX_VALUE_BYTES) -> str:
    """Return ``text`` with at most ``max_bytes`` bytes of UTF-8, a cut marked by an ellipsis."""
    # Lone surrogates can come in through JSON escapes and have no UTF-8 form.
    encoded = text.encode("utf-8", errors="replace")
    if len(encoded) <= max_bytes:
        return encoded.decode("utf-8")
    room = max_bytes - len(_CUT_MARK.encode())
    return encoded[:room].decode("utf-8", errors="ignore") + _CUT_MARK
