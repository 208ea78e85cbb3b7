"""The tables that are OTLP/JSON: per message, JSON key to protobuf field and how it is read."""

from __future__ import annotations

from otel_raglog.receive.json_fields import (
    BOOL,
    COUNT,
    DOUBLE,
    ENUM,
    ID,
    INT32,
    INT64,
    STRING,
    TIME,
    UINT64,
    VALID_ID,
    Read,
    Table,
    base64_bytes,
    double,
    list_of,
    many,
    nested,
    one,
    read_uint64,
    scalar,
    text,
)

_ANY_VALUE: dict[str, tuple[str, Read]] = {
    "stringValue": ("string_value", STRING),
    "boolValue": ("bool_value", BOOL),
    "intValue": ("int_value", INT64),
    "doubleValue": ("double_value", DOUBLE),
    "bytesValue": ("bytes_value", scalar(base64_bytes)),
}
_KEY_VALUE: Table = {"key": ("key", STRING), "value": ("value", one(_ANY_VALUE))}
# A value may hold values, so these two come after what they refer to.
_ANY_VALUE["arrayValue"] = ("array_value", nested({"values": ("values", many(_ANY_VALUE))}))
_ANY_VALUE["kvlistValue"] = ("kvlist_value", nested({"values": ("values", many(_KEY_VALUE))}))

_ATTRIBUTES = ("attributes", many(_KEY_VALUE))
_DROPPED_ATTRIBUTES = ("dropped_attributes_count", COUNT)
_SCHEMA_URL = ("schema_url", STRING)

_ENTITY_REF: Table = {
    "schemaUrl": _SCHEMA_URL,
    "type": ("type", STRING),
    "idKeys": ("id_keys", list_of(text)),
    "descriptionKeys": ("description_keys", list_of(text)),
}
_RESOURCE: Table = {
    "attributes": _ATTRIBUTES,
    "droppedAttributesCount": _DROPPED_ATTRIBUTES,
    "entityRefs": ("entity_refs", many(_ENTITY_REF)),
}
_SCOPE: Table = {
    "name": ("name", STRING),
    "version": ("version", STRING),
    "attributes": _ATTRIBUTES,
    "droppedAttributesCount": _DROPPED_ATTRIBUTES,
}
RESOURCE_ENVELOPE: Table = {"resource": ("resource", one(_RESOURCE)), "schemaUrl": _SCHEMA_URL}
SCOPE_ENVELOPE: Table = {"scope": ("scope", one(_SCOPE)), "schemaUrl": _SCHEMA_URL}
_EVENT: Table = {
    "timeUnixNano": ("time_unix_nano", TIME),
    "name": ("name", STRING),
    "attributes": _ATTRIBUTES,
    "droppedAttributesCount": _DROPPED_ATTRIBUTES,
}
_LINK: Table = {
    "traceId": ("trace_id", ID),
    "spanId": ("span_id", ID),
    "traceState": ("trace_state", STRING),
    "attributes": _ATTRIBUTES,
    "droppedAttributesCount": _DROPPED_ATTRIBUTES,
    "flags": ("flags", COUNT),
}
_STATUS: Table = {"message": ("message", STRING), "code": ("code", ENUM)}
SPAN: Table = {
    "traceId": ("trace_id", ID),
    "spanId": ("span_id", ID),
    "traceState": ("trace_state", STRING),
    "parentSpanId": ("parent_span_id", ID),
    "flags": ("flags", COUNT),
    "name": ("name", STRING),
    "kind": ("kind", ENUM),
    "startTimeUnixNano": ("start_time_unix_nano", TIME),
    "endTimeUnixNano": ("end_time_unix_nano", TIME),
    "attributes": _ATTRIBUTES,
    "droppedAttributesCount": _DROPPED_ATTRIBUTES,
    "events": ("events", many(_EVENT)),
    "droppedEventsCount": ("dropped_events_count", COUNT),
    "links": ("links", many(_LINK)),
    "droppedLinksCount": ("dropped_links_count", COUNT),
    "status": ("status", one(_STATUS)),
}
LOG_RECORD: Table = {
    "timeUnixNano": ("time_unix_nano", TIME),
    "observedTimeUnixNano": ("observed_time_unix_nano", TIME),
    "severityNumber": ("severity_number", ENUM),
    "severityText": ("severity_text", STRING),
    "body": ("body", one(_ANY_VALUE)),
    "attributes": _ATTRIBUTES,
    "droppedAttributesCount": _DROPPED_ATTRIBUTES,
    "flags": ("flags", COUNT),
    "traceId": ("trace_id", VALID_ID),
    "spanId": ("span_id", VALID_ID),
    "eventName": ("event_name", STRING),
}

