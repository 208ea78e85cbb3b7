"""What becomes of the spans of a request."""

from __future__ import annotations

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, NumberDataPoint
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.sifting import Sifted, Sifter

PARENT = b"parentid"
LARGE = "x" * 100_000
"""Text so long that the spans of a scope are not parsed all at once."""


@pytest.fixture
def sift(pack, markers: Markers):
    """Sifts a request of the given spans."""

    def sift_spans(*spans: Span) -> Sifted:
        return Sifter(Limits(), markers).sift(pack(*spans))

    return sift_spans


@pytest.fixture
def child(make_span):
    """Builds a span with a parent here and a time, and attributes with the given keys."""

    def make(*keys: str, **fields: object) -> Span:
        span = make_span(**{"parent_span_id": PARENT, "start_time_unix_nano": 1, **fields})
        for key in keys:
            span.attributes.add(key=key).value.string_value = LARGE
        return span

    return make


def test_an_empty_request_has_nothing(sift) -> None:
    """Nothing is accepted, and nothing passes in part."""
    sifted = sift()
    assert (sifted.accepted, sifted.passing, sifted.held(1, ())) == (0, None, ())


def test_a_request_of_plain_spans_passes_whole(sift, child) -> None:
    """No ordinal is listed: it can go on as it came."""
    sifted = sift(*(child("http.method") for _ in range(5)))
    assert (sifted.accepted, sifted.passing, len(sifted.held(1, ()))) == (5, None, 0)


def test_held_spans_know_where_they_are(sift, child, make_span) -> None:
    """Ordinals count every span of the request, refused ones too, over all that is parsed."""
    spans = [child("a"), child("gen_ai.x"), child("b"), child(span_id=b"short"), child("a")]
    spans += [make_span(), child("c")]
    sifted = sift(*spans)
    held = sifted.held(7, (("x-tenant", "a"),))
    assert [span.ordinal for span in held] == [1, 5]
    assert [span.raw for span in held] == [
        spans[1].SerializeToString(),
        spans[5].SerializeToString(),
    ]
    assert {(span.request, span.headers) for span in held} == {(7, (("x-tenant", "a"),))}
    assert held[0].origin is held[1].origin
    assert (sifted.accepted, sifted.rejected) == (6, {"invalid_span_id": 1})
    assert sifted.passing == (0, 2, 4, 6)


def test_ordinals_go_on_over_scopes_and_resources(pack, child, markers: Markers) -> None:
    """They count in the order of the request's bytes."""
    body = pack(child(), child()) + pack(child("gen_ai.x"), child())
    sifted = Sifter(Limits(), markers).sift(body)
    assert [span.ordinal for span in sifted.held(1, ())] == [2]
    assert sifted.passing == (0, 1, 3)


def test_all_held_is_not_all_passing(sift, make_span) -> None:
    """Nothing passes, which is not the same as everything."""
    assert sift(make_span()).passing == ()


def test_a_spoofed_span_passes_by_itself(sift, child) -> None:
    """The request cannot go on as it came: something must be taken out of it."""
    sifted = sift(child(), child("raglog.verdict"))
    assert (sifted.passing, len(sifted.held(1, ()))) == ((0, 1), 0)


def test_a_span_that_finishes_a_run_waits(sift, child) -> None:
    """The assembler must see it, whatever else it is."""
    span = child()
    span.attributes.add(key="raglog.run.finished").value.bool_value = True
    (held,) = sift(span).held(1, ())
    assert (held.held, held.finishes_run) == (False, True)


def test_a_span_is_held_by_what_its_statement_holds(pack, child) -> None:
    """Its keys are those of every call of a database, which go on."""
    markers = Markers(value_keys=(b"db.statement",), value_parts=(b"<=>",))
    statements = ["SELECT 1", "SELECT * FROM pages ORDER BY v <=> %s", "SELECT 2", ""]
    spans = [child() for _ in statements]
    for span, statement in zip(spans, statements, strict=True):
        span.attributes.add(key="db.statement").value.string_value = statement
    sifter = Sifter(Limits(), markers)
    for _ in range(2):
        sifted = sifter.sift(pack(*spans))
        assert [span.ordinal for span in sifted.held(1, ())] == [1]
        assert sifted.passing == (0, 2, 3)


