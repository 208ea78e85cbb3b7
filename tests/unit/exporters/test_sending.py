"""The sender: retries as told, gives up for a reason, and its books balance at every step."""

from __future__ import annotations

import threading
from random import Random

import pytest

from otel_raglog.clock import ManualClock
from otel_raglog.errors import ConfigError, Rejected, Unavailable
from otel_raglog_exporters.sending import ExportOutcome, Sender, SendingConfig

QUICK = SendingConfig(batch_seconds=0.0, batch_spans=10)
FIXED = SendingConfig(batch_seconds=0.0, jitter=0.0, max_backoff_seconds=5.0)


class Scripted:
    """An exporter that answers by script (exceptions are raised), then accepts everything."""

    name = "scripted"

    def __init__(self, *answers) -> None:
        self.answers = list(answers)
        self.got: list[tuple] = []
        self.closed = 0
        self.check = lambda: None

    def export(self, spans):
        self.check()
        answer = self.answers.pop(0) if self.answers else ExportOutcome(len(spans))
        if isinstance(answer, Exception):
            raise answer
        self.got.append(tuple(spans))
        return answer

    def close(self):
        self.closed += 1


class Rig:
    """A sender whose waits only move a manual clock."""

    def __init__(self, observer, *answers, config=FIXED) -> None:
        self.observer = observer
        self.exporter = Scripted(*answers)
        self.clock = ManualClock()
        self.waits: list[float] = []
        self.sender = Sender(self.exporter, config, observer, self.clock, Random(7), wait=self.wait)
        self.exporter.check = self.check

    def wait(self, _event, seconds):
        self.check()
        self.waits.append(seconds)
        self.clock.advance(seconds)

    def check(self):
        """The books balance whenever anybody looks."""
        assert self.sender.counts().balanced

    def send(self, *spans):
        """Offer ``spans``, send them with all their retries, and return the books."""
        self.sender.offer(spans)
        self.sender.start()
        assert self.sender.stop(5.0) is True
        counts = self.sender.counts()
        assert counts.balanced
        assert counts.forwarded == self.observer.forwards
        assert counts.backend_rejected == self.observer.rejections
        assert counts.dropped == self.observer.drops
        assert self.observer.last_queue == (0, 0)
        assert self.observer.names == {"scripted"}
        return counts


def test_spans_are_sent_in_batches_in_order(span, observer):
    """What is offered goes out in order, at most so many spans at a time."""
    rig = Rig(observer, config=QUICK)
    spans = [span(number) for number in range(25)]
    assert rig.send(*spans).forwarded == 25
    assert [s for batch in rig.exporter.got for s in batch] == spans
    assert [len(batch) for batch in rig.exporter.got] == [10, 10, 5]


def test_the_back_off_grows_to_its_limit(span, observer):
    """Failures in a row wait 1, 1.5, 2.25 ... seconds, up to the limit; nothing is lost."""
    rig = Rig(observer, *[Unavailable("down")] * 6)
    assert rig.send(span(1)).forwarded == 1
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


def test_the_destination_says_when_to_try_again(span, observer):
    """Retry-After goes before our own back-off; one of zero leaves it to us."""
    rig = Rig(observer, Unavailable("busy", 17.0), Unavailable("busy", 0.0), Unavailable("x", 1e9))
    assert rig.send(span(1)).forwarded == 1
    assert rig.waits == [17.0, 1.5, 600.0]


def test_a_refusal_is_counted_by_its_reason_and_not_repeated(span, observer):
    """What the destination refuses for good is dropped; the next batch goes on."""
    rig = Rig(observer, Rejected("no", "http_400"), config=QUICK)
    counts = rig.send(*[span(number) for number in range(12)])
    assert counts.dropped == {"http_400": 10}
    assert counts.forwarded == 2
    assert rig.waits == []


def test_partial_success_is_counted_and_not_repeated(span, observer):
    """Spans that the backend refuses of a request it took are its rejections."""
    rig = Rig(observer, ExportOutcome(3, 2, "two were bad"))
    counts = rig.send(*[span(number) for number in range(5)])
    assert (counts.forwarded, counts.backend_rejected) == (3, 2)
    assert len(rig.exporter.got) == 1


@pytest.mark.parametrize(("claimed", "counted"), [(99, 2), (-5, 0)])
def test_a_backend_cannot_unbalance_the_books(span, observer, claimed, counted):
    """A backend that claims an impossible number of rejections is not believed."""
    rig = Rig(observer, ExportOutcome(0, claimed))
    assert rig.send(span(1), span(2)).backend_rejected == counted


