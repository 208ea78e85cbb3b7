"""What becomes of an OTLP trace request in JSON."""

from __future__ import annotations

import json
import math

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.model import Signal
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.markers import Markers
from otel_raglog.receive.otlp_json import split_json, to_protobuf
from otel_raglog.receive.span import decode_span

TRACE_ID = "5B8EFFF798038103D269B633813FC60C"
SPAN_ID = "eee19b7ec3c1b174"


@pytest.fixture
def split(markers: Markers):
    """Splits a request of one span with the given JSON fields added."""

    def split_span(**fields: object):
        return split_json(request(**fields), Limits(), markers)

    return split_span


@pytest.fixture
def decode(split):
    """Decodes that one span."""

    def decode_one(**fields: object):
        (wire,) = split(**fields).spans
        return decode_span(wire)

    return decode_one


def request(**fields: object) -> bytes:
    span = {"traceId": TRACE_ID, "spanId": SPAN_ID, **fields}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()


def attribute(**value: object) -> dict[str, object]:
    return {"attributes": [{"key": "k", "value": value}]}


@pytest.mark.parametrize("change", [str.lower, str.upper])
def test_ids_are_hex_in_either_case(change, split) -> None:
    """OTLP/JSON departs from protobuf's JSON here, which has base64."""
    (wire,) = split(traceId=change(TRACE_ID), spanId=change(SPAN_ID)).spans
    assert wire.trace_id.hex() == TRACE_ID.lower()
    assert wire.span_id.hex() == SPAN_ID


@pytest.mark.parametrize("trace_id", ["W47/95gDgQPSaZzgQbZrLw==", "0" * 32, "", "zz" * 16, "ab cd"])
def test_an_id_that_is_no_hex_rejects_its_span_alone(trace_id: str, split) -> None:
    """It is treated like any other invalid id."""
    batch = split(traceId=trace_id)
    assert batch.spans == ()
    assert batch.rejected == {"invalid_trace_id": 1}


@pytest.mark.parametrize("time", [1700000000123456789, "1700000000123456789"])
def test_64_bit_integers_are_numbers_or_strings(time: object, decode) -> None:
    """Times keep all their digits either way."""
    assert decode(startTimeUnixNano=time).start_unix_nano == 1700000000123456789


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"stringValue": "é"}, "é"),
        ({"boolValue": False}, False),
        ({"intValue": "-5"}, -5),
        ({"intValue": 7.0}, 7),
        ({"doubleValue": 2}, 2.0),
        ({"doubleValue": "-Infinity"}, -math.inf),
        ({"bytesValue": "AP8_"}, b"\x00\xff\x3f"),
        ({"bytesValue": "AP8/"}, b"\x00\xff\x3f"),
        ({"arrayValue": {"values": [{"intValue": 1}, {}, None]}}, (1, None, None)),
        ({"kvlistValue": {"values": [{"key": "a", "value": {"boolValue": True}}]}}, {"a": True}),
        ({"arrayValue": {}}, ()),
        ({}, None),
        ({"newValue": 3}, None),
    ],
)
def test_values_of_every_kind(value: dict[str, object], expected: object, decode) -> None:
    """Every AnyValue is read; an unknown or absent one is nothing."""
    assert decode(**attribute(**value)).attributes == {"k": expected}


def test_a_null_value_is_nothing(decode) -> None:
    """Null stands for the default everywhere."""
    span = decode(attributes=[{"key": "k", "value": None}], events=None, status=None)
    assert span.attributes == {"k": None}


def test_nan_is_a_string(decode) -> None:
    """JSON has no NaN."""
    assert math.isnan(decode(**attribute(doubleValue="NaN")).attributes["k"])


def test_unknown_and_snake_case_keys_are_ignored(decode) -> None:
    """Only lowerCamelCase keys are OTLP/JSON."""
    span = decode(start_time_unix_nano="5", brandNew={"x": [1]}, name="n")
    assert span.start_unix_nano == 0
    assert span.name == "n"


def test_a_request_of_unknown_keys_is_empty(markers: Markers) -> None:
    """A future field is no reason to refuse."""
    assert split_json(b'{"resource_spans": [1], "x": 1}', Limits(), markers).spans == ()


@pytest.mark.parametrize("body", [b"", b" ", b"{}", b'{"resourceSpans": null}', b"\xef\xbb\xbf{}"])
def test_an_empty_request_is_a_batch_of_nothing(body: bytes, markers: Markers) -> None:
    """Success without spans, as in protobuf."""
    assert split_json(body, Limits(), markers).spans == ()


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"kind": "SPAN_KIND_CLIENT"}, "kind: expected an enum's integer"),
        ({"kind": "3"}, "kind"),
        ({"status": {"code": "STATUS_CODE_OK"}}, "status.code"),
        ({"name": 5}, "name: expected a string"),
        ({"traceId": 5}, "traceId"),
        ({"startTimeUnixNano": -1}, "startTimeUnixNano"),
        ({"startTimeUnixNano": "soon"}, "startTimeUnixNano"),
        ({"startTimeUnixNano": 1.5}, "startTimeUnixNano"),
        ({"startTimeUnixNano": True}, "startTimeUnixNano"),
        ({"flags": 1 << 32}, "flags"),
        ({"attributes": {}}, "attributes: expected an array"),
        ({"events": [{}, {"attributes": [5]}]}, r"events\[1\].attributes\[0\]: expected an object"),
        (attribute(intValue=1 << 63), r"attributes\[0\].value.intValue"),
        (attribute(intValue=float("inf")), r"attributes\[0\].value.intValue"),
        (attribute(doubleValue="many"), r"attributes\[0\].value.doubleValue"),
        (attribute(doubleValue=10**400), r"attributes\[0\].value.doubleValue"),
        (attribute(boolValue=1), r"attributes\[0\].value.boolValue"),
        (attribute(bytesValue="*"), r"attributes\[0\].value.bytesValue"),
        (attribute(arrayValue={"values": {}}), r"attributes\[0\].value.arrayValue.values"),
    ],
)
def test_an_error_says_where(fields: dict[str, object], place: str, split) -> None:
    """The path leads to the value, the message tells what was expected."""
    with pytest.raises(BadInput, match=rf"^resourceSpans\[0\].scopeSpans\[0\].spans\[0\].{place}"):
        split(**fields)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"5",
        b'"x"',
        b'{"resourceSpans": {}}',
        b'{"resourceSpans": [5]}',
        b'{"resourceSpans": [{"scopeSpans": 5}]}',
        b'{"resourceSpans": [{"scopeSpans": [{"spans": 5}]}]}',
        b'{"resourceSpans": [' + b"9" * 5000 + b"]}",
        b"\xff\xfe\x00",
    ],
)
def test_what_is_no_request_is_bad_input(body: bytes, markers: Markers) -> None:
    """Broken JSON and JSON of another shape are refused."""
    with pytest.raises(BadInput):
        split_json(body, Limits(), markers)


