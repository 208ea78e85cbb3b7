"""Spans sent to a sidecar."""

import json
import logging
import threading
import time

import pytest
from bridge_traffic import Sidecar, running_server
from ports import free_port

from otel_raglog_proxy_bridge.sending import SendingOptions, SpanSender, target_of

QUICK = SendingOptions(first_pause_seconds=0.01, longest_pause_seconds=0.05, timeout_seconds=5)


def resource(number: int, spans: int = 1) -> dict[str, object]:
    return {"scopeSpans": [{"spans": [{"name": f"{number}.{n}"} for n in range(spans)]}]}


def is_conserved(sender: SpanSender) -> bool:
    counts = sender.counts
    dropped = sum(count for name, count in counts.items() if name.startswith("dropped_"))
    settled = counts.get("sent", 0) + counts.get("rejected", 0) + dropped + counts["pending"]
    return counts.get("put", 0) == settled


def wait_until(condition) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def sender_to(port: int, options: SendingOptions = QUICK, **headers: str) -> SpanSender:
    target = target_of(f"http://127.0.0.1:{port}", tuple(headers.items()))
    return SpanSender(target, options)


def test_spans_arrive_in_order():
    """What is put arrives once, in order, as gzipped OTLP JSON with the headers that were asked for."""
    sidecar = Sidecar()
    with running_server(sidecar.respond) as port:
        sender = sender_to(port, authorization="Bearer x")
        sender.start()
        for number in range(50):
            assert sender.put(resource(number))
        sender.close(10)
    assert [span["name"] for span in sidecar.spans] == [f"{n}.0" for n in range(50)]
    path, headers, _ = sidecar.requests[0]
    assert path == "/v1/traces"
    assert headers["content-type"] == "application/json"
    assert headers["content-encoding"] == "gzip"
    assert headers["authorization"] == "Bearer x"
    assert sender.counts["sent"] == 50
    assert is_conserved(sender)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_succeed_later_is_tried_again(status, caplog):
    """A refusal for now costs nothing; it is logged once, and so is its end."""
    caplog.set_level(logging.INFO)
    sidecar = Sidecar([status, status, status])
    with running_server(sidecar.respond) as port:
        sender = sender_to(port)
        sender.start()
        sender.put(resource(1))
        wait_until(lambda: sender.counts.get("sent") == 1)
        sender.close(10)
    assert len(sidecar.requests) == 4
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert f"status {status}" in caplog.text


@pytest.mark.parametrize("status", [400, 401, 404, 413, 500, 302])
def test_what_is_refused_for_good_is_counted(status):
    """It is not sent again, and what follows is."""
    sidecar = Sidecar([status])
    with running_server(sidecar.respond) as port:
        sender = sender_to(port)
        sender.start()
        sender.put(resource(1, 3))
        wait_until(lambda: sender.counts.get("rejected") == 3)
        sender.put(resource(2))
        sender.close(10)
    assert len(sidecar.requests) == 2
    assert sender.counts["sent"] == 1
    assert is_conserved(sender)


def test_a_partial_success():
    """What a success says that it refused is counted as rejected."""
    sidecar = Sidecar()
    sidecar.body = json.dumps({"partialSuccess": {"rejectedSpans": "2"}}).encode()
    with running_server(sidecar.respond) as port:
        sender = sender_to(port)
        sender.start()
        sender.put(resource(1, 5))
        sender.close(10)
    assert (sender.counts["sent"], sender.counts["rejected"]) == (3, 2)
    assert is_conserved(sender)


def test_retry_after_is_kept_to():
    """The next try waits as long as it was told to, in seconds or until a date."""
    sidecar = Sidecar([503], {"Retry-After": "1"})
    options = SendingOptions(first_pause_seconds=0.01, longest_pause_seconds=5)
    with running_server(sidecar.respond) as port:
        sender = sender_to(port, options)
        sender.start()
        start = time.monotonic()
        sender.put(resource(1))
        wait_until(lambda: sender.counts.get("sent") == 1)
        assert time.monotonic() - start >= 1.0
        sender.close(10)


