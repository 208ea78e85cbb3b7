"""T28 to T31, T35, T37, T38, and in each of them T39: every accepted span is accounted for."""

import itertools
import random
import subprocess
import sys
import time
from dataclasses import replace

import httpx2
import pytest
from delivery import (
    FAST,
    assert_conserved,
    dead_letters,
    dropped,
    keys,
    offer,
    post,
    resident_mib,
)
from fault_answers import after, hang, partial, refuse
from fault_backends import fault_backend
from fault_relay import Relay
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from ports import free_port
from rag_traces import rag_trace
from samples import span_message
from services import serving, wait_until

from otel_raglog.errors import Unavailable
from otel_raglog_exporters.grouping import encode_request

PROTOCOLS = ("grpc", "http")
RULES = {"checks": ["rules"]}


def exporter(backend, protocol, **options):
    """Return the configuration of a destination."""
    return {"kind": f"otlp_{protocol}", "endpoint": backend.endpoint, **options}


def traces(count, seed=1):
    """Return traces of a RAG application among other spans."""
    random_source = random.Random(seed)
    return [rag_trace(random_source, number) for number in range(count)]


def passing(count, seed=1, size=0):
    """Return spans that wait for nothing, each longer by an attribute of ``size`` bytes."""
    spans = (span for trace in traces(count, seed) for span in trace if not span.held)
    statement = span_message(attributes={"db.query.text": "x" * size}).attributes
    padding = SpanMessage(attributes=statement).SerializeToString() if size else b""
    return [replace(span, raw=span.raw + padding) for span in itertools.islice(spans, count)]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t28_a_backend_that_is_down_for_a_while_gets_everything(tmp_path, protocol):
    """Nothing is lost, nothing is judged twice, and the tries are spaced out."""
    spans = [span for trace in traces(40) for span in trace]
    with fault_backend(protocol) as backend:
        backend.down()
        exporters = {"b": exporter(backend, protocol)}
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            for start in range(0, len(spans), 24):
                served.send(spans[start : start + 24])
            wait_until(lambda: served.metric("raglog_export_retries_total", exporter="b") >= 4)
            assert served.metric("raglog_spans_forwarded_total") == 0
            assert_conserved(served, "b")
            backend.up()
            backend.wait_for(len(spans))
            wait_until(lambda: served.metric("raglog_spans_pending") == 0)
            assert_conserved(served, "b")
            assert served.metric("raglog_runs_total") == 40
        assert backend.span_keys() == keys(spans)
        assert backend.conflicts() == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("code", [503, 429])
def test_t29_a_throttling_backend_is_left_alone_as_long_as_it_says(tmp_path, protocol, code):
    """Retry-After and RetryInfo go before the back-off."""
    spans = passing(10)
    with fault_backend(protocol) as backend:
        backend.script(refuse(code, retry_after=1), refuse(code, retry_after=1))
        exporters = {"b": exporter(backend, protocol)}
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            served.send(spans)
            backend.wait_for(len(spans))
            arrivals = [request.arrived for request in backend.requests]
            assert len(arrivals) == 3
            assert min(b - a for a, b in itertools.pairwise(arrivals)) >= 1
            assert_conserved(served, "b")
            assert dead_letters(tmp_path, "b") == []


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("code", [400, 401, 404, 500])
def test_t29_a_permanent_refusal_is_not_repeated_and_can_be_replayed(tmp_path, protocol, code):
    """It is dropped and counted by reason, and the dead letter is the exact request."""
    refused, later = passing(10), passing(4, seed=2)
    with fault_backend(protocol) as backend:
        backend.script(refuse(code))
        exporters = {"b": exporter(backend, protocol)}
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            served.send(refused)
            wait_until(lambda: served.metric("raglog_spans_dropped_total") == len(refused))
            served.send(later)
            backend.wait_for(len(later))
            assert len(backend.requests) == 2
            assert_conserved(served, "b")
            (letter,) = dead_letters(tmp_path, "b")
            assert letter["items"] == len(refused)
            assert dropped(served, "b", str(letter["reason"])) == len(refused)
        assert backend.span_keys() == keys(later)
        path = "/v1/traces" if protocol == "http" else ""
        file = tmp_path / "journal" / "dead-letters" / "b.jsonl"
        replay = [sys.executable, "-m", "otel_raglog.cli", "replay", str(file)]
        subprocess.run([*replay, "--endpoint", backend.endpoint + path], check=True)
        assert backend.requests[-1].body == backend.requests[0].body
        assert backend.span_keys() == keys(later) | keys(refused)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t29_a_request_that_is_too_large_for_the_backend_is_cut(tmp_path, protocol):
    """413 and RESOURCE_EXHAUSTED mean this size, not this data."""
    spans = passing(10)
    with fault_backend(protocol) as backend:
        backend.script(refuse(413), refuse(413))
        exporters = {"b": exporter(backend, protocol)}
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            served.send(spans)
            backend.wait_for(len(spans))
            wait_until(lambda: served.metric("raglog_spans_pending") == 0)
            assert_conserved(served, "b")
            assert dead_letters(tmp_path, "b") == []
        assert backend.span_keys() == keys(spans)


