"""Spans, log records and metrics made by the OpenTelemetry SDK, sent alike to several endpoints.

Each batch is exported to every endpoint from the same objects, so that what a backend gets
directly can be compared byte for byte with what arrives behind the service.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from grpc import Compression as GrpcCompression
from opentelemetry._logs import SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression as HttpCompression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogs
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor, LogRecordExporter
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.metrics.view import ExponentialBucketHistogramAggregation, View
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, set_span_in_context

SPANS = 12
LOG_RECORDS = 9
DATA_POINTS = 8
"""What :func:`export_signals` makes of each signal."""

_NEVER_MILLISECONDS = 3_600_000.0
_SCOPE = ("shop.checkout", "4.18.2")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to export to: ``protocol`` is ``grpc`` or ``http``, ``address`` is ``host:port``."""

    protocol: str
    address: str
    headers: tuple[tuple[str, str], ...] = ()
    gzip: bool = False

    def exporters(self) -> tuple[Any, Any, Any]:
        """Return the SDK's own exporters for spans, log records and metrics."""
        if self.protocol == "grpc":
            options: dict[str, Any] = {
                "endpoint": self.address,
                "insecure": True,
                "headers": self.headers,
                "compression": GrpcCompression.Gzip if self.gzip else GrpcCompression.NoCompression,
            }
            return GrpcSpans(**options), GrpcLogs(**options), GrpcMetrics(**options)
        compression = HttpCompression.Gzip if self.gzip else HttpCompression.NoCompression
        spans, logs, metrics = (
            make(
                endpoint=f"http://{self.address}/v1/{signal}",
                headers=dict(self.headers),
                compression=compression,
            )
            for make, signal in (
                (HttpSpans, "traces"),
                (HttpLogs, "logs"),
                (HttpMetrics, "metrics"),
            )
        )
        return spans, logs, metrics


class _Tee:
    """Several exporters of spans or log records as one."""

    def __init__(self, exporters: Sequence[Any]) -> None:
        self._exporters = exporters
        self.results: list[Any] = []

    def export(self, batch: Sequence[Any]) -> Any:
        self.results += [exporter.export(batch) for exporter in self._exporters]
        return self.results[-1]

    def shutdown(self) -> None:
        for exporter in self._exporters:
            exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return True


class _MetricTee(MetricExporter):
    """Several exporters of metrics as one."""

    def __init__(self, exporters: Sequence[MetricExporter]) -> None:
        first: Any = exporters[0]
        super().__init__(first._preferred_temporality, first._preferred_aggregation)
        self._exporters = exporters
        self.results: list[MetricExportResult] = []

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        self.results += [e.export(metrics_data, timeout_millis, **kwargs) for e in self._exporters]
        return self.results[-1]

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        for exporter in self._exporters:
            exporter.shutdown(timeout_millis, **kwargs)

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return True


def export_signals(endpoints: Sequence[Endpoint]) -> None:
    """Make :data:`SPANS`, :data:`LOG_RECORDS` and :data:`DATA_POINTS` and export them everywhere.

    When this returns, every endpoint has taken every request; it fails when one did not.
    """
    spans, logs, metrics = zip(*(endpoint.exporters() for endpoint in endpoints), strict=True)
    span_tee, log_tee, metric_tee = _Tee(spans), _Tee(logs), _MetricTee(metrics)
    resource = Resource.create({"service.name": "shop-backend", "deployment.zones": ["a", "b"]})
    tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
    tracers.add_span_processor(BatchSpanProcessor(cast("SpanExporter", span_tee)))
    loggers = LoggerProvider(resource=resource, shutdown_on_exit=False)
    loggers.add_log_record_processor(BatchLogRecordProcessor(cast("LogRecordExporter", log_tee)))
    exponential = View(
        instrument_type=Histogram,
        instrument_name="shop.latency",
        aggregation=ExponentialBucketHistogramAggregation(),
    )
    meters = MeterProvider(
        [PeriodicExportingMetricReader(metric_tee, _NEVER_MILLISECONDS)],
        resource=resource,
        views=[exponential],
        shutdown_on_exit=False,
    )
    make_spans(tracers)
    make_log_records(loggers, tracers)
    make_metrics(meters)
    for provider in (tracers, loggers, meters):
        provider.shutdown()  # exports what is there, once
    results = [*span_tee.results, *log_tee.results, *metric_tee.results]
    assert len(results) == 3 * len(endpoints), results
    assert all(result.name == "SUCCESS" for result in results), results


