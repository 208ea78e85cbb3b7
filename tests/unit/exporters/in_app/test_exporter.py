"""The exporter as the SDK uses it, with a door on a real socket."""

import logging
from types import MappingProxyType

import pytest
from in_app_kit import PATIENCE_SECONDS, make_provider, running_door
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.util._importlib_metadata import entry_points
from ports import free_port

from otel_raglog.errors import ConfigError
from otel_raglog_exporters.in_app import InAppConfig, RaglogSpanExporter
from otel_raglog_exporters.in_app.process import Counts


@pytest.fixture
def door():
    """Return a door."""
    with running_door() as running:
        yield running


@pytest.fixture
def make():
    """Return a maker of exporters, which are shut down afterwards."""
    exporters = []

    def build(endpoint, **options):
        exporters.append(RaglogSpanExporter(endpoint, config=InAppConfig(**options)))
        return exporters[-1]

    yield build
    for exporter in exporters:
        exporter.shutdown(0)


def ask(tracer, name="ask"):
    """Make a trace of three spans."""
    with tracer.start_as_current_span(name):
        with tracer.start_as_current_span("retrieve"):
            pass
        with tracer.start_as_current_span("generate"):
            pass


def test_a_trace_that_the_sdk_cuts_into_batches_is_one_request(door, make):
    """The batch processor exports each span alone here; the door gets the trace whole."""
    exporter = make(door.endpoint, batch_seconds=0.01)
    provider = make_provider()
    provider.add_span_processor(BatchSpanProcessor(exporter, max_export_batch_size=1))
    ask(provider.get_tracer("t"))
    assert provider.force_flush()
    door.wait()
    assert door.names() == [["retrieve", "generate", "ask"]]
    assert door.requests[0][0] == "/v1/traces"
    provider.shutdown()


def test_a_simple_processor_does_not_wait_for_a_door_that_hangs(door, make):
    """Not even where the SDK exports in the application's own thread."""
    door.stuck = True
    exporter = make(door.endpoint, batch_seconds=0.01)
    provider = make_provider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    ask(provider.get_tracer("t"))
    door.wait()
    for _ in range(100):
        ask(provider.get_tracer("t"))
    assert exporter.counts == Counts(waiting=303)
    door.stuck = False
    assert exporter.force_flush(int(PATIENCE_SECONDS * 1000))
    assert exporter.counts == Counts(sent=303)


def test_a_sidecar_that_is_not_there_is_told_with_its_address(make, caplog):
    """And costs nobody else anything: the spans wait for it."""
    port = free_port()
    exporter = make(f"http://localhost:{port}", headers={"authorization": "s3cret"})
    provider = make_provider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    ask(provider.get_tracer("t"))
    assert not exporter.force_flush(300)
    exporter.shutdown(300)
    told = [record.getMessage() for record in caplog.records]
    assert [f"localhost:{port}" in message for message in told] == [True, False]
    assert "OTEL_EXPORTER_RAGLOG_ENDPOINT" in told[0]
    assert "3 spans were not delivered" in told[1]
    assert "s3cret" not in caplog.text


def test_arguments_go_before_variables(door, monkeypatch):
    """And variables before what we would choose; wrong arguments fail, wrong variables do not."""
    monkeypatch.setenv("OTEL_EXPORTER_RAGLOG_ENDPOINT", "http://sidecar:4318")
    monkeypatch.setenv("OTEL_EXPORTER_RAGLOG_HEADERS", "a=1")
    monkeypatch.setenv("OTEL_EXPORTER_RAGLOG_HOLD_SECONDS", "soon")
    exporter = RaglogSpanExporter(headers={"b": "2"})
    assert exporter.config.endpoint == "http://sidecar:4318"
    assert exporter.config.headers == {"b": "2"}
    assert exporter.config.hold_seconds == InAppConfig().hold_seconds
    assert RaglogSpanExporter(door.endpoint).config.headers == {"a": "1"}
    with pytest.raises(ConfigError, match="endpoint"):
        RaglogSpanExporter("sidecar")


def test_after_shutdown_spans_are_refused(door, make):
    """The SDK is told so; nothing is raised, and shutting down again is nothing."""
    exporter = make(door.endpoint)
    exporter.shutdown()
    exporter.shutdown()
    tracer = make_provider().get_tracer("t")
    span = tracer.start_span("late")
    span.end()
    assert exporter.export([span._readable_span()]) is SpanExportResult.FAILURE
    assert exporter.force_flush()
    assert exporter.counts == Counts(dropped=1)


def test_an_odd_span_costs_itself_and_raises_nothing(door, make, caplog):
    """Exporters are handed spans of anybody's making."""

    class Odd:
        name = "odd"
        parent = None
        attributes = MappingProxyType({1: object()})
        events = links = ()
        dropped_attributes = 0

        def get_span_context(self):
            return None

    class Odder:
        parent = None

        def get_span_context(self):
            raise LookupError

    exporter = make(door.endpoint)
    assert exporter.export([Odder(), Odd()]) is SpanExportResult.FAILURE
    exporter.force_flush()
    assert caplog.text.count("cannot be sent") == 1


def test_the_limit_of_the_global_provider_is_raised_at_the_start(monkeypatch, door, make, caplog):
    """The SDK's configurator sets it before it makes the exporter; others may set it later."""
    provider, later = (make_provider(span_limits=SpanLimits()) for _ in range(2))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    exporter = make(door.endpoint)
    assert provider._span_limits.max_span_attributes == 10_000
    assert "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT" in caplog.text
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: later)
    ask(later.get_tracer("t"))
    exporter.export([])
    assert later._span_limits.max_span_attributes == 10_000


def test_a_limit_set_by_a_variable_stays(monkeypatch, door, make, caplog):
    """It was somebody's choice, and is told."""
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "128")
    provider = make_provider(span_limits=SpanLimits())
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    make(door.endpoint)
    assert provider._span_limits.max_span_attributes == 128
    assert "keeps 128 attributes" in caplog.text


def test_a_named_provider_is_not_made_by_our_asking(monkeypatch, door, make):
    """Asking for the global provider would set the one of OTEL_PYTHON_TRACER_PROVIDER for good."""
    monkeypatch.setenv("OTEL_PYTHON_TRACER_PROVIDER", "sdk_tracer_provider")
    asked = []
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: asked.append(1))
    exporter = make(door.endpoint)
    assert not asked
    exporter.export([])
    assert asked


def test_the_exporter_has_the_name_raglog():
    """OTEL_TRACES_EXPORTER=raglog finds it where the SDK looks."""
    (point,) = entry_points(group="opentelemetry_traces_exporter", name="raglog")
    assert point.load() is RaglogSpanExporter
    assert issubclass(RaglogSpanExporter, SpanExporter)


def test_it_does_not_log_when_all_is_well(door, make, caplog):
    """An application's log is the application's."""
    caplog.set_level(logging.DEBUG)
    exporter = make(door.endpoint, batch_seconds=0.01)
    provider = make_provider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    ask(provider.get_tracer("t"))
    assert exporter.force_flush()
    provider.shutdown()
    assert not [record for record in caplog.records if "raglog" in record.name]
