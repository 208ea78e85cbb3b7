"""The sender: retries as told, gives up for a reason, and its books balance at every step."""

from __future__ import annotations

import threading
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_source import Books, MemorySource, make_payload
from structlog.testing import capture_logs

from otel_raglog.clock import ManualClock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.model import Payload, Signal
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.sending import ExportOutcome, Sender, SendingConfig, close_in_time

QUICK = SendingConfig(batch_seconds=0.0, batch_items=10)
FIXED = SendingConfig(batch_seconds=0.0, jitter=0.0, max_backoff_seconds=5.0)


class Scripted:
    """An exporter that answers by script (exceptions are raised), then by ``judge``."""

    name = "scripted"

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.tried: list[Payload] = []
        self.got: list[Payload] = []
        self.judge = lambda payload: ExportOutcome(payload.items)
        self.check = lambda: None

    def export(self, payload):
        self.check()
        self.tried.append(payload)
        answer = self.answers.pop(0) if self.answers else self.judge(payload)
        if isinstance(answer, Exception):
            raise answer
        self.got.append(payload)
        return answer

    def close(self):
        pass


class Rig:
    """A sender whose waits take no time and are written down."""

    def __init__(self, books, *answers, config=FIXED) -> None:
        self.exporter = Scripted(*answers)
        self.books = books
        self.clock = ManualClock()
        self.waits: list[float] = []
        self.source = MemorySource()
        self.given = 0
        self.sender = make_sender(
            self.exporter, self.source, books, config=config, clock=self.clock, wait=self.wait
        )
        self.exporter.check = self.check

    def wait(self, _event, seconds):
        self.check()
        self.waits.append(seconds)
        self.clock.advance(seconds)

    def check(self):
        """The books balance whenever anybody looks."""
        assert self.given == self.books.settled + self.source.pending_items

    def send(self, *payloads):
        """Send ``payloads`` with all their retries, and check the books."""
        self.given = sum(payload.items for payload in payloads)
        self.source.put(*payloads)
        self.sender.start()
        assert self.sender.stop(5.0) == 0
        self.check()
        assert self.books.settled == self.given
        assert self.books.names == {("scripted", Signal.LOGS)}
        dead = sum(payload.items for _, payload, _, _ in self.books.letters)
        assert dead == sum(self.books.drops.values())
        return self.books


def make_sender(exporter, source, books, *, config=QUICK, clock=None, **options):
    clock = clock or ManualClock()
    return Sender(exporter, source, Signal.LOGS, config, books, books, clock, Random(7), **options)


def test_payloads_are_sent_in_batches_in_order(observer):
    """What is there goes out in order, joined into one request of at most so many items."""
    rig = Rig(observer, config=QUICK)
    payloads = [make_payload(number) for number in range(25)]
    assert rig.send(*payloads).forwards == 25
    assert b"".join(p.body for p in rig.exporter.got) == b"".join(p.body for p in payloads)
    assert [payload.items for payload in rig.exporter.got] == [10, 10, 5]


def test_headers_travel_with_their_payloads(observer):
    """Payloads with different headers go out in requests of their own."""
    rig = Rig(observer)
    one, other = (("tenant", "a"),), (("tenant", "b"),)
    rig.send(
        make_payload(1, headers=one), make_payload(2, headers=one), make_payload(3, headers=other)
    )
    assert [(p.items, p.headers) for p in rig.exporter.got] == [(2, one), (1, other)]


def test_each_request_says_where_it_came_by(observer):
    """The sidecar's id goes behind those that are there; dead letters do not have it."""
    exporter = Scripted()
    exporter.judge = lambda payload: Rejected("loop", "http_400")
    before = (("x-otel-raglog-via", "first"),)
    source = MemorySource(make_payload(1, headers=before))
    sender = make_sender(exporter, source, observer, instance_id="second")
    sender.start()
    assert sender.stop() == 0
    assert exporter.tried[0].headers == (("x-otel-raglog-via", "first,second"),)
    assert observer.letters[0][1] == make_payload(1, headers=before)


def test_the_back_off_grows_to_its_limit(observer):
    """Failures in a row wait 1, 1.5, 2.25 ... seconds, up to the limit; nothing is lost."""
    rig = Rig(observer, *[Unavailable("down")] * 6)
    assert rig.send(make_payload(1)).forwards == 1
    assert rig.waits == [1.0, 1.5, 2.25, 3.375, 5.0, 5.0]
    assert observer.retries == 6


def test_the_back_off_is_jittered():
    """With jitter the waits differ, within the stated share."""
    config = SendingConfig(jitter=0.2, initial_backoff_seconds=10)
    random = Random(1)
    waits = [config.backoff_seconds(1, random) for _ in range(200)]
    assert 8.0 <= min(waits) < 8.5
    assert 11.5 < max(waits) <= 12.0