def make_spans(provider: TracerProvider) -> None:
    """End :data:`SPANS` spans of every kind, with events, links, errors and nested values."""
    tracer = provider.get_tracer(*_SCOPE, schema_url="https://opentelemetry.io/schemas/1.40.0")
    other = provider.get_tracer("shop.db")
    for number in range(SPANS // 3):
        root = tracer.start_span(f"POST /orders/{number}", kind=SpanKind.SERVER)
        context = set_span_in_context(root)
        child = tracer.start_span(
            "reserve",
            context,
            SpanKind.CLIENT,
            {"http.request.method": "POST", "retry": True, "ratio": 0.25, "zones": ["a", "b"]},
            links=[Link(root.get_span_context(), {"why": "test"})],
        )
        child.add_event("cache.miss", {"key": "Größe ✓"}, timestamp=1_790_000_000_000_000_001)
        statement = other.start_span("SELECT", set_span_in_context(child), SpanKind.INTERNAL)
        statement.set_attributes({"db.system.name": "postgresql", "db.rows": 2**40 + number})
        statement.record_exception(ValueError("no such order"))
        statement.set_status(Status(StatusCode.ERROR, "no such order"))
        for span in (statement, child, root):
            span.end()


def make_log_records(provider: LoggerProvider, tracers: TracerProvider) -> None:
    """Emit :data:`LOG_RECORDS` records: text, mappings, events, with and without a trace."""
    logger = provider.get_logger(*_SCOPE, attributes={"scope.kind": "test"})
    span = tracers.get_tracer("unexported").start_span("never ended")
    for number in range(LOG_RECORDS // 3):
        time = 1_790_000_000_000_000_000 + number
        logger.emit(
            timestamp=time,
            observed_timestamp=time + 5,
            severity_number=SeverityNumber.WARN,
            severity_text="WARN",
            body=f"order {number} is late — sehr spät",
            attributes={"order.id": number, "tags": ["x", "y"]},
            context=set_span_in_context(span),
        )
        logger.emit(
            timestamp=time,
            observed_timestamp=time,
            severity_number=SeverityNumber.INFO,
            body={
                "order": {"id": number, "lines": [1, 2.5, "three", None, True]},
                "raw": b"\x00\xff",
            },
        )
        logger.emit(
            timestamp=time,
            observed_timestamp=time,
            event_name="order.cancelled",
            attributes={"raglog.verdict": "faulty", "gen_ai.system": "not ours to touch"},
        )


def make_metrics(provider: MeterProvider) -> None:
    """Record :data:`DATA_POINTS` data points over six kinds of instruments."""
    meter = provider.get_meter(*_SCOPE)
    orders = meter.create_counter("shop.orders", "1", "Orders.")
    orders.add(3, {"country": "de"})
    orders.add(2**40, {"country": "dk"})
    meter.create_up_down_counter("shop.carts").add(-2)
    sizes = meter.create_histogram("shop.order.size", "By")
    latency = meter.create_histogram("shop.latency", "s")
    for value in (0.001, 0.2, 7.5):
        sizes.record(1000 * value, {"country": "de"})
        latency.record(value)
    meter.create_gauge("shop.temperature").set(21.5)

    def observe(_options: CallbackOptions) -> list[Observation]:
        return [Observation(0.75, {"pool": "a"}), Observation(0.25, {"pool": "b"})]

    meter.create_observable_gauge("shop.pool.use", [observe])
