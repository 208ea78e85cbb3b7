"""The service as a process: what goes in comes out, with verdicts, whatever happens."""

import random
import socket
import time

import pytest
from rag_traces import OTHER_SPANS, RAG_SPANS, rag_trace
from samples import span_message, wire_span
from services import collect, running_rotel, running_sink, serving, wait_until

from otel_raglog.commands.reading import read_files
from otel_raglog.receive.span import decode_span

TRACES = 1_000
PER_REQUEST = 480


def shuffled_requests(traces, random_source):
    """Return the spans of all traces in requests, interleaved as a batch processor would."""
    spans = [span for trace in traces for span in trace]
    window = 60
    for start in range(0, len(spans), window):
        part = spans[start : start + window]
        random_source.shuffle(part)
        spans[start : start + window] = part
    return [spans[start : start + PER_REQUEST] for start in range(0, len(spans), PER_REQUEST)]


@pytest.mark.timeout(300)
def test_a_thousand_traces_reach_a_sink_and_rotel(tmp_path):
    """Received = forwarded for both; each span keeps its bytes, followed by what we add."""
    random_source = random.Random(7)
    traces = [rag_trace(random_source, number) for number in range(TRACES)]
    sent = {(span.trace_id, span.span_id): span for trace in traces for span in trace}
    with (
        running_sink() as sink,
        running_sink() as behind_rotel,
        running_rotel(behind_rotel.endpoint, tmp_path) as rotel,
    ):
        exporters = {"sink": sink.endpoint, "rotel": rotel}
        with serving(tmp_path, exporters, analysis={"backlog_traces": 2000}) as served:
            for number, spans in enumerate(shuffled_requests(traces, random_source)):
                served.send(spans, "otlp_grpc" if number % 2 else "otlp_http")
            total = TRACES * (RAG_SPANS + OTHER_SPANS)
            received = collect(sink, total, 240)
            through_rotel = collect(behind_rotel, total, 240)
            assert served.metric("raglog_spans_received_total") == total
            for exporter in ("sink", "rotel"):
                assert served.metric("raglog_spans_forwarded_total", exporter=exporter) == total
            assert served.metric("raglog_spans_pending") == 0
            assert served.metric("raglog_spans_dropped_total") == 0
            assert served.metric("raglog_runs_total") == TRACES
            assert served.metric("raglog_skipped_total") == 0
            assert served.stop() == 0
    assert len(received) == len(through_rotel) == total
    assert {(span.trace_id, span.span_id) for span in through_rotel} == sent.keys()
    for span in received:
        original = sent.pop((span.trace_id, span.span_id))
        assert span.origin == original.origin
        assert span.raw.startswith(original.raw)
        added = span.raw[len(original.raw) :]
        assert bool(added) == original.held
    assert sent == {}


def test_spans_of_no_run_leave_at_once_and_the_rest_at_shutdown(tmp_path):
    """While a trace is held, spans that cannot belong to its run are already at the backend."""
    trace = rag_trace(random.Random(1), 0)
    hold = {"quiet_seconds": 60, "orphan_quiet_seconds": 60}
    with running_sink() as sink, serving(tmp_path, {"sink": sink.endpoint}, hold=hold) as served:
        served.send(trace)
        early = list(collect(sink, OTHER_SPANS))
        assert {span.span_id for span in early} == {s.span_id for s in trace if not s.held}
        assert served.metric("raglog_traces_open") == 1
        assert served.metric("raglog_spans_pending") == RAG_SPANS
        assert served.stop() == 0
        everything = collect(sink, RAG_SPANS + OTHER_SPANS)
    top = next(decode_span(span) for span in everything if not span.parent_id)
    assert top.attributes["raglog.run.completion"] == "shutdown"
    assert top.attributes["raglog.run.complete"] is False


