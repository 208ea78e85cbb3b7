"""Events on a pipe."""

import io

import pytest

from otel_raglog_proxy_bridge.frames import (
    Begun,
    Forgotten,
    frame_of,
    headed,
    read_data,
    read_event,
)
from otel_raglog_proxy_bridge.model import Side
from otel_raglog_proxy_bridge.safety import RawCall

CALL = RawCall(
    id="c",
    method="POST",
    url="http://h/é",
    status=None,
    request_headers=(("A", "b"), ("A", "c")),
    response_headers=(),
    request_body=bytes(range(256)),
    response_body=b"",
    started_ns=1_700_000_000_123_456_789,
    ended_ns=2,
    side=Side.FRONT,
    client="127.0.0.1:5",
    error="broke",
    cut=frozenset({"request", "response"}),
)
EVENTS = (Begun("a", 1, Side.OUTBOUND), Begun("f", 2, Side.FRONT, "00-x"), CALL, Forgotten("a"))


def test_events_come_back():
    """Events come back as they were, in order, and then nothing."""
    stream = io.BytesIO(b"".join(part for event in EVENTS for part in frame_of(event)))
    assert tuple(iter(lambda: read_event(stream), None)) == EVENTS
    assert read_event(stream) is None


@pytest.mark.parametrize("event", EVENTS)
def test_an_event_that_is_cut(event):
    """What ends in the middle is no event."""
    whole = b"".join(frame_of(event))
    for end in range(0, len(whole), 7):
        assert read_event(io.BytesIO(whole[:end])) is None


def test_data():
    """Settings travel as JSON, and are no event."""
    assert read_data(io.BytesIO(headed({"a": [1]}))) == {"a": [1]}
    assert read_event(io.BytesIO(headed({"a": [1]}))) is None
