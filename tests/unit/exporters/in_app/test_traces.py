"""When the spans of a trace leave, and with which others."""

import pytest
from in_app_kit import ended_spans, make_provider

from otel_raglog_exporters.in_app.traces import Ended, Traces, estimated_bytes, into_requests

A, B, C = 1, 2, 3


def ended(trace_id, *, done=False, size=100):
    return Ended(SPAN, trace_id, size, done)


(SPAN,) = ended_spans("any")


@pytest.fixture
def traces():
    """Return traces that wait 1 s when they are done, 10 s when not; a request has 4 spans."""
    return Traces(batch_spans=4, batch_seconds=1.0, hold_seconds=10.0)


def ids(groups):
    return [[span.trace_id for span in group] for group in groups]


def test_a_trace_leaves_whole_when_its_top_has_ended(traces):
    """Its children ended before; a straggler that comes in time goes with it."""
    traces.add(ended(A), 0.0)
    traces.add(ended(A), 3.0)
    assert traces.seconds_left(3.0) == 7.0
    traces.add(ended(A, done=True), 4.0)
    assert traces.due(4.9) == []
    assert traces.seconds_left(4.9) == pytest.approx(0.1)
    traces.add(ended(A), 4.9)
    assert ids(traces.due(5.0)) == [[A, A, A, A]]
    assert traces.due(99.0) == []
    assert traces.seconds_left(99.0) is None


def test_a_trace_that_does_not_end_leaves_in_parts(traces):
    """What is held is not held for ever: the service takes silence for an end."""
    traces.add(ended(A), 0.0)
    traces.add(ended(B), 6.0)
    traces.add(ended(A), 9.0)
    assert ids(traces.due(10.0)) == [[A, A]]
    assert ids(traces.due(16.0)) == [[B]]


def test_a_full_request_does_not_wait(traces):
    """Nor do the other traces that are done; open ones do."""
    traces.add(ended(C), 0.0)
    for trace_id in (A, A, A):
        traces.add(ended(trace_id), 0.0)
    traces.add(ended(B, done=True), 0.0)
    assert traces.due(0.0) == []
    traces.add(ended(A, done=True), 0.0)
    assert traces.seconds_left(0.0) == 0.0
    assert ids(traces.due(0.0)) == [[B], [A, A, A, A]]
    assert traces.seconds_left(0.0) == 10.0


def test_everything_leaves_when_that_is_asked_for(traces):
    """At a flush or the end: what is done before what is not."""
    traces.add(ended(A), 0.0)
    traces.add(ended(B, done=True), 0.0)
    assert ids(traces.all()) == [[B], [A]]
    assert traces.all() == []
    traces.add(ended(C, done=True), 0.0)
    assert traces.seconds_left(0.0) == 1.0, "counts begin anew"


def test_requests_hold_whole_traces():
    """A trace that does not fit opens the next request; one too long for any is not cut by spans."""
    groups = [[ended(A)] * 3, [ended(B)] * 2, [ended(C)] * 9, [ended(A)]]
    requests = list(into_requests(groups, max_spans=4))
    assert ids(requests) == [[A] * 3, [B] * 2, [C] * 9, [A]]


def test_a_trace_too_large_for_a_request_is_cut_by_bytes():
    """A single span is never cut, however large."""
    groups = [[ended(A, size=60), ended(A, size=60), ended(A, size=500), ended(A, size=10)]]
    requests = list(into_requests(groups, max_spans=100, max_bytes=125))
    assert [[span.bytes for span in request] for request in requests] == [[60, 60], [500], [10]]


def test_the_estimate_follows_what_a_span_holds():
    """Texts, vectors and nested values count, wherever they are."""
    tracer = make_provider().get_tracer("t")

    def size_of(attributes=None, event=None):
        span = tracer.start_span("s", attributes=attributes)
        if event:
            span.add_event("e", event)
        span.end()
        return estimated_bytes(span._readable_span())

    empty = size_of()
    assert size_of({"text": "x" * 10_000}) - empty >= 10_000
    assert size_of({"vector": [0.25] * 1_000}) - empty >= 10_000
    assert size_of({"texts": ["x" * 5_000] * 2}) - empty >= 10_000
    assert size_of({"nested": {"a": {"b": "x" * 10_000}}}) - empty >= 10_000
    assert size_of(event={"text": "x" * 10_000}) - empty >= 10_000
