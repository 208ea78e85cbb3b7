"""The queue and its thread: bounded in memory and time, and never in the application's way."""

import gc
import logging
import os
import signal
import threading
import time
from random import Random

import pytest
from in_app_kit import PATIENCE_SECONDS, ended_spans
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY, get_value

from otel_raglog.clock import SystemClock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog_exporters.in_app.outbox import Outbox
from otel_raglog_exporters.in_app.process import Counts
from otel_raglog_exporters.in_app.settings import InAppConfig
from otel_raglog_exporters.in_app.traces import Ended

(SPAN,) = ended_spans("any")
NAMES = {}


def ended(trace_id, *, done=True, size=100):
    """Return an ended span; its trace's number is its body."""
    return Ended(NAMES.setdefault(trace_id, ended_spans(str(trace_id))[0]), trace_id, size, done)


def encode(spans):
    return ",".join(span.name for span in spans).encode()


class ScriptedDoor:
    """Answers as told, then takes everything; waits while ``open`` is not set."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.bodies = []
        self.tries = threading.Semaphore(0)
        self.open = threading.Event()
        self.open.set()
        self.seconds = []
        self.suppressed = []
        self.forgotten = 0

    def post(self, body, seconds=None):
        self.seconds.append(seconds)
        self.suppressed.append(get_value(_SUPPRESS_INSTRUMENTATION_KEY))
        self.tries.release()
        self.open.wait(PATIENCE_SECONDS)
        answer = self.answers.pop(0) if self.answers else ""
        if isinstance(answer, Exception):
            raise answer
        self.bodies.append(body.decode())
        return answer

    def wait(self, tries=1):
        for _ in range(tries):
            assert self.tries.acquire(timeout=PATIENCE_SECONDS), "nothing was sent"

    def close(self):
        self.open.set()

    def forget(self):
        self.forgotten += 1


@pytest.fixture
def make():
    """Return a maker of outboxes that are closed afterwards."""
    outboxes = []

    def build(door, encode=encode, **options):
        options = {"batch_seconds": 0.01, "hold_seconds": 600.0} | options
        outboxes.append(Outbox(InAppConfig(**options), door, encode, SystemClock(), Random(1)))
        return outboxes[-1]

    yield build
    for outbox in outboxes:
        outbox.close(0)


def test_a_span_is_taken_while_the_door_hangs(make):
    """Nobody waits for the sidecar: with a request stuck in it, a thousand spans are taken."""
    door = ScriptedDoor()
    door.open.clear()
    outbox = make(door)
    assert outbox.put(ended(0))
    door.wait()
    assert all(outbox.put(ended(number)) for number in range(1, 1_001))
    assert outbox.counts == Counts(waiting=1_001)
    door.open.set()
    assert outbox.flush(PATIENCE_SECONDS)
    assert outbox.counts == Counts(sent=1_001)


def test_spans_of_a_trace_are_in_one_request(make):
    """Mixed with others', in whatever order, as long as the trace is not done."""
    door = ScriptedDoor()
    outbox = make(door)
    for _ in range(10):
        for trace_id in (1, 2):
            outbox.put(ended(trace_id, done=False))
    outbox.put(ended(1))
    door.wait()
    outbox.put(ended(2))
    door.wait()
    assert door.bodies == [",".join(["1"] * 11), ",".join(["2"] * 11)]


def test_no_thread_starts_before_the_first_span(make):
    """What is imported and made before a fork costs none."""
    before = threading.active_count()
    outbox = make(ScriptedDoor())
    assert threading.active_count() == before
    assert outbox.flush(0)
    outbox.put(ended(1))
    assert threading.active_count() == before + 1


def test_requests_make_no_spans_of_their_own(make):
    """An instrumented HTTP client is told to be quiet, or they would never end."""
    door = ScriptedDoor()
    outbox = make(door)
    outbox.put(ended(1))
    door.wait()
    assert door.suppressed == [True]
    assert get_value(_SUPPRESS_INSTRUMENTATION_KEY) is None


