"""AWS event streams to JSON lines."""

from __future__ import annotations

import base64
import json
import struct
import zlib

import pytest

from otel_raglog_proxy_bridge.eventstream import json_lines, messages


def header(name: str, value: str) -> bytes:
    return (
        bytes([len(name)])
        + name.encode()
        + b"\x07"
        + struct.pack(">H", len(value))
        + value.encode()
    )


def message(payload: bytes, raw_headers: bytes = b"", **headers: str) -> bytes:
    raw = raw_headers + b"".join(
        header(":" + key.replace("_", "-"), value) for key, value in headers.items()
    )
    prelude = struct.pack(">II", 12 + len(raw) + len(payload) + 4, len(raw))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    whole = prelude + raw + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


def lines(*parts: bytes) -> list[object]:
    return [json.loads(line) for line in json_lines(b"".join(parts)).splitlines()]


def wrapped(data: object) -> bytes:
    text = data if isinstance(data, str) else json.dumps(data)
    return json.dumps({"bytes": base64.b64encode(text.encode()).decode(), "p": "abc"}).encode()


def test_an_event_is_named_by_its_type():
    """Converse streams: the event's type and its payload."""
    delta = {"delta": {"text": "Hi\u2028"}, "contentBlockIndex": 0}
    assert lines(
        message(b'{"role": "assistant"}', event_type="messageStart"),
        message(json.dumps(delta).encode(), event_type="contentBlockDelta"),
    ) == [{"messageStart": {"role": "assistant"}}, {"contentBlockDelta": delta}]


def test_wrapped_json_is_unwrapped():
    """Streams of invoked models: the JSON in the payload's base64."""
    part = {"completion": "Hi", "stop_reason": None}
    assert lines(message(wrapped(part), event_type="chunk")) == [part]


def test_wrapped_text_is_named():
    """An agent's pieces of an answer are text, be it a number alone."""
    assert lines(
        message(wrapped("Hi"), event_type="chunk"), message(wrapped("7"), event_type="chunk")
    ) == [{"chunk": {"text": "Hi", "p": "abc"}}, {"chunk": {"text": "7", "p": "abc"}}]


def test_bytes_that_are_no_base64_stay():
    """A payload with another kind of ``bytes`` is kept as it is."""
    assert lines(message(b'{"bytes": "?"}', event_type="chunk")) == [{"chunk": {"bytes": "?"}}]


def test_errors_are_events():
    """Exceptions that a service models, and those that it does not."""
    assert lines(
        message(b'{"message": "slow"}', exception_type="throttlingException"),
        message(b"", error_code="InternalError", error_message="oh"),
    ) == [{"throttlingException": {"message": "slow"}}, {"InternalError": "oh"}]


def test_an_endpoint_s_stream_is_put_together():
    """SageMaker cuts the container's stream anywhere, within characters too."""
    raw = "data: é\n".encode()
    parts = [message(raw[:7], event_type="PayloadPart"), message(raw[7:], event_type="PayloadPart")]
    assert json_lines(b"".join(parts)) == "data: é\n"


def test_headers_of_every_type_are_passed_over():
    """Only text headers are kept, whatever stands among them."""
    others = b"".join(
        bytes([1, 65 + kind, kind]) + b"\0" * size
        for kind, size in {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}.items()
    )
    (found,) = messages(message(b"x", others, event_type="e"))
    assert found.headers == {":event-type": "e"}
    assert found.payload == b"x"


def test_an_unfinished_message_is_left_out():
    """A stream may end anywhere."""
    whole = message(b"{}", event_type="e")
    for end in range(len(whole)):
        assert lines(whole, whole[:end]) == [{"e": {}}]


@pytest.mark.parametrize("at", [0, 5, 9, 14, 25, -1])
def test_a_wrong_byte_is_noticed(at):
    """Both checksums are checked."""
    broken = bytearray(message(b"{}", event_type="e"))
    broken[at] ^= 1
    with pytest.raises(ValueError, match="checksum"):
        json_lines(bytes(broken))


def test_headers_that_do_not_fit_are_an_error():
    """Lengths within the message are not trusted, though the checksums are right."""
    with pytest.raises(ValueError, match="headers"):
        json_lines(message(b"", b"\x09abc"))
    with pytest.raises(ValueError, match="headers"):
        json_lines(message(b"", b"\x01a\x63"))
    prelude = struct.pack(">II", 16, 99)
    with pytest.raises(ValueError, match="headers"):
        json_lines(prelude + struct.pack(">I", zlib.crc32(prelude)) + b"\0\0\0\0")