def test_t29_one_request_that_a_backend_cannot_read_costs_no_other(tmp_path):
    """A refused batch is sent again in halves until the poisoned request is alone."""
    good, poisoned = passing(8), passing(1, seed=3)
    with fault_backend("http") as backend:
        backend.down()
        exporters = {"b": exporter(backend, "http")}
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            for span in [*good[:3], *poisoned, *good[3:]]:
                served.send([span])
            wait_until(lambda: served.metric("raglog_export_retries_total") >= 1)
            plain = backend.receive

            def receive(signal, body, headers):
                if poisoned[0].raw in body:
                    backend.script(refuse(400))
                return plain(signal, body, headers)

            backend.receive = receive
            backend.up()
            backend.wait_for(len(good))
            wait_until(lambda: served.metric("raglog_spans_pending") == 0)
            assert_conserved(served, "b")
            assert dropped(served, "b", "http_400") == 1
        assert backend.span_keys() == keys(good)
        assert backend.duplicates() == 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_t30_a_partial_success_is_not_repeated(tmp_path, protocol):
    """What the backend rejected has a number of its own."""
    spans = passing(10)
    with fault_backend(protocol) as backend:
        backend.script(partial(3))
        exporters = {"b": exporter(backend, protocol)}
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            served.send(spans)
            wait_until(lambda: dropped(served, "b", "backend_rejected") == 3)
            assert_conserved(served, "b")
            assert served.metric("raglog_spans_forwarded_total") == 7
        assert len(backend.requests) == 1


def test_t31_behind_a_slow_backend_the_doors_refuse_and_the_rest_answers(tmp_path):
    """Memory and disk stay bounded; everything that was accepted arrives once it is quick."""
    journal = {"path": str(tmp_path / "journal"), "max_mib": 2}
    options = {"journal": journal, "memory": {"budget_mib": 64}, "sending": FAST, "analysis": RULES}
    random_source = random.Random(3)
    with fault_backend("http") as backend:
        backend.answer = after(30)
        exporters = {"b": exporter(backend, "http", timeout_seconds=60)}
        with serving(tmp_path, exporters, **options) as served:
            accepted, refusals, before = [], 0, resident_mib(served)
            while refusals < 5:
                spans = [s for n in range(40) for s in rag_trace(random_source, n) if not s.held]
                if offer(served, spans):
                    accepted += spans
                else:
                    refusals += 1
                assert len(accepted) < 50_000
            began = time.monotonic()
            ready = httpx2.get(f"http://{served.addresses['health']}/ready")
            live = httpx2.get(f"http://{served.addresses['health']}/live")
            assert served.metric("raglog_spans_pending") == len(accepted)
            assert time.monotonic() - began < 2
            assert (live.status_code, ready.status_code) == (200, 503)
            assert "journal" in ready.json()["reason"]
            assert served.metric("raglog_journal_bytes") <= 2 * 1024 * 1024
            assert resident_mib(served) < before + 64 + 32
            assert_conserved(served, "b")
            backend.answer = after(0)
            backend.down()
            backend.up()
            backend.wait_for(len(accepted))
            wait_until(lambda: offer(served, passing(1, seed=9)))
            assert served.metric("raglog_spans_dropped_total") == 0
        assert keys(accepted) <= backend.span_keys()