@pytest.mark.parametrize("bound", [{"max_queue_spans": 10}, {"max_queue_mib": 1_000 / 2**20}])
def test_what_waits_is_bounded_and_drops_are_told_once(make, caplog, bound):
    """By number and by bytes; the application's threads do not log."""
    door = ScriptedDoor()
    door.open.clear()
    outbox = make(door, **bound)
    outbox.put(ended(0))
    door.wait()
    taken = [outbox.put(ended(number)) for number in range(1, 101)]
    assert sum(taken) == 9
    assert outbox.counts == Counts(waiting=10, dropped=91)
    assert not caplog.records
    door.open.set()
    assert outbox.flush(PATIENCE_SECONDS)
    assert outbox.counts == Counts(sent=10, dropped=91)
    assert caplog.text.count("spans are dropped") == 1
    assert outbox.put(ended(1)), "there is room again"


def test_a_trace_that_lost_a_span_leaves_its_place_to_others(make):
    """Ten whole traces are worth more than twenty halves; later spans of it are taken again."""
    door = ScriptedDoor()
    door.open.clear()
    outbox = make(door, max_queue_spans=5)
    outbox.put(ended(0))
    door.wait()
    for trace_id in (1, 2, 1, 2):
        assert outbox.put(ended(trace_id, done=False))
    assert not outbox.put(ended(1))
    assert outbox.put(ended(2)) is False
    assert outbox.put(ended(1)) is False
    door.open.set()
    assert outbox.flush(PATIENCE_SECONDS)
    assert door.bodies == ["0"]
    assert outbox.counts == Counts(sent=1, dropped=7)
    assert outbox.put(ended(1))


def test_open_traces_leave_in_parts_before_the_queue_is_full(make):
    """A trace longer than the queue is sent as it comes."""
    door = ScriptedDoor()
    outbox = make(door, max_queue_spans=20)
    for _ in range(11):
        outbox.put(ended(1, done=False))
    door.wait()
    assert outbox.flush(PATIENCE_SECONDS)
    assert outbox.counts == Counts(sent=11)


def test_a_burst_is_not_left_waiting_until_the_queue_is_full(make):
    """Our thread looks now and then; when half of the room is taken it is woken."""
    door = ScriptedDoor()
    outbox = make(door, max_queue_spans=20, batch_seconds=600)
    for number in range(10):
        outbox.put(ended(number))
    assert not door.bodies
    outbox.put(ended(10))
    door.wait()
    assert outbox.flush(PATIENCE_SECONDS)
    assert outbox.counts == Counts(sent=11)


def test_spans_that_come_during_an_outage_do_not_hurry_it(make):
    """However many wait: the door was told to be left alone."""
    door = ScriptedDoor(*[Unavailable("down", 30.0)] * 3)
    outbox = make(door, max_queue_spans=10)
    outbox.put(ended(0))
    door.wait()
    for number in range(1, 20):
        outbox.put(ended(number))
    assert not door.tries.acquire(timeout=0.2)
    outbox.flush(0)
    door.wait()


def test_an_outage_is_waited_out_and_told_once(make, caplog):
    """The door's own word on when to come back goes before our back-off."""
    caplog.set_level(logging.INFO)
    door = ScriptedDoor(
        Unavailable("down", 0.0), Unavailable("down", 0.0), Unavailable("down", 0.0)
    )
    outbox = make(door)
    outbox.put(ended(1))
    door.wait(4)
    assert outbox.flush(PATIENCE_SECONDS)
    assert door.bodies == ["1"]
    assert caplog.text.count("cannot be reached") == 1
    assert caplog.text.count("is reached again") == 1


def test_the_wait_grows_and_is_bounded(make):
    """From half a second to fifteen; a door's word up to a minute; never nothing."""
    outbox = make(ScriptedDoor())
    waits = [outbox._delay(failures, None) for failures in range(1, 400)]
    assert 0.4 <= waits[0] <= 0.6
    assert all(12 <= wait <= 18 for wait in waits[20:])
    assert outbox._delay(1, 3_600.0) == 60.0
    assert outbox._delay(1, 7.0) == 7.0
    assert outbox._delay(1, 0.0) == 0.05