def test_an_exporter_with_a_passing_defect_is_tried_again(span, observer):
    """An unexpected exception may pass, too."""
    rig = Rig(observer, ZeroDivisionError(), KeyError("x"))
    assert rig.send(span(1)).forwarded == 1
    assert len(rig.waits) == 2


def test_an_exporter_with_a_lasting_defect_costs_its_batch_only(span, observer):
    """After a few unexpected exceptions the batch is dropped and counted."""
    rig = Rig(observer, *[ZeroDivisionError()] * 4, config=QUICK)
    counts = rig.send(*[span(number) for number in range(11)])
    assert counts.dropped == {"exporter_error": 10}
    assert counts.forwarded == 1


def test_a_time_limit_ends_the_retries(span, observer):
    """With a limit set, a batch that does not get through is dropped as expired."""
    config = SendingConfig(batch_seconds=0, jitter=0, max_elapsed_seconds=4.0)
    rig = Rig(observer, *[Unavailable("down")] * 9, config=config)
    assert rig.send(span(1)).dropped == {"retry_expired": 1}
    assert rig.waits == [1.0, 1.5]


def test_a_full_queue_refuses_aloud(span, observer):
    """When there is no room the offer fails as a whole, and nothing is counted as taken."""
    rig = Rig(observer, config=SendingConfig(queue_spans=2))
    rig.sender.offer([span(1), span(2)])
    assert not rig.sender.has_room([span(3)])
    with pytest.raises(Unavailable):
        rig.sender.offer([span(3)])
    assert rig.sender.counts().offered == 2


def test_stop_cuts_a_wait_short_and_delivers(span, observer):
    """A shutdown in the middle of a long wait tries at once."""
    exporter = Scripted(Unavailable("down", 500.0))
    sender = Sender(exporter, QUICK, observer, ManualClock(), Random(1))
    sender.start()
    sender.offer([span(1)])
    assert observer.retried_once.wait(5)
    assert sender.stop(5.0)
    assert sender.counts().forwarded == 1


def test_stop_drops_what_does_not_get_through_in_the_grace(span, observer):
    """After the grace the rest is counted as dropped by the shutdown, once."""
    exporter = Scripted(*[Unavailable("down", 500.0)] * 100)
    sender = Sender(exporter, QUICK, observer, ManualClock(), Random(1))
    sender.start()
    sender.offer([span(number) for number in range(15)])
    assert observer.retried_once.wait(5)
    assert sender.stop(0.05) is False
    sender.stop(0.05)
    assert sender.counts().dropped == observer.drops == {"shutdown": 15}
    assert sender.counts().balanced
    assert exporter.closed
    with pytest.raises(Unavailable):
        sender.offer([span(1)])


def test_an_export_that_hangs_does_not_hold_up_the_shutdown(span, observer):
    """Spans in a hanging export are counted as dropped, and its late answer changes nothing."""
    exporter, hanging, resume = Scripted(), threading.Event(), threading.Event()

    def hang():
        hanging.set()
        resume.wait(5)

    exporter.check = hang
    exporter.close = resume.set
    sender = Sender(exporter, QUICK, observer, ManualClock(), Random(1))
    sender.start()
    sender.offer([span(1)])
    assert hanging.wait(5)
    assert sender.stop(0.02) is False
    counts = sender.counts()
    assert counts.balanced
    assert counts.dropped == observer.drops == {"shutdown": 1}
    assert observer.forwards == 0


def test_a_sender_that_never_started_drops_what_it_has(span, observer):
    """Stopping without a start loses nothing silently."""
    sender = Sender(Scripted(), QUICK, observer, ManualClock(), Random(1))
    sender.offer([span(1)])
    assert sender.stop(0.0) is False
    assert sender.counts().dropped == {"shutdown": 1}


@pytest.mark.parametrize(
    ("option", "value"),
    [("queue_spans", 0), ("backoff_multiplier", 0.5), ("jitter", 1.5), ("batch_seconds", -1)],
)
def test_options_out_of_range_are_refused_by_name(option, value):
    """A wrong option is an error that names it."""
    with pytest.raises(ConfigError, match=option):
        SendingConfig(**{option: value})


def test_an_exporter_that_hangs_does_not_keep_the_process_alive(observer, span):
    """A write into a dead file system never returns, and closing waits for it."""
    released = threading.Event()

    class Hanging(Scripted):
        def export(self, spans):
            released.wait(60)
            return super().export(spans)

        def close(self):
            released.wait(60)

    sender = Sender(Hanging(), QUICK, observer, ManualClock(), Random(1))
    sender.start()
    sender.offer([span(1)])
    stopping = threading.Thread(target=sender.stop, args=(0.1,), daemon=True)
    stopping.start()
    stopping.join(10)
    assert not stopping.is_alive()
    assert sender.counts().balanced
    released.set()
