"""Spans of an application handed to the sidecar from within, with opentelemetry-sdk alone."""

from otel_raglog_exporters.in_app.exporter import RaglogSpanExporter
from otel_raglog_exporters.in_app.processor import RaglogSpanProcessor
from otel_raglog_exporters.in_app.settings import InAppConfig

__all__ = ["InAppConfig", "RaglogSpanExporter", "RaglogSpanProcessor"]