def test_a_request_is_given_up_after_the_time_for_retries(make, caplog):
    """The next one has its own time."""
    door = ScriptedDoor(Unavailable("down", 5.0))
    outbox = make(door, retry_seconds=1.0)
    outbox.put(ended(1))
    door.wait()
    outbox.put(ended(2))
    assert outbox.flush(PATIENCE_SECONDS)
    assert outbox.counts == Counts(sent=1, dropped=1)
    assert "not taken for" in caplog.text


def test_what_is_refused_is_dropped_and_told_once_for_each_reason(make, caplog):
    """A wrong token costs spans, not memory, and one line of the log."""
    door = ScriptedDoor(*[Rejected("no token", "http_401")] * 3, Rejected("odd", "http_400"))
    outbox = make(door)
    for number in range(4):
        outbox.put(ended(number))
        assert not outbox.flush(PATIENCE_SECONDS)
    assert outbox.counts == Counts(dropped=4)
    assert caplog.text.count("no token") == 1
    assert caplog.text.count("odd") == 1


def test_a_request_that_is_too_large_is_halved(make):
    """A span that is too large alone costs itself."""

    class Small(ScriptedDoor):
        def post(self, body, seconds=None):
            if len(body) > 3 or b"9" in body:
                raise Rejected("too large", "http_413")
            return super().post(body, seconds)

    door = Small()
    outbox = make(door, batch_seconds=600)
    for number in (1, 2, 3, 9, 5):
        outbox.put(ended(number))
    assert not outbox.flush(PATIENCE_SECONDS)
    assert sorted(",".join(door.bodies).split(",")) == ["1", "2", "3", "5"]
    assert outbox.counts == Counts(sent=4, dropped=1)


def test_spans_that_the_sidecar_refused_of_a_request_are_told(make, caplog):
    """It took the request: nothing is sent again."""
    outbox = make(ScriptedDoor("2 spans were refused: too old"))
    outbox.put(ended(1))
    assert outbox.flush(PATIENCE_SECONDS)
    assert "too old" in caplog.text


def test_a_defect_costs_its_request_alone(make, caplog):
    """The thread goes on, whatever a span or a door does to it."""
    defects = [RuntimeError("odd span"), MemoryError("odd machine")]

    def odd(spans):
        if defects:
            raise defects.pop()
        return encode(spans)

    outbox = make(ScriptedDoor(KeyError("odd door")), odd)
    for number in range(4):
        outbox.put(ended(number))
        outbox.flush(PATIENCE_SECONDS)
    assert outbox.counts == Counts(sent=1, dropped=3)
    assert caplog.text.count("could not be sent") == 3


def test_a_flush_cuts_a_wait_short_and_lasts_as_long_as_it_was_given(make):
    """With the sidecar down it returns False in time; once it is back, True."""
    door = ScriptedDoor(Unavailable("down", 60.0), Unavailable("down", 60.0))
    outbox = make(door)
    outbox.put(ended(1, done=False))
    assert not outbox.flush(0.05)
    door.wait()
    outbox.flush(0.0)
    door.wait()
    assert outbox.flush(PATIENCE_SECONDS)
    assert door.bodies == ["1"]


def test_the_end_sends_what_is_left_within_its_time(make):
    """Open traces too; a request waits no longer than is left, and later spans are dropped."""
    door = ScriptedDoor()
    outbox = make(door)
    outbox.put(ended(1, done=False))
    outbox.close(20)
    assert door.bodies == ["1"]
    assert all(0 < seconds <= 20 for seconds in door.seconds)
    assert not outbox.put(ended(2))
    outbox.close(20)
    assert outbox.counts == Counts(sent=1, dropped=1)