@pytest.mark.parametrize("signal", ["resourceLogs", "resourceMetrics"])
def test_other_signals_are_refused(signal: str, markers: Markers) -> None:
    """They would otherwise be accepted and lost as unknown keys."""
    with pytest.raises(BadInput, match="not traces"):
        split_json(json.dumps({signal: [{}]}).encode(), Limits(), markers)


def test_nesting_is_limited(split) -> None:
    """What protobuf can read is accepted, and nothing deeper."""
    value: dict[str, object] = {"intValue": 1}
    for _ in range(46):
        value = {"arrayValue": {"values": [value]}}
    assert split(**attribute(**value)).spans
    for _ in range(3):
        value = {"arrayValue": {"values": [value]}}
    with pytest.raises(BadInput):
        split(**attribute(**value))
    for _ in range(3):
        value = {"arrayValue": {"values": [value]}}
    with pytest.raises(BadInput, match="nested so deep"):
        split(**attribute(**value))


@pytest.mark.parametrize("signal", list(Signal))
def test_an_empty_request_of_any_signal_is_empty_protobuf(signal: Signal) -> None:
    """There is nothing to turn."""
    assert to_protobuf(signal, b"{}", Limits()) == b""


def test_logs_and_metrics_refuse_the_others() -> None:
    """They would otherwise be accepted and lost as unknown keys."""
    for signal, key in ((Signal.LOGS, "resourceSpans"), (Signal.METRICS, "resourceLogs")):
        with pytest.raises(BadInput, match=f"not {signal}"):
            to_protobuf(signal, json.dumps({key: [{}]}).encode(), Limits())


def test_a_request_keeps_its_shape() -> None:
    """Resources, scopes and items stay where they are, schema URLs too."""
    log = {"body": {"stringValue": "a"}}
    scopes = [{"scope": {"name": "s"}, "schemaUrl": "u", "logRecords": [log, log]}, {}]
    resource = {"resource": {"droppedAttributesCount": 2}, "schemaUrl": "r", "scopeLogs": scopes}
    body = json.dumps({"resourceLogs": [resource, {}]}).encode()
    request = ExportLogsServiceRequest.FromString(to_protobuf(Signal.LOGS, body, Limits()))
    first, second = request.resource_logs
    assert (first.resource.dropped_attributes_count, first.schema_url) == (2, "r")
    assert [scope.schema_url for scope in first.scope_logs] == ["u", ""]
    assert [record.body.string_value for record in first.scope_logs[0].log_records] == ["a", "a"]
    assert not second.scope_logs


@pytest.mark.parametrize("depth", [1_000, 100_000])
@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_absurd_nesting_is_bad_input(opening: bytes, depth: int, markers: Markers) -> None:
    """Neither Python's stack nor C's overflows."""
    with pytest.raises(BadInput):
        split_json(opening * depth, Limits(), markers)


def test_an_endless_integer_is_bad_input(markers: Markers) -> None:
    """Reading one takes time by the square of its digits, also where nobody asks for it."""
    request_of = '{{"unknown": [{}, -{}, 1e400]}}'.format
    assert not split_json(request_of("9" * 309, "9" * 309).encode(), Limits(), markers).spans
    with pytest.raises(BadInput, match="digits"):
        split_json(request_of("9" * 1001, "1").encode(), Limits(), markers)


def test_invalid_utf8_is_replaced(decode, markers: Markers) -> None:
    """One bad string costs neither its request nor its span."""
    body = request(name="bad").replace(b"bad", b"b\xffd")
    (wire,) = split_json(body, Limits(), markers).spans
    assert decode_span(wire).name == "b\ufffdd"
    assert decode(name="\ud800").name == "?"


def test_limits_on_bytes_spans_and_values(markers: Markers) -> None:
    """Each is checked before what it limits is built."""
    body = request()
    for limit in (
        {"max_request_bytes": len(body) - 1},
        {"max_json_values": 6},
    ):
        with pytest.raises(TooLarge):
            split_json(body, Limits(**limit), markers)
    many = b'{"resourceSpans": [], "unknown": [1, 2, 3, 4, 5]}'
    assert len(split_json(many, Limits(max_json_values=8), markers).spans) == 0
    with pytest.raises(TooLarge):
        split_json(many, Limits(max_json_values=7), markers)
    two = body.replace(b'{"traceId"', b'{}, {"traceId"')
    assert split_json(two, Limits(max_spans_per_request=2), markers).rejected_count == 1
    with pytest.raises(TooLarge, match="more than 1 items"):
        split_json(two, Limits(max_spans_per_request=1), markers)