def test_a_late_span_inherits_the_verdict(tmp_path):
    """It comes after its trace was judged, leaves at once, and says how that was."""
    *most, late = rag_trace(random.Random(2), 1)
    with running_sink() as sink, serving(tmp_path, {"sink": sink.endpoint}) as served:
        served.send([late, *most[1:]])
        collect(sink, len(most))
        served.send(most[:1])
        spans = collect(sink, len(most) + 1)
        assert served.metric("raglog_late_spans_total") == 1
        assert served.metric("raglog_runs_total") == 1
    last = decode_span(next(span for span in spans if span.span_id == most[0].span_id))
    top = decode_span(next(span for span in spans if not span.parent_id))
    assert last.attributes["raglog.run.verdict"] == top.attributes["raglog.run.verdict"]
    assert last.attributes["raglog.run.id"] == top.attributes["raglog.run.id"]


def test_verdicts_are_on_the_spans(tmp_path):
    """The run on the topmost span, each stage on its own."""
    trace = rag_trace(random.Random(3), 2)
    with running_sink() as sink, serving(tmp_path, {"sink": sink.endpoint}) as served:
        served.send(trace)
        spans = {span.span_id: decode_span(span) for span in collect(sink, len(trace))}
        assert served.metric("raglog_stage_verdicts_total", stage="retriever") == 1
    by_name = {span.name: span.attributes for span in spans.values()}
    assert by_name["answer"]["raglog.detector.version"].startswith("local-")
    assert by_name["answer"]["raglog.run.completion"] == "root_quiet"
    assert by_name["embed"]["raglog.stage"] == "embedder"
    assert by_name["VectorStoreRetriever"]["raglog.stage"] == "retriever"
    assert 0 <= by_name["VectorStoreRetriever"]["raglog.fault.probability"] <= 1
    events = [
        event.attributes["gen_ai.evaluation.name"]
        for span in spans.values()
        for event in span.events
        if event.name == "gen_ai.evaluation.result"
    ]
    assert sorted(events) == [
        "raglog.assembly",
        "raglog.embedder",
        "raglog.generator",
        "raglog.retriever",
    ]


def test_a_trace_that_is_no_rag_run_passes_byte_for_byte(tmp_path):
    """Its root is held, since a run's root may bear no mark, and then leaves untouched."""
    messages = [
        span_message(b"\x01" * 8, b"", "GET /health", {"http.request.method": "GET"}),
        span_message(b"\x02" * 8, b"\x01" * 8, "SELECT", {"db.system.name": "postgresql"}),
    ]
    spans = [wire_span(message, held=not message.parent_span_id) for message in messages]
    with running_sink() as sink, serving(tmp_path, {"sink": sink.endpoint}) as served:
        served.send(spans)
        received = collect(sink, 2)
        wait_until(lambda: served.metric("raglog_skipped_total", reason="no_genai_spans") == 1)
        assert served.metric("raglog_runs_total") == 0
    assert {span.raw for span in received} == {span.raw for span in spans}


def test_a_taken_port_is_named(tmp_path):
    """The error says which option to change, and the process ends with 2."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(AssertionError, match=r"metrics\.port"),
            serving(tmp_path, {"c": {"kind": "console"}}, metrics={"port": port}),
        ):
            pass


def test_without_a_destination_it_does_not_start(tmp_path):
    """A sidecar that forwards nowhere would lose everything."""
    with pytest.raises(AssertionError, match="exporters: no destination"), serving(tmp_path, {}):
        pass


def test_a_backlog_does_not_outlast_the_grace(tmp_path):
    """What cannot be judged in time goes out unjudged; nothing is lost, and the exit is in time."""
    random_source = random.Random(8)
    traces = [rag_trace(random_source, number) for number in range(3_000)]
    exporters = {"file": {"kind": "file", "path": str(tmp_path / "out.jsonl")}}
    options = {"shutdown_grace_seconds": 4, "analysis": {"backlog_traces": 5_000}}
    with serving(tmp_path, exporters, **options) as served:
        for start in range(0, len(traces), 100):
            served.send([span for trace in traces[start : start + 100] for span in trace])
        began = time.monotonic()
        assert served.stop() == 0
        assert time.monotonic() - began < 15
        assert '"kept_items": 0, "dropped_items": 0' in served.log.read_text()
    reading = read_files([tmp_path / "out.jsonl"])
    assert sum(len(batch.spans) for batch in reading.batches) == 3_000 * (RAG_SPANS + OTHER_SPANS)