def test_the_end_does_not_wait_for_an_outage(make, caplog):
    """One try for each request, whatever the door says of coming back; the loss is told."""
    door = ScriptedDoor(Unavailable("down", 60.0), Unavailable("down", 60.0))
    outbox = make(door)
    outbox.put(ended(1))
    door.wait()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while "cannot be reached" not in caplog.text and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)  # the thread goes on to wait for the next try, which the end cuts short
    outbox.put(ended(2, done=False))
    outbox.close(PATIENCE_SECONDS)
    assert door.bodies == ["2"]
    assert outbox.counts == Counts(sent=1, dropped=1)
    assert "1 spans were not delivered" in caplog.text


def test_the_end_does_not_wait_for_a_door_that_hangs(make, caplog):
    """What was not delivered is counted once, also by the thread that still hangs."""
    door = ScriptedDoor()
    door.open.clear()
    outbox = make(door)
    outbox.put(ended(1))
    door.wait()
    outbox.put(ended(2))
    thread = outbox._process.thread
    outbox.close(0.05)
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive()
    assert outbox.counts == Counts(dropped=2)
    assert "2 spans were not delivered" in caplog.text


def test_without_threads_the_end_sends_by_itself(make, monkeypatch):
    """An interpreter that ends starts none: its last spans are not lost for that."""

    def refuse(self):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    door, span = ScriptedDoor(), ended(1)
    outbox = make(door)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        assert outbox.put(span)
        outbox.close(PATIENCE_SECONDS)
    assert door.bodies == ["1"]
    assert get_value(_SUPPRESS_INSTRUMENTATION_KEY) is None


def test_spans_may_end_anywhere(make):
    """In a finaliser that runs while a span is put, or a signal handler: nothing locks up."""
    door = ScriptedDoor()
    outbox = make(door)
    process = outbox._process

    class Finalised:
        def __del__(self):
            outbox.put(ended(7))

    def handle(*arguments):
        outbox.put(ended(8))

    previous = signal.signal(signal.SIGUSR1, handle)
    try:
        with process.lock:
            cycle = Finalised()
            cycle.itself = cycle
            del cycle
            gc.collect()
            os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert outbox.flush(PATIENCE_SECONDS)
    assert sorted(",".join(door.bodies).split(",")) == ["7", "8"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # forking with threads is what is tested
def test_a_child_begins_anew_although_a_lock_was_held(make):
    """The parent sends the parent's spans, the child its own; neither waits for the other's lock."""
    door = ScriptedDoor()
    door.open.clear()
    outbox = make(door)
    outbox.put(ended(1))
    door.wait()
    outbox.put(ended(2))
    held, release = threading.Event(), threading.Event()

    def hold(lock):
        with lock:
            held.set()
            release.wait(PATIENCE_SECONDS)

    holder = threading.Thread(target=hold, args=(outbox._process.lock,))
    holder.start()
    held.wait(PATIENCE_SECONDS)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            door.open = threading.Event()
            door.open.set()
            door.bodies = []
            fresh = outbox.counts == Counts() and door.forgotten == 1
            taken = outbox.put(ended(3)) and outbox.flush(PATIENCE_SECONDS)
            status = 0 if fresh and taken and door.bodies == ["3"] else 2
        finally:
            os._exit(status)
    release.set()
    holder.join(PATIENCE_SECONDS)
    deadline = time.monotonic() + PATIENCE_SECONDS
    finished = (0, 0)
    while finished[0] == 0 and time.monotonic() < deadline:
        finished = os.waitpid(child, os.WNOHANG)
        time.sleep(0.01)
    if finished[0] == 0:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert finished == (child, 0)
    door.open.set()
    assert outbox.flush(PATIENCE_SECONDS)
    assert outbox.counts == Counts(sent=2)
    assert door.forgotten == 0


def test_a_fork_without_hooks_is_noticed(make):
    """Some servers fork past Python: the process number tells."""
    door = ScriptedDoor()
    outbox = make(door)
    outbox._process.pid = -1
    assert outbox.put(ended(1))
    assert door.forgotten == 1
    assert outbox.flush(PATIENCE_SECONDS)
    assert door.bodies == ["1"]