def test_t31_beyond_the_memory_budget_both_doors_refuse(tmp_path):
    """A request that does not fit beside what is held comes again once that has left."""
    held = traces(1)[0]
    large = passing(60, size=20_000)
    options = {
        "memory": {"budget_mib": 1},
        "hold": {"quiet_seconds": 3, "orphan_quiet_seconds": 3},
        "sending": FAST,
        "analysis": RULES,
    }
    with fault_backend("http") as backend:
        exporters = {"b": exporter(backend, "http")}
        with serving(tmp_path, exporters, **options) as served:
            served.send(held)
            assert not offer(served, large)
            ready = httpx2.get(f"http://{served.addresses['health']}/ready")
            assert ready.status_code == 503
            assert "memory.budget_mib" in ready.json()["reason"]
            with pytest.raises(Unavailable) as refused:
                served.send(large, "otlp_grpc")
            assert refused.value.retry_after_seconds >= 1
            wait_until(lambda: offer(served, large))
            backend.wait_for(len(held) + len(large))
            assert_conserved(served, "b")


def test_t31_a_backend_that_never_answers_is_left_after_the_timeout(tmp_path):
    """A lost answer is a failure like any other: the request is sent again."""
    spans = passing(5)
    with fault_backend("grpc") as backend:
        backend.script(hang())
        exporters = {"b": exporter(backend, "grpc", timeout_seconds=0.5)}
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            served.send(spans)
            backend.wait_for(len(spans))
            assert_conserved(served, "b")


def test_t35_a_full_journal_refuses_the_newest_and_keeps_the_rest(tmp_path):
    """With nobody to deliver to, what was accepted is never given up."""
    journal = {"path": str(tmp_path / "journal"), "max_mib": 1}
    random_source = random.Random(5)
    with fault_backend("grpc") as backend:
        backend.down()
        exporters = {"b": exporter(backend, "grpc")}
        with serving(tmp_path, exporters, journal=journal, sending=FAST, analysis=RULES) as served:
            accepted = []
            while True:
                trace = rag_trace(random_source, len(accepted))
                if not offer(served, trace):
                    break
                accepted += trace
            assert len(accepted) > 100
            rejected = served.metric("raglog_spans_rejected_total", reason="unavailable")
            assert rejected == len(trace)
            assert served.metric("raglog_spans_dropped_total") == 0
            backend.up()
            backend.wait_for(len(accepted))
            wait_until(lambda: offer(served, rag_trace(random_source, 1)))
            assert_conserved(served, "b")
        assert keys(accepted) <= backend.span_keys()


def test_t37_a_dead_destination_harms_no_other(tmp_path):
    """It loses its own oldest data once the journal is full; the healthy one gets all at once."""
    journal = {"path": str(tmp_path / "journal"), "max_mib": 1}
    spans = passing(3_000, size=1_000)
    with fault_backend("grpc") as dead, fault_backend("http") as healthy:
        dead.down()
        exporters = {"dead": exporter(dead, "grpc"), "healthy": exporter(healthy, "http")}
        with serving(tmp_path, exporters, journal=journal, sending=FAST, analysis=RULES) as served:
            for start in range(0, len(spans), 60):
                wait_until(lambda part=spans[start : start + 60]: offer(served, part), 10)
                healthy.wait_for(start + 60, seconds=10)
            assert healthy.span_keys() == keys(spans)
            assert dropped(served, "healthy", "journal_full") == 0
            lost = dropped(served, "dead", "journal_full")
            assert 0 < lost < len(spans)
            assert_conserved(served, "dead", "healthy")
            dead.up()
            dead.wait_for(len(spans) - int(lost))
            wait_until(lambda: served.metric("raglog_spans_pending") == 0)
            assert_conserved(served, "dead", "healthy")
        newest_first = keys(spans[-600:])
        assert newest_first <= dead.span_keys()


