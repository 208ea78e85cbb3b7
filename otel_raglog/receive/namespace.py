"""A serialized span to the same one without what pretends to be ours.

Verdict attributes and events that arrive from outside cannot be trusted. All other fields keep
their bytes.
"""

from __future__ import annotations

from otel_raglog.receive import thin_pb2 as thin
from otel_raglog.receive.markers import EVALUATION_EVENT, EVALUATION_NAME, OWN_PREFIX
from otel_raglog.wire import LENGTH_DELIMITED, fields

_ATTRIBUTES = 9
_EVENTS = 11


def strip_namespace(raw: bytes) -> bytes:
    """Return the serialized span ``raw`` without attributes and verdict events of our namespace.

    All other fields, unknown ones included, keep their bytes and their order. Succeeds for every
    span that the doors accept.

    Raises:
        BadInput: ``raw`` is no protobuf message.
    """
    kept = bytearray()
    for number, wire_type, begin, payload, end in fields(raw, 0, len(raw)):
        if wire_type == LENGTH_DELIMITED and _is_ours(number, raw[payload:end]):
            continue
        kept += raw[begin:end]
    return bytes(kept)


def _is_ours(field_number: int, payload: bytes) -> bool:
    if field_number == _ATTRIBUTES:
        return thin.KeyValue.FromString(payload).key.startswith(OWN_PREFIX)
    if field_number == _EVENTS:
        event = thin.Event.FromString(payload)
        return event.name == EVALUATION_EVENT and any(
            item.key == EVALUATION_NAME and item.value.string_value.startswith(OWN_PREFIX)
            for item in event.attributes
        )
    return False
