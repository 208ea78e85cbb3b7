"""The only form in which a sender meets a payload."""

from memory_source import MemorySource
from samples import span_message, wire_span
from structlog.testing import capture_logs

from otel_raglog.errors import BadInput
from otel_raglog.model import Signal
from otel_raglog.redaction.redaction import Redacted
from otel_raglog.redaction.source import RedactedSource
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.sending import Pull

PULL = Pull(100, 1 << 20, 0.0)


class Books:
    """Notes what is counted."""

    def __init__(self):
        self.noted = []

    def redaction_failed(self, exporter, signal, count):
        """Note it."""
        self.noted.append(("failed", exporter, signal, count))

    def dropped(self, exporter, signal, reason, count):
        """Note it."""
        self.noted.append((reason, exporter, signal, count))


def redact(payload):
    """Take payloads whole, strip some, and fail at others."""
    if b"bad" in payload.body:
        raise BadInput("no request")
    return Redacted(payload, 2 if b"odd" in payload.body else 0)


def source_of(*names):
    """Return a source with a payload for each name, and the books."""
    inner, books = (
        MemorySource(*(encode_payload([wire_span(span_message(name=n))]) for n in names)),
        Books(),
    )
    return RedactedSource("b", Signal.TRACES, inner, redact, books), inner, books


def test_batches_settle_and_end_as_those_of_the_source():
    """It is the same queue."""
    source, inner, books = source_of("a", "b")
    assert source.pending_items == 2
    taken = source.take(PULL)
    assert len(taken.payloads) == 2
    source.settle(taken)
    assert source.pending_items == 0
    assert inner.settled == 2
    source.close()
    assert source.take(PULL) is None
    assert books.noted == []


def test_what_lost_its_content_is_counted_and_said_once():
    """By destination and signal."""
    source, _, books = source_of("odd", "odd")
    with capture_logs() as logs:
        assert source.take(PULL) is not None
    assert books.noted == [("failed", "b", Signal.TRACES, 2)] * 2
    assert [line["log_level"] for line in logs] == ["error"]


def test_what_is_no_request_goes_out_empty_and_is_counted_as_dropped():
    """So that received and forwarded still add up."""
    source, _, books = source_of("bad", "good")
    with capture_logs():
        bad, good = source.take(PULL).payloads
    assert (bad.body, bad.items) == (b"", 0)
    assert b"good" in good.body
    assert books.noted == [("redaction_failed", "b", Signal.TRACES, 1)]
