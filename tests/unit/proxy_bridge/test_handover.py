"""Calls handed over to a process of their own."""

import io
import json
import os
import signal
import time
from itertools import count
from types import SimpleNamespace

import pytest
from bridge_traffic import Sidecar, chat_call, running_server
from ports import free_port

from otel_raglog_proxy_bridge.addon_options import OPTIONS
from otel_raglog_proxy_bridge.handover import Handover, HandoverOptions
from otel_raglog_proxy_bridge.model import Side


def values_for(port: int) -> dict[str, object]:
    values = {option.name: option.default for option in OPTIONS}
    return values | {
        "raglog_endpoint": f"http://127.0.0.1:{port}",
        "raglog_quiet_seconds": "0.1",
    }


def wait_until(condition) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_calls_become_spans():
    """Calls that are handed over arrive as spans, and the counts of the process come back."""
    sidecar = Sidecar()
    with running_server(sidecar.respond) as port:
        handover = Handover(values_for(port))
        handover.start()
        for number in range(5):
            handover.begin(str(number), 1, Side.OUTBOUND)
            handover.put(chat_call(str(number), f"Why {number}?"))
        handover.begin("x", 1, Side.FRONT)
        handover.forget("x")
        handover.close(20)
    assert handover.counts["calls"] == 5
    assert handover.counts["spans_sent"] == len(sidecar.spans) > 0
    assert handover._process.returncode == 0
    assert all(f"Why {number}?" in json.dumps(sidecar.spans) for number in range(5))


def test_log_lines_are_passed_on(caplog):
    """What the process logs is logged here."""
    handover = Handover(values_for(free_port()))
    handover.start()
    handover.put(chat_call("a"))
    wait_until(lambda: "no answer" in caplog.text)
    handover.close(20)


def test_a_process_that_is_killed(caplog):
    """Another follows; what comes in between is dropped and counted."""
    sidecar = Sidecar()
    with running_server(sidecar.respond) as port:
        handover = Handover(values_for(port), HandoverOptions(restart_seconds=0.3))
        handover.start()
        handover.put(chat_call("a"))
        sidecar.wait_for(lambda: sidecar.requests)
        first = handover._process
        first.kill()
        first.wait()
        numbers = count()
        while handover._process in {first, None}:
            handover.put(chat_call(f"b{next(numbers)}"))
            time.sleep(0.05)
        handover.put(chat_call("c", "Why again?"))
        sidecar.wait_for(lambda: "Why again?" in json.dumps(sidecar.spans))
        handover.close(20)
    assert (
        caplog.text.count("the capturing process ended (-9); of the last minute's calls up to 1 ")
        == 1
    )
    assert handover.counts["lost_at_most"] == 1
    assert handover.counts.get("dropped_no_process", 0) <= next(numbers)


def test_a_process_that_never_lives(caplog):
    """A process that cannot work costs the calls alone; it is not started over and over."""
    handover = Handover({"raglog_endpoint": "nowhere"})
    handover.start()
    wait_until(lambda: handover._process is not None)
    handover._process.wait()
    for number in range(100):
        handover.put(chat_call(str(number)))
    handover.close(20)
    assert handover.counts["dropped_no_process"] == 100
    assert len(handover._threads) == 2


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped")
def test_a_process_that_hangs():
    """What does not fit is dropped and counted; nobody waits, and the end is not late."""
    handover = Handover(values_for(free_port()), HandoverOptions(max_bytes=300_000))
    handover.start()
    wait_until(lambda: handover._process is not None)
    process = handover._process
    os.kill(process.pid, signal.SIGSTOP)
    start = time.monotonic()
    for number in range(300):
        handover.put(chat_call(str(number), "Why? " * 2_000))
    assert handover.counts["dropped_queue_full"] > 200
    handover.close(0.3)
    assert time.monotonic() - start < 10
    assert process.returncode == -signal.SIGKILL
    assert handover.counts["dropped_shutdown"] > 10
    handover.put(chat_call("late"))
    assert handover.counts["dropped_shutdown"] > 11


def test_lines_that_are_no_record():
    """What some package of the process prints is neither passed on nor the end of reading."""
    handover = Handover({})
    handover._read(SimpleNamespace(stdout=io.BytesIO(b'printed zq8vw\n["counts", {"calls": 3}]\n')))
    assert handover.counts["calls"] == 3
