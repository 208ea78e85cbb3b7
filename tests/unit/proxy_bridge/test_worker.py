"""Calls on their way from the proxy to spans."""

import json
import logging
import threading
import time
from dataclasses import dataclass, field

import pytest

from otel_raglog_proxy_bridge.carried_secrets import CarriedSecrets
from otel_raglog_proxy_bridge.model import Call, Side
from otel_raglog_proxy_bridge.safety import RawCall
from otel_raglog_proxy_bridge.worker import CaptureWorker, WorkerOptions, masked_spans

KEY = "sk-proj-Ab12Cd34Ef56Gh78Ij90"


@dataclass
class Written:
    resource_spans: dict[str, object]


@dataclass
class FakeLine:
    """Notes what it is told; each call is a run, and so is what a tick or the end brings."""

    events: list[tuple[object, ...]] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.hold.set()

    def begin(self, call_id, started_ns):
        self.events.append(("begin", call_id, started_ns))

    def begin_front(self, call_id, started_ns, traceparent=""):
        self.events.append(("begin_front", call_id, started_ns, traceparent))

    def forget(self, call_id):
        self.events.append(("forget", call_id))

    def add(self, call: Call):
        self.hold.wait(20)
        self.events.append(("add", call.id))
        if call.id == "bad":
            raise ValueError(f"this call has {KEY}")
        return [f"run of {call.id}: {call.request_body}"]

    def tick(self, now_ns):
        self.events.append(("tick",))
        return ["run of a tick"]

    def flush(self):
        self.events.append(("flush",))
        return ["last run"]

    def spans(self, run):
        if "unwritable" in run:
            raise RuntimeError("no spans")
        return Written({"scopeSpans": [{"spans": [{"name": run}]}]})


class Sink(list):
    def put(self, resource_spans):
        self.append(resource_spans["scopeSpans"][0]["spans"][0]["name"])
        return True


def call(call_id: str, body: bytes = b"") -> RawCall:
    return RawCall(call_id, "POST", "http://h/", request_body=body)


def worker_of(line: FakeLine, **options) -> tuple[CaptureWorker, Sink]:
    sink = Sink()
    options = {"tick_seconds": 1000.0, **options}
    return CaptureWorker(line, sink, options=WorkerOptions(**options)), sink


def test_in_order():
    """Beginnings, calls and forgotten calls reach the line in order; its runs go to the sink."""
    line = FakeLine()
    worker, sink = worker_of(line)
    worker.begin("a", 1, Side.OUTBOUND)
    worker.begin("f", 2, Side.FRONT, "00-x")
    worker.put(call("a", b"hi"))
    worker.forget("f")
    worker.start()
    worker.close(10)
    assert line.events == [
        ("begin", "a", 1),
        ("begin_front", "f", 2, "00-x"),
        ("add", "a"),
        ("forget", "f"),
        ("flush",),
    ]
    assert sink == ["run of a: hi", "last run"]
    assert worker.counts == {"calls": 1, "runs": 2}


def test_calls_are_made_safe():
    """The line never sees a secret."""
    line = FakeLine()
    worker, sink = worker_of(line)
    worker.put(call("a", json.dumps({"api_key": "x", "q": KEY}).encode()))
    worker.start()
    worker.close(10)
    assert sink[0] == 'run of a: {"api_key": "***", "q": "***"}'


def test_one_bad_call(caplog):
    """A call that fails costs itself alone: the line forgets it, and the log quotes nothing of it."""
    line = FakeLine()
    worker, sink = worker_of(line)
    for call_id in ("bad", "b", "bad", "unwritable", "c"):
        worker.put(call(call_id))
    worker.start()
    worker.close(10)
    assert sink == ["run of b: ", "run of c: ", "last run"]
    assert line.events.count(("forget", "bad")) == 2
    assert worker.counts["errors"] == 3
    assert caplog.text.count("ValueError at ") == 1
    assert KEY not in caplog.text