def test_a_very_long_outage_overflows_nothing():
    """The back-off of the millionth failure is the limit."""
    assert SendingConfig(jitter=0).backoff_seconds(10**6, Random(1)) == 30.0


def test_the_destination_says_when_to_try_again(observer):
    """Retry-After goes before our own back-off; one of zero leaves it to us."""
    rig = Rig(observer, Unavailable("busy", 17.0), Unavailable("busy", 0.0), Unavailable("x", 1e9))
    assert rig.send(make_payload(1)).forwards == 1
    assert rig.waits == [17.0, 1.5, 600.0]


@pytest.mark.parametrize("reason", ["http_401", "http_500", "unimplemented"])
def test_a_refusal_of_us_is_not_repeated(observer, reason):
    """What no other content would change drops the batch as it is, into the dead letters."""
    rig = Rig(observer, Rejected("no", reason), config=QUICK)
    payloads = [make_payload(number) for number in range(12)]
    assert rig.send(*payloads).drops == {reason: 10}
    assert observer.forwards == 2
    assert len(rig.exporter.tried) == 2
    ((name, letter, why, message),) = observer.letters
    assert (name, why, message) == ("scripted", reason, "no")
    assert letter.body == b"".join(payload.body for payload in payloads[:10])


@pytest.mark.parametrize("poisoned", [0, 6, 9])
@pytest.mark.parametrize("reason", ["http_400", "invalid_argument"])
def test_a_poisoned_payload_costs_no_other(observer, poisoned, reason):
    """A batch that is refused for its content is halved until the bad payload stands alone."""
    rig = Rig(observer, config=QUICK)
    bad = make_payload(poisoned)

    def judge(payload):
        if bad.body in payload.body:
            return Rejected("bad data", reason)
        return ExportOutcome(payload.items)

    rig.exporter.judge = judge
    payloads = [make_payload(number) for number in range(10)]
    assert rig.send(*payloads).drops == {reason: 1}
    assert [letter[1] for letter in observer.letters] == [bad]
    good = b"".join(payload.body for payload in payloads if payload != bad)
    assert b"".join(payload.body for payload in rig.exporter.got) == good
    assert len(rig.exporter.tried) <= 9


def test_a_payload_over_the_limit_is_cut(observer, span):
    """Receivers take no larger requests: what came in as one goes out as several."""
    payload = encode_payload([span(number, size=500) for number in range(20)])
    exporter = Scripted()
    config = SendingConfig(batch_seconds=0.0, batch_bytes=3_000)
    sender = make_sender(exporter, MemorySource(payload), observer, config=config)
    sender.start()
    assert sender.stop() == 0
    assert observer.forwards == 20
    assert len(exporter.got) > 3
    assert all(len(part.body) <= 3_000 for part in exporter.got)


@pytest.mark.parametrize("reason", ["http_413", "resource_exhausted"])
def test_a_payload_that_is_too_large_for_the_destination_is_cut(observer, span, reason):
    """A limit that we do not know is found by halving; only what is too large alone is lost."""
    spans = [span(number, size=500) for number in range(8)]
    spans[3] = span(3, size=5_000)
    exporter = Scripted()
    exporter.judge = lambda payload: (
        Rejected("too large", reason) if len(payload.body) > 2_000 else ExportOutcome(payload.items)
    )
    sender = make_sender(exporter, MemorySource(encode_payload(spans)), observer, config=FIXED)
    sender.start()
    assert sender.stop() == 0
    assert observer.forwards == 7
    assert observer.drops == {reason: 1}
    assert spans[3].raw in observer.letters[0][1].body


def test_a_full_disk_costs_the_dead_letter_alone(observer):
    """What cannot be kept is counted all the same, and sending goes on."""
    observer.keeps = False
    exporter = Scripted(Rejected("no", "http_403"))
    source = MemorySource(make_payload(1), make_payload(2, headers=(("a", "b"),)))
    sender = make_sender(exporter, source, observer)
    sender.start()
    assert sender.stop() == 0
    assert (observer.drops, observer.forwards) == ({"http_403": 1}, 1)


def test_partial_success_is_counted_and_not_repeated(observer):
    """Items that the backend refuses of a request it took are its rejections."""
    rig = Rig(observer, ExportOutcome(3, 2, "two were bad"))
    rig.send(make_payload(*range(5)))
    assert (observer.forwards, observer.rejections) == (3, 2)
    assert len(rig.exporter.got) == 1


@pytest.mark.parametrize(("claimed", "counted"), [(99, 2), (-5, 0)])
def test_a_backend_cannot_unbalance_the_books(observer, claimed, counted):
    """A backend that claims an impossible number of rejections is not believed."""
    rig = Rig(observer, ExportOutcome(0, claimed))
    assert rig.send(make_payload(1, 2)).rejections == counted


