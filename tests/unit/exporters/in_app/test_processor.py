"""The processor: it knows what is open, and so what is whole."""

import threading

import pytest
from in_app_kit import PATIENCE_SECONDS, make_provider, running_door
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, Decision, Sampler, SamplingResult
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from otel_raglog_exporters.in_app import InAppConfig, RaglogSpanProcessor
from otel_raglog_exporters.in_app.process import Counts
from otel_raglog_exporters.in_app.processor import OpenSpans


@pytest.fixture
def door():
    """Return a door."""
    with running_door() as running:
        yield running


@pytest.fixture
def make(door):
    """Return a maker of providers with our processor, which are shut down afterwards."""
    providers = []

    def build(options=None, **of_provider):
        config = InAppConfig(**{"batch_seconds": 0.01, "hold_seconds": 600} | (options or {}))
        providers.append(make_provider(**of_provider))
        processor = RaglogSpanProcessor(door.endpoint, config=config)
        providers[-1].add_span_processor(processor)
        return providers[-1], processor

    yield build
    for provider in providers:
        provider.shutdown()


def test_a_trace_leaves_when_nothing_of_it_is_open(door, make):
    """A stream that outlives its root keeps the trace, for it is part of the answer."""
    provider, _ = make()
    tracer = provider.get_tracer("t")
    root = tracer.start_span("ask")
    within = set_span_in_context(root)
    stream = tracer.start_span("stream", within)
    tracer.start_span("retrieve", within).end()
    root.end()
    other = tracer.start_span("other")
    other.end()
    door.wait()
    assert door.names() == [["other"]]
    stream.end()
    door.wait()
    assert door.names() == [["other"], ["retrieve", "ask", "stream"]]


def test_a_trace_that_goes_on_elsewhere_leaves_with_what_is_here(door, make):
    """Its top is in another process: here it is done when nothing is open here."""
    provider, _ = make()
    remote = SpanContext(5, 6, is_remote=True, trace_flags=TraceFlags(1))
    tracer = provider.get_tracer("t")
    with tracer.start_as_current_span("serve", set_span_in_context(NonRecordingSpan(remote))):
        tracer.start_span("retrieve").end()
    door.wait()
    assert door.names() == [["retrieve", "serve"]]


def test_a_span_ends_while_the_door_hangs(door, make):
    """No call of the application waits: on_end returns with a request stuck in the sidecar."""
    provider, processor = make()
    tracer = provider.get_tracer("t")
    door.stuck = True
    tracer.start_span("first").end()
    door.wait()
    threads = [
        threading.Thread(target=lambda: [tracer.start_span("s").end() for _ in range(50)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert processor.counts == Counts(waiting=201)
    door.stuck = False
    assert provider.force_flush(int(PATIENCE_SECONDS * 1000))
    assert processor.counts == Counts(sent=201)


def test_a_flush_delivers_what_is_not_whole(door, make):
    """Before a function freezes, say; it tells whether it did, in the time given."""
    provider, _ = make()
    tracer = provider.get_tracer("t")
    root = tracer.start_span("ask")
    tracer.start_span("retrieve", set_span_in_context(root)).end()
    assert provider.force_flush()
    assert door.names() == [["retrieve"]]
    root.end()
    door.stuck = True
    assert not provider.force_flush(50)
    door.stuck = False


def test_shutdown_delivers_what_waits(door, make):
    """Open traces too."""
    provider, _ = make()
    tracer = provider.get_tracer("t")
    root = tracer.start_span("ask")
    tracer.start_span("retrieve", set_span_in_context(root)).end()
    provider.shutdown()
    assert door.names() == [["retrieve"]]


def test_spans_that_are_not_sampled_stay(door, make):
    """Recorded for others, say; a trace is whole without them."""

    class RecordChildren(Sampler):
        def should_sample(self, parent_context, trace_id, name, *arguments, **more):
            decision = Decision.RECORD_ONLY if name == "hidden" else Decision.RECORD_AND_SAMPLE
            return SamplingResult(decision)

        def get_description(self):
            return "test"

    provider, _ = make(sampler=RecordChildren())
    tracer = provider.get_tracer("t")
    with tracer.start_as_current_span("ask"):
        tracer.start_span("hidden").end()
    door.wait()
    assert door.names() == [["ask"]]
    silent, other = make(sampler=ALWAYS_OFF)
    silent.get_tracer("t").start_span("s").end()
    assert other.counts == Counts()


def test_no_span_of_a_provider_with_the_sdks_limits_is_cut(door, make, caplog):
    """Not the first one either, nor for a provider that is not the global one."""
    provider, _ = make(span_limits=SpanLimits())
    with provider.get_tracer("t").start_as_current_span("retrieve") as span:
        span.set_attributes({f"document.{number}": "text" for number in range(400)})
    door.wait()
    ((written,),) = door.traces()
    assert len(written["attributes"]) == 400
    assert caplog.text.count("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT") == 1


def test_spans_that_never_end_are_forgotten():
    """An abandoned stream costs an entry, and the oldest go first."""
    spans = OpenSpans(most_traces=3)
    for trace_id in range(5):
        spans.start(trace_id)
        spans.start(trace_id)
    assert spans.end(0), "forgotten: as if nothing were open"
    assert not spans.end(4)
    assert spans.end(4)
    assert len(spans._counts) == 2


def test_a_span_that_started_before_the_processor_is_no_open_one():
    """Nor one of before a fork."""
    spans = OpenSpans()
    assert spans.end(1)
    spans.start(2)
    spans.start(2)
    spans._pid = -1
    assert spans.end(2)