_EXEMPLAR: Table = {
    "filteredAttributes": ("filtered_attributes", many(_KEY_VALUE)),
    "timeUnixNano": ("time_unix_nano", TIME),
    "asDouble": ("as_double", DOUBLE),
    "asInt": ("as_int", INT64),
    "spanId": ("span_id", VALID_ID),
    "traceId": ("trace_id", VALID_ID),
}
_POINT: Table = {
    "attributes": _ATTRIBUTES,
    "startTimeUnixNano": ("start_time_unix_nano", TIME),
    "timeUnixNano": ("time_unix_nano", TIME),
    "flags": ("flags", COUNT),
}
_EXEMPLARS: Table = {"exemplars": ("exemplars", many(_EXEMPLAR))}
_COUNT_AND_SUM: Table = {"count": ("count", UINT64), "sum": ("sum", DOUBLE)}
_RANGE: Table = {"min": ("min", DOUBLE), "max": ("max", DOUBLE)}
_BUCKETS: Table = {
    "offset": ("offset", INT32),
    "bucketCounts": ("bucket_counts", list_of(read_uint64)),
}
_NUMBER_POINT: Table = {
    **_POINT,
    **_EXEMPLARS,
    "asDouble": ("as_double", DOUBLE),
    "asInt": ("as_int", INT64),
}
_HISTOGRAM_POINT: Table = {
    **_POINT,
    **_EXEMPLARS,
    **_COUNT_AND_SUM,
    **_RANGE,
    "bucketCounts": ("bucket_counts", list_of(read_uint64)),
    "explicitBounds": ("explicit_bounds", list_of(double)),
}
_EXPONENTIAL_POINT: Table = {
    **_POINT,
    **_EXEMPLARS,
    **_COUNT_AND_SUM,
    **_RANGE,
    "scale": ("scale", INT32),
    "zeroCount": ("zero_count", UINT64),
    "zeroThreshold": ("zero_threshold", DOUBLE),
    "positive": ("positive", one(_BUCKETS)),
    "negative": ("negative", one(_BUCKETS)),
}
_QUANTILE: Table = {"quantile": ("quantile", DOUBLE), "value": ("value", DOUBLE)}
_SUMMARY_POINT: Table = {
    **_POINT,
    **_COUNT_AND_SUM,
    "quantileValues": ("quantile_values", many(_QUANTILE)),
}
_TEMPORALITY: Table = {"aggregationTemporality": ("aggregation_temporality", ENUM)}


def _points(table: Table) -> Table:
    return {"dataPoints": ("data_points", many(table))}


METRIC: Table = {
    "name": ("name", STRING),
    "description": ("description", STRING),
    "unit": ("unit", STRING),
    "gauge": ("gauge", one(_points(_NUMBER_POINT))),
    "sum": (
        "sum",
        one({**_points(_NUMBER_POINT), **_TEMPORALITY, "isMonotonic": ("is_monotonic", BOOL)}),
    ),
    "histogram": ("histogram", one({**_points(_HISTOGRAM_POINT), **_TEMPORALITY})),
    "exponentialHistogram": (
        "exponential_histogram",
        one({**_points(_EXPONENTIAL_POINT), **_TEMPORALITY}),
    ),
    "summary": ("summary", one(_points(_SUMMARY_POINT))),
    "metadata": ("metadata", many(_KEY_VALUE)),
}
