"""The bytes of an OTLP logs or metrics request to how many items it has, once it can be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.model import Signal
from otel_raglog.receive.envelopes import open_request
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.parsing import RequestParser, has_other_types


def count_logs(body: bytes, limits: Limits) -> int:
    """Return how many log records a serialized ``ExportLogsServiceRequest`` has.

    Raises:
        TooLarge: the request is beyond ``limits``.
        BadInput: these are not OTLP logs, or a value is nested too deep.
    """
    return sum(len(records) for records in _items(body, Signal.LOGS, limits))


def count_metrics(body: bytes, limits: Limits) -> int:
    """Return how many data points a serialized ``ExportMetricsServiceRequest`` has.

    ``max_spans_per_request`` holds for its metrics.

    Raises:
        TooLarge: the request is beyond ``limits``.
        BadInput: these are not OTLP metrics, or a value is nested too deep.
    """
    return sum(
        _count_points(metric)
        for metrics in _items(body, Signal.METRICS, limits)
        for metric in metrics
    )


def _items(body: bytes, signal: Signal, limits: Limits) -> Iterator[Any]:
    if len(body) > limits.max_request_bytes:
        raise TooLarge(f"request of more than {limits.max_request_bytes} bytes")
    opened = open_request(body, limits.max_spans_per_request, signal)
    parser = RequestParser(body, signal, limits)
    parser.check_envelopes(opened)
    for _, scope in opened.scopes():
        for items, _ in parser.parse(scope):
            # One is enough: no sender mixes signals in one scope.
            if items and has_other_types(items[0]):
                raise BadInput(f"these are not {signal}; other signals have other paths")
            yield items


def _count_points(metric: Any) -> int:
    kind = metric.WhichOneof("data")
    return 0 if kind is None else len(getattr(metric, kind).data_points)
