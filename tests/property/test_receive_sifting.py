"""Sifting and splitting agree on every request, and what sifting accepts can be picked."""

from __future__ import annotations

import contextlib

from google.protobuf.message import DecodeError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)

from otel_raglog.errors import BadInput
from otel_raglog.model import Batch, Piece, RawSpan
from otel_raglog.receive import thin_pb2 as thin
from otel_raglog.receive.counting import count_logs, count_metrics
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.namespace import strip_namespace
from otel_raglog.receive.picking import pick
from otel_raglog.receive.sifting import Sifted, Sifter
from otel_raglog.wire import wrap

MARKERS = Markers((b"gen_ai.", b"openinference."), (b"R",), (b"db.statement",), (b"<=>",))
LIMITS = Limits(max_request_bytes=100_000, max_spans_per_request=50)

# A busy machine is no failure.
patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

words = st.sampled_from(
    [
        *(b"gen_ai.x", b"openinference.span.kind", b"http.x", b"", b"k" * 130, b"gen_ai." * 30),
        *(b"raglog.verdict", b"raglog.run.finished", b"gen_ai.evaluation.result", b"\xff\xfe"),
        b"db.statement",
    ]
)
ids = st.sampled_from([b"", b"i" * 8, b"j" * 8, b"i" * 16, bytes(8), bytes(16), b"i" * 5])
scalars = st.sampled_from(
    [b"\x10\x00", b"\x10\x01", b"\x0a\x01v", b"\x0a\x0agen_ai.x.y", b"\x0a\x03<=>", b""]
)
unknown = st.sampled_from(
    [b"\xc2\x3e\x03new", b"\x08\x01", b"\xf9\x3e12345678", b"\x0b\x08\x01\x0c"]
)


def shuffled(*parts: st.SearchStrategy[list[bytes]]) -> st.SearchStrategy[bytes]:
    """Fields in any order: protobuf allows all of them."""
    together = st.tuples(*parts).map(lambda lists: [field for one in lists for field in one])
    return together.flatmap(st.permutations).map(b"".join)


def field(number: int, payload: st.SearchStrategy[bytes], most: int = 1) -> st.SearchStrategy:
    """Up to ``most`` times the field ``number``."""
    return st.lists(payload.map(lambda data: wrap(number, data)), max_size=most)


def odd(most: int = 1) -> st.SearchStrategy[list[bytes]]:
    """Fields that OTLP does not have, among them a group and numbers in the place of messages."""
    return st.lists(unknown, max_size=most)


attributes = shuffled(field(1, words, 2), field(2, scalars, 2), odd())
events = shuffled(field(2, words, 2), field(3, attributes, 2), odd())
links = shuffled(field(1, ids), field(2, ids), odd())
times = st.lists(st.sampled_from([b"\x3912345678", b"\x39" + bytes(8)]), max_size=1)
flags = st.lists(
    st.sampled_from([b"\x85\x01\x00\x03\x00\x00", b"\x85\x01\x01\x00\x00\x00"]), max_size=1
)
good_ids = st.just([wrap(1, b"t" * 16), wrap(2, b"s" * 8)])
good_spans = shuffled(
    good_ids,
    field(4, st.sampled_from([b"p" * 8, bytes(8), b""])),
    field(5, st.sampled_from([b"Retriever", b"other"])),
    field(9, attributes, 3),
    field(11, events, 1),
    times,
    flags,
    odd(),
)
plain_ids = st.just([wrap(1, b"t" * 16), wrap(2, b"s" * 8), wrap(4, b"p" * 8), b"\x3912345678"])
plain_spans = shuffled(plain_ids, field(9, attributes), flags)
any_spans = shuffled(
    field(1, ids), field(2, ids), field(4, ids), field(9, attributes), field(13, links), times
)
own_words = st.just([wrap(9, wrap(1, b"raglog.verdict") + wrap(2, b"\x10\x01"))])
spoofed_spans = shuffled(plain_ids, own_words, field(9, st.just(wrap(1, b"http.x"))), odd())
spans = good_spans | plain_spans | plain_spans | spoofed_spans | any_spans
scopes = shuffled(field(2, spans, 3), field(1, st.just(b"\x0a\x05scope")), odd())
resources = shuffled(field(2, scopes, 2), field(1, st.just(wrap(1, b"\x0a\x01k"))), odd())
requests = shuffled(field(1, resources, 2), odd())

new = st.lists(st.just(b"\xc2\x3e\x03new"), max_size=1)
"""A field of a later OTLP."""


