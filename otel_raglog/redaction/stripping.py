"""OTLP bytes to what is left of them when they cannot be redacted: ids, times and codes."""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.redaction.keys import OWN_PREFIX
from otel_raglog.redaction.replacing import MASK
from otel_raglog.wire import LENGTH_DELIMITED, Shape, fields, wrap

FAILED_KEY = "raglog.redaction.failed"
"""The attribute that a span or log record bears whose content was dropped."""

_OWN_WORDS = frozenset(
    f"{OWN_PREFIX}{name}".encode()
    for name in (
        "run.id",
        "run.verdict",
        "run.faulty_stages",
        "run.first_faulty_stage",
        "run.complete",
        "run.completion",
        "stage",
        "verdict",
        "fault.probability",
        "fault.threshold",
        "fault.types",
        "warnings",
        "exemplar",
        "skip_reason",
        "detector.version",
        "detector.tier",
    )
)
"""Our own attributes that hold words of ours alone."""

_KEPT: Mapping[Shape, frozenset[int]] = {
    Shape.SPAN: frozenset({1, 2, 4, 6, 7, 8, 10, 12, 14, 16}),
    Shape.LOG_RECORD: frozenset({1, 2, 7, 8, 9, 10, 11}),
    Shape.LINK: frozenset({1, 2, 5, 6}),
    Shape.METRIC: frozenset({3}),
}
_POINT_ATTRIBUTES: Mapping[Shape, frozenset[int]] = {
    Shape.NUMBER_POINT: frozenset({5, 7}),
    Shape.HISTOGRAM_POINT: frozenset({8, 9}),
    Shape.EXPONENTIAL_POINT: frozenset({1, 11}),
    Shape.SUMMARY_POINT: frozenset({7}),
}
_DATA: Mapping[int, Shape] = {
    5: Shape.NUMBER_POINT,
    7: Shape.NUMBER_POINT,
    9: Shape.HISTOGRAM_POINT,
    10: Shape.EXPONENTIAL_POINT,
    11: Shape.SUMMARY_POINT,
}
_SPAN_NAME, _SPAN_ATTRIBUTES, _SPAN_LINKS, _SPAN_STATUS = 5, 9, 13, 15
_LOG_ATTRIBUTES = 6
_METRIC_NAME = 1
_STATUS_CODE = 3
_MARK = wrap(1, FAILED_KEY.encode()) + wrap(2, b"\x10\x01")  # true
_NAME = MASK.encode()


def stripped(data: bytes, shape: Shape) -> bytes:
    """Return the item of a request (span, log record or metric) without any content.

    Raises:
        BadInput: this is no protobuf message.
    """
    if shape is Shape.SPAN:
        return _span(data)
    if shape is Shape.LOG_RECORD:
        return _only(data, _KEPT[shape]) + wrap(_LOG_ATTRIBUTES, _MARK)
    return _metric(data)


def _span(data: bytes) -> bytes:
    parts = [_only(data, _KEPT[Shape.SPAN]), wrap(_SPAN_NAME, _NAME)]
    for number, wire_type, begin, payload, after in fields(data, 0, len(data)):
        if wire_type != LENGTH_DELIMITED:
            continue
        if number == _SPAN_ATTRIBUTES and _is_ours(data[payload:after]):
            parts.append(data[begin:after])
        elif number == _SPAN_LINKS:
            parts.append(wrap(number, _only(data[payload:after], _KEPT[Shape.LINK])))
        elif number == _SPAN_STATUS:
            parts.append(wrap(number, _only(data[payload:after], frozenset({_STATUS_CODE}))))
    return b"".join((*parts, wrap(_SPAN_ATTRIBUTES, _MARK)))


def _metric(data: bytes) -> bytes:
    parts = [wrap(_METRIC_NAME, _NAME)]
    for number, wire_type, begin, payload, after in fields(data, 0, len(data)):
        if number in _DATA and wire_type == LENGTH_DELIMITED:
            parts.append(wrap(number, _points(data[payload:after], _DATA[number])))
        elif number in _KEPT[Shape.METRIC]:
            parts.append(data[begin:after])
    return b"".join(parts)


def _points(data: bytes, shape: Shape) -> bytes:
    parts: list[bytes] = []
    for number, wire_type, begin, payload, after in fields(data, 0, len(data)):
        if number == 1 and wire_type == LENGTH_DELIMITED:
            parts.append(wrap(1, _without(data[payload:after], _POINT_ATTRIBUTES[shape])))
        else:
            parts.append(data[begin:after])
    return b"".join(parts)


def _is_ours(pair: bytes) -> bool:
    """Tell whether an attribute is one that we wrote, of words of ours."""
    keys = [
        pair[payload:after]
        for number, wire_type, _, payload, after in fields(pair, 0, len(pair))
        if number == 1 and wire_type == LENGTH_DELIMITED
    ]
    return bool(keys) and keys[-1] in _OWN_WORDS


def _only(data: bytes, kept: frozenset[int]) -> bytes:
    return b"".join(data[f[2] : f[4]] for f in fields(data, 0, len(data)) if f[0] in kept)


def _without(data: bytes, dropped: frozenset[int]) -> bytes:
    return b"".join(data[f[2] : f[4]] for f in fields(data, 0, len(data)) if f[0] not in dropped)