def test_a_sidecar_that_comes_later(caplog):
    """Spans wait while nobody listens, and arrive when somebody does."""
    port = free_port()
    sender = sender_to(port)
    sender.start()
    sender.put(resource(1))
    wait_until(lambda: "no answer" in caplog.text)
    assert sender.counts["pending"] == 1
    sidecar = Sidecar()
    with running_server(sidecar.respond, port):
        wait_until(lambda: sender.counts.get("sent") == 1)
        sender.close(10)
    assert caplog.text.count("no answer") == 1
    assert is_conserved(sender)


def test_nobody_listens_to_the_end():
    """What could not be sent by then is dropped and counted."""
    sender = sender_to(free_port())
    sender.start()
    sender.put(resource(1, 4))
    sender.close(5)
    assert sender.counts["dropped_shutdown"] == 4
    assert is_conserved(sender)


@pytest.mark.parametrize(
    "options",
    [SendingOptions(max_spans=3), SendingOptions(max_bytes=150)],
)
def test_a_full_queue(options, caplog):
    """The newest spans are dropped and counted, and the first time is logged."""
    sender = sender_to(free_port(), options)
    taken = [sender.put(resource(number)) for number in range(20)]
    assert taken[:2] == [True, True]
    assert not taken[-1]
    assert sender.counts["dropped_queue_full"] == taken.count(False)
    assert caplog.text.count("full queue") == 1
    assert is_conserved(sender)
    sender.close(0)
    assert sender.counts["pending"] == 0
    assert is_conserved(sender)


def test_nothing_is_taken_after_the_end():
    """What is put after ``close`` is dropped and counted."""
    sender = sender_to(free_port())
    sender.start()
    sender.close(1)
    assert not sender.put(resource(1))
    assert sender.counts["dropped_shutdown"] == 1
    assert is_conserved(sender)


def test_closing_takes_no_longer_than_it_may():
    """A sidecar that never answers is left after the time-out; each span is counted once."""
    sidecar = Sidecar()
    sidecar.hold.clear()
    with running_server(sidecar.respond) as port:
        sender = sender_to(port)
        sender.start()
        sender.put(resource(1))
        sidecar.wait_for(lambda: sidecar.requests)
        sender.put(resource(2))
        start = time.monotonic()
        sender.close(0.3)
        assert time.monotonic() - start < 3
        assert sender.counts["dropped_shutdown"] == 2
        sidecar.hold.set()
        sender._thread.join(5)
    assert is_conserved(sender)
    assert sender.counts.get("sent", 0) == 0


def test_putting_never_waits():
    """A sidecar that does not answer holds up nobody who puts."""
    sidecar = Sidecar()
    sidecar.hold.clear()
    with running_server(sidecar.respond) as port:
        sender = sender_to(port)
        sender.start()
        sender.put(resource(0))
        sidecar.wait_for(lambda: sidecar.requests)
        done = threading.Event()

        def put_all() -> None:
            for number in range(1, 1000):
                sender.put(resource(number))
            done.set()

        threading.Thread(target=put_all, daemon=True).start()
        assert done.wait(10)
        assert len(sidecar.requests) == 1
        sidecar.hold.set()
        sender.close(10)
    assert sender.counts["sent"] == 1000


def test_what_is_no_json():
    """Spans that cannot be written are dropped, and never an error."""
    sender = sender_to(free_port())
    assert not sender.put({"scopeSpans": [{"spans": [{"x": object()}]}]})
    assert sender.counts["dropped_not_json"] == 1
    assert is_conserved(sender)


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [("http://h", "/v1/traces"), ("https://h/x/", "/x/v1/traces"), ("http://h/v1/traces", "/v1/traces")],
)  # fmt: skip
def test_endpoints(endpoint, path):
    """The path of traces is added where it is not there."""
    assert target_of(endpoint).path == path


@pytest.mark.parametrize("endpoint", ["h:4318", "", "ftp://h", "http://", "http://h:x"])
def test_what_is_no_endpoint(endpoint):
    """It is an error at the start, not later."""
    with pytest.raises(ValueError, match=r"URL|[Pp]ort"):
        target_of(endpoint)


@pytest.mark.parametrize(
    ("endpoint", "port"),
    [("http://[::1]", 80), ("https://[::1]", 443), ("http://[::1]:4318", 4318)],
)
def test_addresses_of_version_6(endpoint, port):
    """The end of an address is not its port."""
    connection = SpanSender(target_of(endpoint))._connection()
    assert (connection.host, connection.port) == ("::1", port)
