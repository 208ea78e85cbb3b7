"""Values of any shape: what was put into them comes out of no redaction, and all else does."""

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from personal_data import attributes
from samples import wire_span

from otel_raglog.errors import BadInput
from otel_raglog.model import Payload, Signal
from otel_raglog.options import Redaction
from otel_raglog.redaction.building import build_redaction
from otel_raglog_exporters.grouping import encode_payload

patiently = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
MAIL = "zq@people.example"
PATTERNS = build_redaction(Redaction(patterns=("email", "phone", "card", "iban", "key")))
KEYS = build_redaction(Redaction(mask_keys=("*.who", "who")))

quiet = st.text(st.characters(codec="utf-8", exclude_characters="@"), max_size=12)
plain = st.one_of(
    quiet, st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.booleans()
)
told = st.builds(lambda before, after: f"{before} {MAIL} {after}", quiet, quiet)


def nested(leaves):
    """Return lists, maps and JSON of leaves, in one another."""
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3),
            st.dictionaries(quiet, inner, max_size=3),
            inner.map(lambda value: json.dumps(value, default=str)),
        ),
        max_leaves=8,
    )


def body_of(values):
    """Return a request of one span with these attributes."""
    span = SpanMessage(span_id=b"\x01" * 8, trace_id=b"\x02" * 16, attributes=attributes(values))
    return encode_payload([wire_span(span)])


@patiently
@given(st.dictionaries(quiet, nested(st.one_of(plain, told)), max_size=4))
def test_an_address_is_found_in_any_value(values):
    """However deep, in whatever it is wrapped."""
    made = PATTERNS.payload(body_of(values))
    assert made.stripped == 0
    assert b"people.example" not in made.payload.body


@patiently
@given(nested(st.one_of(plain, told)))
def test_a_key_hides_whatever_it_holds(value):
    """At the top, inside a map, and inside JSON."""
    in_json = json.dumps({"a": [{"who": value}]}, default=str)
    made = KEYS.payload(body_of({"who": value, "m": {"who": value}, "j": in_json}))
    assert b"people.example" not in made.payload.body
    text = SpanMessage.FromString(spans_of(made.payload.body)[0]).attributes[2].value.string_value
    assert json.loads(text) == {"a": [{"who": "[redacted]"}]}


def spans_of(body):
    """Return the bytes of the spans of a request."""
    from otlp_items import items

    return [item.raw for item in items(body)]


@patiently
@given(st.lists(st.one_of(plain, told), min_size=1), st.booleans())
def test_json_stays_json(values, ascii_only):
    """With as many items."""
    text = json.dumps(values, ensure_ascii=ascii_only)
    (raw,) = spans_of(PATTERNS.payload(body_of({"j": text})).payload.body)
    made = json.loads(SpanMessage.FromString(raw).attributes[0].value.string_value)
    assert len(made) == len(values)


@patiently
@given(st.dictionaries(quiet, nested(quiet), max_size=4))
def test_what_is_sent_is_the_same_each_time(values):
    """A restart makes the same bytes, also with nothing remembered."""
    again = build_redaction(Redaction(patterns=("email", "phone", "card", "iban", "key")))
    assert PATTERNS.payload(body_of(values)) == again.payload(body_of(values))


@patiently
@given(st.binary(max_size=200), st.sampled_from(Signal))
def test_any_bytes_are_a_request_or_none(body, signal):
    """Nothing but `BadInput` is raised."""
    try:
        made = PATTERNS.payload(Payload(signal, body, 1))
    except BadInput:
        return
    assert isinstance(made.payload.body, bytes)


@patiently
@given(st.binary(max_size=120), st.sampled_from(Signal))
def test_any_item_is_redacted_or_stripped(raw, signal):
    """What stands where a span, log record or metric should be never stops the others."""
    inside = b"\x12" + bytes([len(raw)]) + raw
    scopes = b"\x12" + framed(inside)
    body = b"\x0a" + framed(scopes)
    try:
        PATTERNS.payload(Payload(signal, body, 1))
    except BadInput:
        return


def framed(data):
    """Return data behind its length."""
    length, head = len(data), bytearray()
    while length >= 0x80:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    return bytes((*head, length)) + data
