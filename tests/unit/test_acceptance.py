"""Acceptance: what an earlier process accepted and did not decide is taken up, or waits."""

from __future__ import annotations

from collections import Counter

from journalled import Desk, log_request, log_texts, span_names
from samples import origin, span_message

from otel_raglog.acceptance import JournalInbox, OwnSpans
from otel_raglog.building import build_markers
from otel_raglog.model import Payload, RawSpan, Signal
from otel_raglog.receive.inbox import Arrival, HeldQueue
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.sifting import Sifter
from otel_raglog_exporters.grouping import encode_request

_SIFTER = Sifter(Limits(), build_markers())
_LLM = {"openinference.span.kind": "LLM"}


def _inbox(desk: Desk) -> JournalInbox:
    return JournalInbox(desk.journal, HeldQueue(), _SIFTER)


def _mixed() -> bytes:
    """Return a request with a span that waits and one that does not."""
    spans = [span_message(name="llm", attributes=_LLM), span_message(parent_id=b"p" * 8)]
    return encode_request(RawSpan(origin(), span.SerializeToString()) for span in spans)


def test_what_passes_leaves_at_once_and_is_made_the_same_from_the_journal() -> None:
    """The other spans wait in the queue, with their places in the journal."""
    desk, held = Desk(["one", "two"]), HeldQueue()
    body = _mixed()
    sifted = _SIFTER.sift(body)
    arrival = Arrival(Signal.TRACES, body, (("tenant", "a"),), sifted.accepted, sifted)
    JournalInbox(desk.journal, held, _SIFTER).accept(arrival)
    passes = Payload(Signal.TRACES, encode_request(sifted.passing_spans()), 1, (("tenant", "a"),))
    assert span_names(passes.body) == ["span"]
    assert desk.deliver("one") == [passes]
    desk.start()  # memory is empty: it is read from the log
    assert desk.deliver("two") == [passes]
    assert held.get(0) == sifted.held(1, (("tenant", "a"),))
    assert desk.journal.undecided_items == 1


def test_a_request_that_passes_whole_is_not_copied() -> None:
    """The feeds get the very bytes that came."""
    desk = Desk()
    body = encode_request(
        [RawSpan(origin(), span_message(parent_id=b"p" * 8).SerializeToString())] * 3
    )
    sifted = _SIFTER.sift(body)
    _inbox(desk).accept(Arrival(Signal.TRACES, body, (), sifted.accepted, sifted))
    [payload] = desk.deliver()
    assert payload.body is body
    assert payload.items == 3


def test_on_a_disk_that_is_full_at_the_start_what_passes_waits_for_a_tick() -> None:
    """The service starts all the same: it must deliver what it has, for space to come back."""
    desk = Desk()
    desk.decisions.refusing = True
    body = _mixed()
    sifted = _SIFTER.sift(body)
    _inbox(desk).accept(Arrival(Signal.TRACES, body, (), sifted.accepted, sifted))
    desk.start()
    assert _inbox(desk).restore(desk.recovered) == {Signal.TRACES: 2}
    assert desk.journal.undecided_items == 2
    desk.decisions.refusing = False
    desk.journal.tick()
    assert [span_names(payload.body) for payload in desk.deliver()] == [["span"]]
    assert desk.journal.undecided_items == 1


def test_on_such_a_disk_whole_requests_wait_as_well() -> None:
    """Logs and metrics among them."""
    desk = Desk()
    desk.decisions.refusing = True
    _inbox(desk).accept(Arrival(Signal.LOGS, log_request(["x"]), (), 1))
    desk.start()
    assert _inbox(desk).restore(desk.recovered) == {Signal.LOGS: 1}
    desk.decisions.refusing = False
    desk.journal.tick()
    [payload] = desk.deliver(signal=Signal.LOGS)
    assert log_texts(payload.body) == ["x"]


class _Books:
    """Counts what was received and rejected."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def received(self, _signal: Signal, items: int) -> None:
        self.counts["received"] += items

    def rejected(self, _signal: Signal, reason: str, items: int) -> None:
        self.counts[reason] += items


_VERDICT = {"openinference.span.kind": "EVALUATOR", "raglog.run.verdict": "faulty"}


def _carrier() -> RawSpan:
    message = span_message(name="raglog.verdict", attributes=_VERDICT)
    return RawSpan(origin(), message.SerializeToString())


def test_spans_of_our_own_are_kept_and_delivered_like_those_that_came_in() -> None:
    """With the headers of what they are about, and in the books as received."""
    desk, books = Desk(["one"]), _Books()
    assert OwnSpans(desk.journal, books).send([_carrier()], (("tenant", "a"),))
    [payload] = desk.deliver("one")
    assert payload.headers == (("tenant", "a"),)
    assert payload.body == encode_request([_carrier()])
    assert books.counts == {"received": 1}


def test_spans_of_our_own_keep_their_verdict_over_a_restart() -> None:
    """What was written down and not decided passes whole, though it bears words of our namespace."""
    desk = Desk(["one"])
    payload = Payload(Signal.TRACES, encode_request([_carrier()]), 1)
    desk.journal.accept(payload, None, own=True)
    desk.start()
    _inbox(desk).restore(desk.recovered)
    assert [each.body for each in desk.deliver("one")] == [payload.body]


def test_when_the_journal_refuses_they_are_rejected() -> None:
    """The balance holds, and nothing raises: nobody would send them again."""
    desk, books = Desk(["one"]), _Books()
    own = OwnSpans(desk.journal, books)
    desk.journal.close()
    assert not own.send([_carrier()], ())
    assert books.counts == {"received": 1, "unavailable": 1}
    assert own.send([], ())