def test_ticks():
    """While nothing comes, the line is asked for runs that are over."""
    line = FakeLine()
    worker, sink = worker_of(line, tick_seconds=0.01)
    worker.start()
    deadline = time.monotonic() + 20
    while line.events.count(("tick",)) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    worker.close(10)
    assert sink[:3] == ["run of a tick"] * 3


def test_too_much_waits():
    """Beyond the limit calls are dropped, counted and forgotten; nobody waits."""
    line = FakeLine()
    line.hold.clear()
    worker, _ = worker_of(line, max_bytes=10_000)
    worker.start()
    for number in range(20):
        worker.put(call(str(number), b"x" * 2_000))
    assert worker.counts["dropped_queue_full"] > 10
    line.hold.set()
    worker.close(10)
    dropped = worker.counts["dropped_queue_full"]
    assert worker.counts["calls"] + dropped == 20
    assert sum(event[0] == "forget" for event in line.events) == dropped


def test_room_comes_back():
    """What was worked off makes room for more."""
    line = FakeLine()
    worker, _ = worker_of(line, max_bytes=5_000)
    worker.start()
    for number in range(50):
        worker.put(call(str(number), b"x" * 2_000))
        while worker._events:
            time.sleep(0.001)
    worker.close(10)
    assert worker.counts["calls"] == 50


def test_closing_takes_no_longer_than_it_may():
    """What is not worked off in time is dropped and counted."""
    line = FakeLine()
    line.hold.clear()
    worker, _ = worker_of(line)
    worker.start()
    for number in range(5):
        worker.put(call(str(number)))
    while len(worker._events) > 4:
        time.sleep(0.001)
    start = time.monotonic()
    worker.close(0.1)
    assert time.monotonic() - start < 3
    assert worker.counts["dropped_shutdown"] == 4
    worker.put(call("late"))
    assert worker.counts["dropped_shutdown"] == 5
    line.hold.set()
    worker._thread.join(10)
    assert ("add", "1") not in line.events


def spans_of(text: str) -> dict[str, object]:
    attribute = {"key": "output.value", "value": {"stringValue": text}}
    times = {"startTimeUnixNano": "1700000000000000000"}
    return {"scopeSpans": [{"spans": [{"name": "n", "attributes": [attribute], **times}]}]}


def test_secrets_that_only_show_in_spans():
    """A key that came in pieces, each for itself harmless, is masked where it is whole."""
    masked = masked_spans(spans_of("the key is " + "".join(["sk-", "proj-", KEY[8:]])))
    assert masked == spans_of("the key is ***")


@pytest.mark.parametrize(("text", "written"), [("a\ud800b", "a?b"), ("ä", "ä"), ("", "")])
def test_texts_are_unicode(text, written):
    """Half a surrogate pair, which is no UTF-8, does not reach the sidecar."""
    assert masked_spans(spans_of(text)) == spans_of(written)


def test_nothing_is_logged_of_a_good_call(caplog):
    """A call leaves no line in the log."""
    caplog.set_level(logging.DEBUG)
    worker, _ = worker_of(FakeLine())
    worker.put(call("a"))
    worker.start()
    worker.close(10)
    assert not caplog.records


def test_carried_secrets_that_come_in_pieces():
    """A secret of a call that no form or name tells is masked where a stream's pieces are joined."""
    carried = CarriedSecrets()
    carried.note(["planted-7Qx"])
    assert masked_spans(spans_of("it is planted-" + "7Qx"), carried=carried) == spans_of(
        "it is ***"
    )


def test_a_worker_remembers_what_calls_carried():
    """The key of one call is masked in the next."""
    worker, sink = worker_of(FakeLine())
    headers = (("Authorization", "Bearer planted-7Qx"),)
    worker.put(RawCall("a", "POST", "http://h/", request_headers=headers))
    worker.put(call("b", b"it is planted-7Qx"))
    worker.start()
    worker.close(10)
    assert "run of b: it is ***" in sink
