"""Requests and decisions to the bytes of journal records, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from google.protobuf.message import DecodeError

from otel_raglog.errors import BadInput
from otel_raglog.journal import journal_pb2 as pb
from otel_raglog.model import Decision, Headers, Piece, Signal
from otel_raglog.wire import encode_length, read_length

_CODES: Mapping[Signal, pb.SignalCode] = {
    Signal.TRACES: pb.SIGNAL_TRACES,
    Signal.METRICS: pb.SIGNAL_METRICS,
    Signal.LOGS: pb.SIGNAL_LOGS,
}
_SIGNALS: Mapping[int, Signal] = {int(code): signal for signal, code in _CODES.items()}


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A journalled request; ``items`` are those accepted, and ``body`` all that came.

    ``own`` tells that this service made it.
    """

    signal: Signal
    headers: Headers
    body: bytes
    items: int
    own: bool = False


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision with how many bytes its payload has and when it was taken."""

    decision: Decision
    payload_bytes: int
    unix_seconds: int


def encode_request_head(
    signal: Signal, headers: Headers, items: int, *, own: bool = False
) -> bytes:
    """Return what stands before the body in a request record: so the body is not copied."""
    head = pb.RequestHead(signal=_CODES[signal], items=items, own=own)
    for name, value in headers:
        head.headers.add(name=_to_bytes(name), value=_to_bytes(value))
    encoded = head.SerializeToString()
    return encode_length(len(encoded)) + encoded


def decode_request(record: bytes) -> StoredRequest:
    """Read a request record.

    Raises:
        BadInput: this is none, or one of an unknown signal.
    """
    length, begin = read_length(record, 0, len(record))
    end = begin + length
    if end > len(record):
        raise BadInput("a request record ends inside its head")
    try:
        head = pb.RequestHead.FromString(record[begin:end])
    except DecodeError as error:
        raise BadInput(f"malformed head of a request record: {error}") from error
    headers = tuple((_to_text(header.name), _to_text(header.value)) for header in head.headers)
    return StoredRequest(_signal(head.signal), headers, record[end:], head.items, head.own)


def encode_decision(decision: Decision, payload_bytes: int, unix_seconds: int) -> bytes:
    """Return the record of ``decision``."""
    message = pb.Decision(
        signal=_CODES[decision.signal],
        items=decision.items,
        trace_id=decision.trace_id,
        late_addition=decision.late_addition,
        payload_bytes=payload_bytes,
        unix_seconds=unix_seconds,
    )
    for piece in decision.pieces:
        message.pieces.add(
            request=piece.request, ordinals=piece.ordinals, additions=piece.additions
        )
    return message.SerializeToString()


def decode_decision(record: bytes) -> Decision:
    """Read the decision in a record; see :func:`decode_stored_decision`."""
    return decode_stored_decision(record).decision


def decode_stored_decision(record: bytes) -> StoredDecision:
    """Read a decision record.

    Raises:
        BadInput: this is none, or one of an unknown signal.
    """
    try:
        message = pb.Decision.FromString(record)
    except DecodeError as error:
        raise BadInput(f"malformed decision record: {error}") from error
    pieces = tuple(
        Piece(piece.request, tuple(piece.ordinals), tuple(piece.additions))
        for piece in message.pieces
    )
    decision = Decision(
        _signal(message.signal), message.items, pieces, message.trace_id, message.late_addition
    )
    return StoredDecision(decision, message.payload_bytes, message.unix_seconds)


def _signal(code: int) -> Signal:
    if code not in _SIGNALS:
        raise BadInput(f"record of the unknown signal {code}")
    return _SIGNALS[code]


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _to_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")
