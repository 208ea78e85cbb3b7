"""Each payload is redacted once for several destinations."""

from samples import span_message, wire_span

from otel_raglog.model import Payload, Signal
from otel_raglog.redaction.recent import Recent
from otel_raglog.redaction.redaction import Redacted
from otel_raglog_exporters.grouping import encode_payload


class Counting:
    """Redacts nothing, and counts."""

    def __init__(self):
        self.calls = 0

    def payload(self, payload):
        """Return the payload as it is."""
        self.calls += 1
        return Redacted(payload, 2)


def payload(name):
    """Return a payload."""
    return encode_payload([wire_span(span_message(name=name))])


def test_the_second_destination_costs_nothing():
    """It gets the same bytes, and the count of what failed."""
    work = Counting()
    recent = Recent(work)
    assert recent(payload("a")) == recent(payload("a"))
    assert recent(payload("a")).stripped == 2
    assert work.calls == 1


def test_headers_are_each_payload_s_own():
    """Only the body is remembered."""
    recent = Recent(Counting())
    one = payload("a")
    other = Payload(one.signal, one.body, one.items, (("x-tenant", "b"),))
    recent(one)
    assert recent(other).payload.headers == (("x-tenant", "b"),)


def test_signals_are_not_mixed_up():
    """Equal bytes may be requests of two signals."""
    work = Counting()
    recent = Recent(work)
    for signal in Signal:
        assert recent(Payload(signal, b"", 0)).payload.signal is signal
    assert work.calls == 3


def test_memory_is_bounded():
    """The oldest are forgotten."""
    work = Counting()
    recent = Recent(work, max_bytes=3 * len(payload("a").body))
    for name in "abab":
        recent(payload(name))
    assert work.calls == 4