def test_an_exporter_with_a_passing_defect_is_tried_again(observer):
    """An unexpected exception may pass, too."""
    rig = Rig(observer, ZeroDivisionError(), KeyError("x"))
    assert rig.send(make_payload(1)).forwards == 1
    assert len(rig.waits) == 2


def test_a_payload_that_breaks_the_exporter_costs_no_other(observer):
    """After a few unexpected exceptions the batch is halved, without further waits."""
    rig = Rig(observer, config=QUICK)
    rig.exporter.judge = lambda payload: (
        ZeroDivisionError() if b"7;" in payload.body else ExportOutcome(payload.items)
    )
    rig.send(*[make_payload(number) for number in range(10)])
    assert observer.drops == {"exporter_error": 1}
    assert len(rig.waits) == 3


def test_a_time_limit_ends_the_retries(observer):
    """With a limit set, a request that does not get through is dropped as expired."""
    config = SendingConfig(batch_seconds=0, jitter=0, max_elapsed_seconds=4.0)
    rig = Rig(observer, *[Unavailable("down")] * 9, config=config)
    assert rig.send(make_payload(1)).drops == {"retry_expired": 1}
    assert rig.waits == [1.0, 1.5]


def test_stop_cuts_a_wait_short_and_delivers(observer):
    """A shutdown in the middle of a long wait tries at once."""
    source = MemorySource(make_payload(1))
    sender = make_sender(Scripted(Unavailable("down", 500.0)), source, observer)
    sender.start()
    assert observer.retried_once.wait(5)
    assert sender.stop(5.0) == 0
    assert observer.forwards == 1


def test_stop_leaves_what_does_not_get_through_in_the_grace(observer):
    """After the grace the rest is still in the source, and nothing is counted as dropped."""
    exporter = Scripted(*[Unavailable("down", 500.0)] * 100)
    source = MemorySource(*[make_payload(number) for number in range(15)])
    sender = make_sender(exporter, source, observer)
    sender.start()
    assert observer.retried_once.wait(5)
    assert sender.stop(0.05) == 15
    assert sender.stop(0.05) == 15
    assert (observer.settled, source.settled) == (0, 0)


def test_an_export_that_hangs_does_not_hold_up_the_shutdown(observer):
    """Items in a hanging export stay in the source, and its late answer changes nothing."""
    hanging, resume, answered = threading.Event(), threading.Event(), threading.Event()

    class Hanging(Scripted):
        def export(self, payload):
            hanging.set()
            resume.wait(5)
            answered.set()
            return super().export(payload)

    source = MemorySource(make_payload(1))
    sender = make_sender(Hanging(), source, observer)
    sender.start()
    assert hanging.wait(5)
    assert sender.stop(0.02) == 1
    resume.set()
    assert answered.wait(5)
    assert sender.stop(5.0) == 1
    assert (observer.settled, source.settled) == (0, 0)


def test_a_second_stop_cuts_the_first_one_short(observer):
    """A second signal does not wait for the first one's grace."""
    exporter = Scripted(*[Unavailable("down", 500.0)] * 100)
    sender = make_sender(exporter, MemorySource(make_payload(1)), observer)
    sender.start()
    assert observer.retried_once.wait(5)
    first = threading.Thread(target=sender.stop, args=(60.0,), daemon=True)
    first.start()
    assert sender.stop(0.0) == 1
    first.join(5)
    assert not first.is_alive()


def test_a_sender_that_never_started_leaves_what_is_there(observer):
    """Stopping without a start loses nothing."""
    sender = make_sender(Scripted(), MemorySource(make_payload(1)), observer)
    assert sender.stop(0.0) == 1
    assert observer.settled == 0


def test_closing_an_exporter_that_hangs_is_not_waited_for():
    """A write into a dead file system never returns, and closing waits for it."""
    released = threading.Event()

    class Hanging(Scripted):
        def close(self):
            released.wait(60)

    closing = threading.Thread(target=close_in_time, args=(Hanging(), 0.02), daemon=True)
    closing.start()
    closing.join(10)
    assert not closing.is_alive()
    released.set()


def test_headers_that_alternate_do_not_break_batches_up(observer):
    """One request for each set of headers in a batch; within a set the order is kept."""
    rig = Rig(observer, config=QUICK)
    tenants = [(("tenant", name),) for name in "abc"]
    rig.send(*[make_payload(number, headers=tenants[number % 3]) for number in range(9)])
    assert [(p.headers, p.body) for p in rig.exporter.got] == [
        (tenants[0], b"0;3;6;"),
        (tenants[1], b"1;4;7;"),
        (tenants[2], b"2;5;8;"),
    ]