def requests_of(items: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Requests of the items of another signal: the envelopes are alike."""
    around = shuffled(field(2, items, 4), field(1, st.just(b"\x0a\x05scope")), new)
    above = shuffled(field(2, around, 2), field(1, st.just(wrap(1, b"\x0a\x01k"))), new)
    return shuffled(field(1, above, 2), new)


log_requests = requests_of(
    shuffled(
        st.lists(st.just(b"\x0912345678"), max_size=1),
        field(5, scalars),
        field(6, st.just(wrap(1, b"key") + wrap(2, b"\x10\x01")), 2),
        new,
    )
)
points = shuffled(st.lists(st.just(b"\x1912345678"), max_size=1), new)
data = shuffled(field(1, points, 4), new)
kinds = st.sampled_from([5, 7, 9, 10, 11])
metric_requests = requests_of(
    shuffled(
        field(1, st.just(b"requests")),
        st.lists(st.tuples(kinds, data).map(lambda pair: wrap(*pair)), max_size=2),
        new,
    )
)


def sift(body: bytes) -> Sifted | None:
    try:
        return Sifter(LIMITS, MARKERS).sift(body)
    except BadInput:
        return None


def split(body: bytes) -> Batch | None:
    try:
        return split_protobuf(body, LIMITS, MARKERS)
    except BadInput:
        return None


@patiently
@given(requests)
def test_sifting_and_splitting_agree(body: bytes) -> None:
    """Held spans are equal, rejections too, and every other accepted span passes."""
    sifted, batch = sift(body), split(body)
    assert (sifted is None) == (batch is None)
    if sifted is None or batch is None:
        return
    assert sifted.rejected == batch.rejected
    assert sifted.accepted == len(batch.spans)
    waiting = tuple(span for span in batch.spans if span.held or span.finishes_run)
    assert sifted.held(0, ()) == waiting
    others = tuple(span.ordinal for span in batch.spans if span not in waiting)
    if sifted.passing is None:
        assert not waiting
        assert not batch.rejected
        assert not any(span.spoofed for span in batch.spans)
    else:
        assert sifted.passing == others


@patiently
@given(requests)
def test_passing_spans_are_those_that_are_picked(body: bytes) -> None:
    """A journalled request gives the same again; nothing stands for all spans there."""
    sifted = sift(body)
    if sifted is None:
        return
    picked = () if sifted.passing == () else pick(body, Piece(1, sifted.passing or ()))
    assert sifted.passing_spans() == picked


@patiently
@given(requests)
def test_what_is_accepted_can_be_picked(body: bytes) -> None:
    """Every accepted span comes back with its bytes, but for our namespace."""
    batch = split(body)
    if batch is None or not batch.spans:
        return
    picked = pick(body, Piece(1, tuple(span.ordinal for span in batch.spans)))
    assert picked == tuple(
        RawSpan(span.origin, strip_namespace(span.raw) if span.spoofed else span.raw)
        for span in batch.spans
    )


@patiently
@given(requests)
def test_nothing_of_our_namespace_leaves(body: bytes) -> None:
    """Whatever the order and number of an attribute's keys, the one that a peer reads counts."""
    batch = split(body)
    if batch is None or not batch.spans:
        return
    for _, raw in pick(body, Piece(1, tuple(span.ordinal for span in batch.spans))):
        span = thin.Span.FromString(raw)
        assert not any(attribute.key.startswith(b"raglog.") for attribute in span.attributes)


@patiently
@given(requests)
def test_what_is_accepted_is_readable(body: bytes) -> None:
    """As a whole, and span by span in envelopes of their own."""
    batch = split(body)
    if batch is None:
        return
    thin.TracesRequest.FromString(body)
    for span in batch.spans:
        scope = wrap(2, span.origin.scope + wrap(2, span.raw))
        thin.TracesRequest.FromString(wrap(1, span.origin.resource + scope))


@patiently
@given(requests)
def test_a_sifter_that_has_seen_much_says_the_same(body: bytes) -> None:
    """What it remembers of the words on spans changes nothing."""
    once = Sifter(LIMITS, MARKERS)
    with contextlib.suppress(BadInput):
        first, second = once.sift(body), once.sift(body)
        assert first.passing == second.passing
        assert first.held(1, ()) == second.held(1, ())


def count_peers_records(body: bytes) -> int:
    """Count log records in opentelemetry-proto's own reading of the bytes."""
    return sum(
        len(scope.log_records)
        for resource in ExportLogsServiceRequest.FromString(body).resource_logs
        for scope in resource.scope_logs
    )


def count_peers_points(body: bytes) -> int:
    """Count data points in opentelemetry-proto's own reading of the bytes."""
    return sum(
        len(getattr(metric, kind).data_points)
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if (kind := metric.WhichOneof("data")) is not None
    )


@patiently
@given(log_requests)
def test_as_many_log_records_are_counted_as_a_peer_reads(body: bytes) -> None:
    """Every one of them, in every envelope."""
    assert count_logs(body, LIMITS) == count_peers_records(body)


@patiently
@given(metric_requests)
def test_as_many_data_points_are_counted_as_a_peer_reads(body: bytes) -> None:
    """Of all five kinds of data; of several in one metric, peers keep the last."""
    assert count_metrics(body, LIMITS) == count_peers_points(body)


@patiently
@given(log_requests | metric_requests | requests, st.integers(0, 3), st.binary(max_size=3))
def test_damaged_requests_are_refused_or_counted_alike(body: bytes, cut: int, end: bytes) -> None:
    """What a peer cannot read is never counted; text that is no UTF-8 is read here."""
    damaged = body[: len(body) - cut] + end
    with contextlib.suppress(BadInput):
        assert count_logs(damaged, LIMITS) == sum(
            len(scope.log_records)
            for resource in thin.LogsRequest.FromString(damaged).resource_logs
            for scope in resource.scope_logs
        )
    with contextlib.suppress(BadInput):
        count_metrics(damaged, LIMITS)
        thin.MetricsRequest.FromString(damaged)


@patiently
@given(st.binary(max_size=60) | requests, st.integers(0, 3))
def test_what_protobuf_cannot_read_is_refused(body: bytes, cut: int) -> None:
    """Also where only the end is missing."""
    damaged = body[: len(body) - cut]
    try:
        thin.TracesRequest.FromString(damaged)
    except DecodeError:
        assert split(damaged) is None