def test_a_span_is_held_by_its_name(pack, child) -> None:
    """Also among spans of the same words that go on."""
    sifter = Sifter(Limits(), Markers(names=(b"Retriever",)))
    spans = [child("a"), child("a", name="Retriever.retrieve"), child("a")]
    for _ in range(2):
        assert [span.ordinal for span in sifter.sift(pack(*spans)).held(1, ())] == [1]


def test_a_span_is_held_by_its_scope(pack, child) -> None:
    """Whatever it is called and bears."""
    request = ExportTraceServiceRequest.FromString(pack(child("a"), child()))
    request.resource_spans[0].scope_spans[0].scope.name = "native.tracer"
    for name, held in ((b"native.tracer", [0, 1]), (b"other", [])):
        sifter = Sifter(Limits(), Markers(scopes=(name,)))
        sifted = sifter.sift(request.SerializeToString())
        assert [span.ordinal for span in sifted.held(1, ())] == held


@pytest.mark.parametrize(
    "attribute",
    [
        b"\x12\x02\x10\x01\x0a\x08gen_ai.x",  # the value first
        b"\x0a\x01a\x0a\x08gen_ai.x",  # two keys: the last one counts
        b"\x0a\x01a\x12\x02\x10\x01\x0a\x08gen_ai.x",
        b"\x0a\x96\x01gen_ai." + b"x" * 143,  # a length of two bytes
        b"\x0a\x88\x00gen_ai.x",  # a length longer than needed
        b"\xc2\x3e\x01n\x0a\x08gen_ai.x",  # behind an unknown field
    ],
)
def test_a_key_is_found_wherever_it_is(attribute: bytes, wrap, child, markers: Markers) -> None:
    """protobuf allows fields in any order and any number."""
    span = child().SerializeToString() + wrap(9, attribute)
    sifter = Sifter(Limits(), markers)
    for _ in range(2):
        assert len(sifter.sift(wrap(1, wrap(2, wrap(2, span)))).held(1, ())) == 1


def test_an_overwritten_key_does_not_count(wrap, child, markers: Markers) -> None:
    """Of several keys of one attribute, peers read the last."""
    span = child().SerializeToString() + wrap(9, b"\x0a\x08gen_ai.x\x0a\x01a")
    assert Sifter(Limits(), markers).sift(wrap(1, wrap(2, wrap(2, span)))).passing is None


def test_metrics_whose_name_looks_like_an_id_are_no_spans(markers: Markers) -> None:
    """A gauge, a histogram and a summary have only fields whose types a span's have, too."""
    for kind in ("gauge", "histogram", "summary", "exponential_histogram", "sum"):
        for description in ("", "requests"):
            request = ExportMetricsServiceRequest()
            metric = Metric(name="http.client.reqs", description=description)
            point = getattr(metric, kind).data_points.add(time_unix_nano=5)
            point.attributes.add(key="gen_ai.model").value.string_value = "m"
            if "histogram" in kind:
                getattr(metric, kind).aggregation_temporality = 2
            request.resource_metrics.add().scope_metrics.add().metrics.append(metric)
            with pytest.raises(BadInput, match="logs or metrics"):
                Sifter(Limits(), markers).sift(request.SerializeToString())


def test_a_gauge_of_any_name_is_no_span(markers: Markers) -> None:
    """It is not told by the length of its name."""
    request = ExportMetricsServiceRequest()
    metric = Metric(name="up", gauge={"data_points": [NumberDataPoint(as_int=1)]})
    request.resource_metrics.add().scope_metrics.add().metrics.append(metric)
    with pytest.raises(BadInput, match="logs or metrics"):
        Sifter(Limits(), markers).sift(request.SerializeToString())