def test_a_tenant_that_is_refused_costs_no_other_of_its_batch(observer):
    """Also where the refusal has nothing to do with the content."""
    rig = Rig(observer, config=QUICK)
    bad = (("tenant", "a"),)
    rig.exporter.judge = lambda payload: (
        Rejected("no", "http_403") if payload.headers == bad else ExportOutcome(payload.items)
    )
    rig.send(*[make_payload(at, headers=bad if at % 2 else ()) for at in range(6)])
    assert (observer.drops, observer.forwards) == ({"http_403": 3}, 3)


def test_a_source_that_fails_does_not_end_the_sender(observer):
    """Whatever it is: the failure is logged once, and what is there is sent after the back-off."""

    class Failing(MemorySource):
        failures = 4

        def take(self, pull):
            self.fail(2)
            return super().take(pull)

        def settle(self, taken):
            self.fail(0)
            super().settle(taken)

        def fail(self, left):
            if self.failures > left:
                self.failures -= 1
                raise ZeroDivisionError

    waits = []
    exporter, source = Scripted(), Failing(make_payload(1))
    sender = make_sender(
        exporter, source, observer, config=FIXED, wait=lambda _, seconds: waits.append(seconds)
    )
    with capture_logs() as lines:
        source.close()
        sender.start()
        sender._thread.join(5)
    assert sender.stop() == 0
    assert [line["event"] for line in lines] == ["sending failed"]
    assert waits == [1.0, 1.5, 2.25, 3.375]
    assert (observer.forwards, len(exporter.got)) == (1, 3)


def test_a_source_that_goes_on_failing_does_not_hold_up_the_shutdown(observer):
    """Its items stay where they are."""

    class Broken(MemorySource):
        def take(self, pull):
            raise OSError

    sender = make_sender(Scripted(), Broken(make_payload(1)), observer)
    sender.start()
    assert sender.stop(0.02) == 1
    assert not sender._thread.is_alive()


ANSWERS = st.sampled_from(
    [
        "ok", "partial", "http_400", "http_413", "http_401", "exporter_error", "unavailable",
        "retry after", "defect", "stop",
    ]
)  # fmt: skip
PAYLOADS = st.lists(st.tuples(st.integers(1, 4), st.sampled_from(["a", "b"])), max_size=12)


class Peer(Scripted):
    """A destination that behaves as it is told, by name; at ``stop`` it is down for good."""

    def __init__(self, script) -> None:
        super().__init__()
        self.script = list(script)
        self.stopped = False
        self.stop = lambda: None

    def export(self, payload):
        word = self.script.pop(0) if self.script else "ok"
        if self.stopped or word == "stop":
            self.stopped = True
            self.stop()
            raise Unavailable("down")
        self.tried.append(payload)
        if word in {"unavailable", "retry after"}:
            raise Unavailable("busy", 3.0 if word == "retry after" else None)
        if word == "defect":
            raise ZeroDivisionError
        if word not in {"ok", "partial"}:
            raise Rejected("refused", word)
        self.got.append(payload)
        rejected = payload.items // 2 if word == "partial" else 0
        return ExportOutcome(payload.items - rejected, rejected)


@given(PAYLOADS, st.lists(ANSWERS, max_size=20), st.sampled_from([0.0, 6.0]))
def test_every_item_is_somewhere(counts, script, limit):
    """Forwarded, rejected, dropped into the dead letters, or pending: whatever the peer does."""
    books, peer = Books(), Peer(script)
    payloads = [
        make_payload(*range(10 * number, 10 * number + count), headers=(("tenant", tenant),))
        for number, (count, tenant) in enumerate(counts)
    ]
    source = MemorySource(*payloads)
    clock = ManualClock()
    config = SendingConfig(batch_seconds=0, batch_items=7, max_elapsed_seconds=limit)
    sender = make_sender(
        peer,
        source,
        books,
        config=config,
        clock=clock,
        wait=lambda event, seconds: event.wait(5) if peer.stopped else clock.advance(seconds),
    )
    stopping = threading.Event()
    peer.stop = stopping.set
    source.close()
    sender.start()
    while sender._thread.is_alive() and not stopping.wait(0.001):
        pass
    left = sender.stop(0.0 if stopping.is_set() else 5.0)
    given = sum(payload.items for payload in payloads)
    assert given == books.settled + left
    assert left == source.pending_items == given - source.settled
    assert sum(letter[1].items for letter in books.letters) == sum(books.drops.values())
    ended = b"".join(p.body for p in peer.got) + b"".join(
        letter[1].body for letter in books.letters
    )
    if not left:
        assert sorted(ended.split(b";")) == sorted(b"".join(p.body for p in payloads).split(b";"))
    assert peer.stopped or not left
