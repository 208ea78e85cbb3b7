"""Applications with one trace per call, through the service and the commands."""

import json
import subprocess
import sys

import pytest
from delivery import FAST, assert_conserved, keys
from fault_backends import fault_backend
from fragment_traces import ANSWER, QUESTION, Call, wire_spans
from services import collect, running_sink, serving, wait_until

from otel_raglog.receive.span import decode_span
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.registry import build_exporter

RULES = {"checks": ["rules"]}
JOIN = {"enabled": True, "window_seconds": 2}


def run(*arguments):
    """Run ``otel-raglog`` and return the finished process."""
    return subprocess.run(
        [sys.executable, "-m", "otel_raglog.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def calls():
    """Return the traces of a run, each of one span."""
    call = Call()
    return [call.embed(), call.search(None), call.answer()]


def spans_of(traces):
    """Return the spans of traces as they arrive."""
    return [span for trace in traces for span in wire_spans(trace)]


def test_the_traces_of_a_run_are_joined_on_their_way(tmp_path):
    """Each span arrives in its own trace, with the verdict of the run that they are together."""
    traces = calls()
    with (
        running_sink() as sink,
        serving(tmp_path, {"b": sink.endpoint}, analysis=RULES, join=JOIN) as served,
    ):
        for span in spans_of(traces):
            served.send([span])
        wait_until(lambda: served.metric("raglog_fragments_pending") == 3)
        spans = {span.trace_id: decode_span(span) for span in collect(sink, 3)}
        assert served.metric("raglog_joined_traces_total") == 3
        assert served.metric("raglog_runs_total") == 1
        assert served.metric("raglog_fragments_pending") == 0
        assert_conserved(served, "b")
        assert served.stop() == 0
    embedding, search, answer = (spans[trace.trace_id].attributes for trace in traces)
    assert (embedding["raglog.stage"], search["raglog.stage"]) == ("embedder", "retriever")
    assert answer["raglog.run.joined_traces"] == tuple(trace.trace_id.hex() for trace in traces)
    assert embedding["raglog.run.id"] == search["raglog.run.id"] == traces[2].trace_id.hex()


def test_without_the_option_every_trace_is_a_run_of_its_own(tmp_path):
    """Off by default: nothing waits longer than it has to."""
    traces = calls()
    with running_sink() as sink, serving(tmp_path, {"b": sink.endpoint}, analysis=RULES) as served:
        served.send(spans_of(traces))
        spans = {span.trace_id: decode_span(span) for span in collect(sink, 3)}
        assert served.metric("raglog_joined_traces_total") == 0
    assert spans[traces[0].trace_id].attributes["raglog.skip_reason"] == "embedding_only"


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_what_waits_when_the_process_ends_arrives_once(tmp_path, end):
    """After a kill it waits anew; at a stop it is judged alone. Nothing is lost, or sent twice."""
    traces = calls()
    wanted = keys(spans_of(traces))
    long = {"enabled": True, "window_seconds": 60}
    options = {"sending": FAST, "analysis": RULES}
    with fault_backend("grpc") as backend:
        exporters = {"b": backend.endpoint}
        with serving(tmp_path, exporters, join=long, **options) as served:
            served.send(spans_of(traces))
            wait_until(lambda: served.metric("raglog_fragments_pending") == 3)
            assert backend.count() == 0
            if end == "kill":
                served.process.kill()
                served.process.wait()
            else:
                assert served.stop() == 0
                assert backend.count() == 3
        with serving(tmp_path, exporters, join=JOIN, **options) as served:
            backend.wait_for(3)
            wait_until(lambda: not served.metric("raglog_spans_pending"))
            assert served.metric("raglog_joined_traces_total") == (3 if end == "kill" else 0)
            assert_conserved(served, "b")
        assert backend.span_keys() == wanted
        assert all(len(copies) == 1 for copies in backend.deliveries().values())


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """The traces of a run in a file."""
    path = tmp_path_factory.mktemp("traces") / "calls.jsonl"
    exporter = build_exporter("file", {"path": str(path)})
    exporter.export(encode_payload(spans_of(calls())))
    exporter.close()
    return path


def test_analyze_joins_when_it_is_asked_to(file):
    """Three runs without, one with all stages with it."""
    assert len(run("analyze", file, "--format", "jsonl").stdout.splitlines()) == 3
    done = run("analyze", file, "--join", "--format", "json")
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)
    assert (report["question"], report["answer"]) == (QUESTION, ANSWER)
    assert len(report["joined_traces"]) == 3
    assert report["stages"]["retriever"]["verdict"] == "ok"
    assert report["stages"]["embedder"]["inputs"]["texts"] == [QUESTION]


def test_explain_names_the_traces_that_were_joined(file):
    """Any of them finds the run."""
    done = run("explain", file, "--join", "--trace", calls()[0].trace_id.hex())
    assert done.returncode == 0, done.stderr
    assert "joined from 3 traces" in done.stdout