def test_logs_with_trace_ids_are_no_spans(markers: Markers) -> None:
    """Theirs are where a span has attributes."""
    record = LogRecord(observed_time_unix_nano=1, trace_id=b"t" * 16, span_id=b"s" * 8)
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.append(record)
    with pytest.raises(BadInput):
        Sifter(Limits(), markers).sift(request.SerializeToString())


@pytest.mark.parametrize(
    "fields",
    [
        {"trace_id": b"http.client.reqs", "name": "GET /x"},
        {"trace_id": b"http.client.reqs", "span_id": b"requests", "kind": 3},
        {"trace_id": b"http.client.reqs", "attributes": [{"key": "k"}]},
        {"trace_id": b"http.client.reqs", "events": [Span.Event(name="e", time_unix_nano=1)]},
        {"trace_id": b"http.client.reqs", "name": "\n\x00"},
        {"name": "\n\x00"},
    ],
)
def test_a_span_without_times_is_a_span(fields: dict[str, object], sift, make_span) -> None:
    """Also one whose id happens to be text."""
    assert sift(make_span(**fields)).accepted == 1


def test_a_group_from_elsewhere_is_an_unknown_field(wrap, child, markers: Markers) -> None:
    """OTLP has none, and a future one is no reason to refuse."""
    span = child().SerializeToString() + b"\x9b\x06\x08\x01\x9c\x06"
    body = wrap(1, wrap(2, wrap(2, span)) + b"\x9b\x06\x9c\x06")
    assert Sifter(Limits(), markers).sift(body).accepted == 1


def test_limits_hold(sift, child, pack, markers: Markers) -> None:
    """On bytes and on spans, inclusive."""
    body = pack(child(), child())
    assert Sifter(Limits(max_request_bytes=len(body)), markers).sift(body).accepted == 2
    for limits in (Limits(max_request_bytes=len(body) - 1), Limits(max_spans_per_request=1)):
        with pytest.raises(TooLarge):
            Sifter(limits, markers).sift(body)


def test_what_is_looked_at_singly_is_bounded(wrap, child, markers: Markers) -> None:
    """Whatever a request is made of, its words and links cost little time."""
    limits = Limits(max_values_per_span=1000)
    words = wrap(9, b"") * 3000 + wrap(9, wrap(1, b"a.gen_ai.x"))
    spans = [child().SerializeToString() + words + wrap(9, wrap(1, b"%d" % n)) for n in range(3)]
    body = wrap(1, wrap(2, b"".join(wrap(2, span) for span in spans)))
    assert len(Sifter(limits, markers).sift(body).held(1, ())) == 2  # one was looked at closely
    many_links = child().SerializeToString() + wrap(13, b"") * 600
    Sifter(limits, markers).sift(wrap(1, wrap(2, wrap(2, many_links))))
    with pytest.raises(TooLarge, match="links"):
        Sifter(limits, markers).sift(wrap(1, wrap(2, wrap(2, many_links) * 2)))


def test_spans_of_one_resource_share_its_bytes(wrap, child, make_span, markers: Markers) -> None:
    """However many scopes it has: a large resource is not copied for each."""
    passing, waiting = child(), make_span()
    scopes = b"".join(
        wrap(2, wrap(1, wrap(1, b"%d" % n)) + wrap(2, span.SerializeToString()))
        for n in range(3)
        for span in (passing, waiting)
    )
    resource = wrap(1, wrap(1, wrap(1, b"service.name")))
    sifted = Sifter(Limits(), markers).sift(wrap(1, resource + scopes))
    for spans in (sifted.passing_spans(), sifted.held(1, ())):
        assert len(spans) == 3
        assert all(span.origin.resource is spans[0].origin.resource for span in spans)
        assert spans[0].origin.resource == resource