def test_t37_a_destination_that_takes_no_logs_does_not_hold_up_its_traces(tmp_path):
    """Each signal has a cursor of its own."""
    spans = passing(5)
    logs = encode_logs(7)
    with fault_backend("http") as backend:
        plain = backend.receive

        def receive(signal, body, headers):
            if signal == "logs":
                backend.script(refuse(503))
            return plain(signal, body, headers)

        backend.receive = receive
        exporters = {"b": exporter(backend, "http")}
        with serving(tmp_path, exporters, sending=FAST, analysis=RULES) as served:
            assert post(served, logs, "logs").status_code == 200
            wait_until(lambda: served.metric("raglog_export_retries_total", signal="logs") >= 2)
            served.send(spans)
            wait_until(lambda: served.metric("raglog_spans_forwarded_total") == len(spans))
            assert served.metric("raglog_log_records_pending") == 7


def encode_logs(count):
    """Return a request with so many log records."""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    request = ExportLogsServiceRequest()
    records = request.resource_logs.add().scope_logs.add().log_records
    for number in range(count):
        records.add(time_unix_nano=number + 1).body.string_value = f"line {number}"
    return request.SerializeToString()


def test_t38_a_loop_ends_after_one_turn(tmp_path):
    """What comes back through our own door is refused, for good, and kept as a dead letter."""
    spans = passing(6)
    door = free_port()
    relay = Relay(door)
    relay.open()
    receive = {"grpc": {"port": 0}, "http": {"port": door}}
    exporters = {"b": {"kind": "otlp_http", "endpoint": f"http://127.0.0.1:{relay.port}"}}
    try:
        with serving(tmp_path, exporters, receive=receive, sending=FAST, analysis=RULES) as served:
            served.send(spans)
            wait_until(lambda: served.metric("raglog_spans_rejected_total", reason="loop") > 0)
            wait_until(lambda: served.metric("raglog_spans_pending") == 0)
            assert dropped(served, "b", "http_400") == len(spans)
            assert sum(int(letter["items"]) for letter in dead_letters(tmp_path, "b")) == len(spans)
            assert_conserved(served, "b")
    finally:
        relay.close()


def test_headers_on_the_list_travel_on_and_keep_tenants_apart(tmp_path):
    """No payload mixes two tenants; headers that were not listed stay behind."""
    receive = {
        "grpc": {"port": 0},
        "http": {"port": 0},
        "forward_headers": ["x-scope-orgid"],
    }
    spans = passing(40)
    with fault_backend("grpc") as first, fault_backend("http") as second:
        exporters = {"a": exporter(first, "grpc"), "b": exporter(second, "http")}
        with serving(tmp_path, exporters, receive=receive, sending=FAST, analysis=RULES) as served:
            for number, span in enumerate(spans):
                headers = {"x-scope-orgid": f"tenant-{number % 2}", "x-private": "no"}
                assert post(served, encode_request([span]), **headers).status_code == 200
            for backend in (first, second):
                backend.wait_for(len(spans))
    for backend in (first, second):
        for tenant in range(2):
            got = [r for r in backend.kept() if r.headers["x-scope-orgid"] == f"tenant-{tenant}"]
            found = {raw for r in got for raw in (item.raw for item in r.items())}
            assert found == {span.raw for span in spans[tenant::2]}
        assert all("x-private" not in r.headers for r in backend.kept())
