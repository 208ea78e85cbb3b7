"""The commands as users run them: output, exit codes, and no stack trace."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from fragment_traces import Call, wire_spans
from rag_traces import RAG_SPANS, rag_trace
from samples import span_message, wire_span
from services import collect, running_sink

from otel_raglog.conventions.registry import marker_prefixes
from otel_raglog_exporters.grouping import encode_payload, encode_request
from otel_raglog_exporters.registry import build_exporter


def run(*arguments, env=None):
    """Run ``otel-raglog`` and return the finished process."""
    return subprocess.run(
        [sys.executable, "-m", "otel_raglog.cli", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=100,
        env=env,
        check=False,
    )


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    """Three traces in a file."""
    path = tmp_path_factory.mktemp("traces") / "traces.jsonl"
    exporter = build_exporter("file", {"path": str(path)})
    for number in range(3):
        exporter.export(encode_payload(rag_trace(random.Random(number), number)))
    exporter.close()
    return path


def test_analyze_prints_the_stable_json(traces):
    """An array of reports with mapped texts."""
    done = run("analyze", traces, "--format", "json")
    assert done.returncode == 0, done.stderr
    reports = json.loads(done.stdout)
    assert [report["stages"]["retriever"]["verdict"] for report in reports] == ["ok"] * 3
    assert reports[0]["question"] == "When does the night ferry to Sandmouth leave?"
    assert reports[0]["tokens"] == {"prompt": 120, "completion": 12, "total": None}
    assert reports[0]["stages"]["embedder"]["inputs"]["texts"] == [reports[0]["question"]]


def test_analyze_twice_says_the_same(traces):
    """Same trace, same verdict."""
    first, second = (run("analyze", traces, "--format", "jsonl").stdout for _ in range(2))
    assert first == second


def test_analyze_without_content_prints_no_text(traces):
    """Reports can be shared."""
    done = run("analyze", traces, "--format", "jsonl", "--no-content")
    assert len(done.stdout.splitlines()) == 3
    assert "night ferry" not in done.stdout


def test_fail_on_faulty_sets_the_exit_code(tmp_path):
    """1 when a run is faulty, 0 when none is."""
    record = {
        "id": "bad",
        "question": "When does the night ferry leave?",
        "retrieved": [],
        "passed": [],
        "prompt": "Answer from the context:\n\nWhen does the night ferry leave?",
        "answer": "It leaves at 22:15.",
    }
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(record))
    assert run("analyze", path, "--fail-on", "faulty").returncode == 1
    assert run("analyze", path).returncode == 0
    report = json.loads(run("analyze", path, "--format", "json").stdout)[0]
    assert report["run_id"] == "bad"
    assert report["stages"]["retriever"]["fault_types"] == ["empty_result"]


def test_bad_input_exits_with_2_and_one_line(tmp_path, traces):
    """What could be read is still printed."""
    broken = tmp_path / "broken.jsonl"
    broken.write_text(traces.read_text() + "nonsense\n")
    done = run("analyze", broken, "--format", "jsonl")
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 3
    assert "broken.jsonl, line 4" in done.stderr
    assert run("analyze", tmp_path / "none").returncode == 2
    assert run("analyze").returncode == 2


def test_explain_names_spans_and_reasons(traces):
    """Which span became which step, and why."""
    done = run("explain", traces, "--measurements")
    assert done.returncode == 0, done.stderr
    assert "VectorStoreRetriever span" in done.stdout
    assert "retriever.chunk_count" in done.stdout or "retriever." in done.stdout
    assert "not_captured" not in done.stdout.split("retriever: ok")[0].split("question")[0]


def test_explain_prints_the_tree_of_spans(traces):
    """What became of each, which keys were used, and what to do; other spans are counted."""
    done = run("explain", traces)
    assert "VectorStoreRetriever: retriever [OpenInference] span" in done.stdout
    assert "documents (3) from retrieval.documents" in done.stdout
    assert "2 that were forwarded unread" in done.stdout


def test_explain_prints_one_trace_on_request(traces):
    """By the beginning of its id; one that is not there is bad input."""
    trace_id = rag_trace(random.Random(1), 1)[0].trace_id.hex()
    done = run("explain", traces, "--trace", trace_id[:12])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("spans of trace") == 1
    assert f"spans of trace {trace_id}" in done.stdout
    done = run("explain", traces, "--trace", "ffffffffffffffff")
    assert done.returncode == 2
    assert "No trace whose id starts with ffffffffffffffff" in done.stdout


@pytest.mark.parametrize("join", [[], ["--join"]])
def test_explain_of_one_trace_knows_its_turn(tmp_path, join):
    """Others of the session tell it, though they are not shown; a title is no turn."""
    call = Call(session="chat-12")
    pool, title = "When does the pool open?", "Name this talk:\nWhen does the pool open?"
    recorded = [
        call.embed(pool), call.search(pool), call.answer(pool, at=400),
        call.chat([("user", title)], "Pool", at=2_000),
        call.embed(at=4_000), call.search(at=4_200), call.answer(at=4_400),
    ]  # fmt: skip
    exporter = build_exporter("file", {"path": str(tmp_path / "talk.jsonl")})
    for trace in recorded:
        exporter.export(encode_payload(wire_spans(trace)))
    exporter.close()
    done = run("explain", tmp_path / "talk.jsonl", "--trace", recorded[-1].trace_id.hex(), *join)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("spans of trace") == 1
    assert "session chat-12, turn 2" in done.stdout
    assert ("joined from 3 traces" in done.stdout) is bool(join)


def test_explain_sums_up_the_setup(traces):
    """Each service: which stages are captured in how many runs, and what is missing."""
    done = run("explain", traces, "--setup")
    assert done.returncode == 0, done.stderr
    assert "service shop-0: 1 trace, 1 run, 1 of them can be judged" in done.stdout
    assert "1 of 1 (100%)" in done.stdout
    done = run("explain", traces, "--setup", "--format", "json")
    services = json.loads(done.stdout)
    assert len(services) == 3
    stages = services[0]["stages"]
    assert stages["retriever"]["captured"] == 1
    assert stages["retriever"]["span_names"] == {"VectorStoreRetriever": 1}
    assert stages["reranker"]["absent"] == 1


def test_explain_sums_up_many_files_that_share_traces(traces, tmp_path):
    """An exporter rolls its files in the middle of a trace; what cannot be read is still named."""
    lines = traces.read_text().splitlines()
    spans = json.loads(lines[0])
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    scope = spans["resourceSpans"][0]["scopeSpans"][0]
    all_spans = scope["spans"]
    for path, part in ((first, all_spans[:3]), (second, all_spans[3:])):
        scope["spans"] = part
        path.write_text(json.dumps(spans) + "\n")
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{\n")
    done = run("explain", first, second, broken, "--setup", "--format", "json")
    assert done.returncode == 2
    assert "broken.jsonl" in done.stderr
    (service,) = json.loads(done.stdout)
    assert service["traces"] == 1


def test_explain_as_json_goes_with_setup(traces):
    """Bad usage is told in a line."""
    done = run("explain", traces, "--format", "json")
    assert done.returncode == 2
    assert "--setup" in done.stderr


def test_explain_of_a_run_record_has_no_spans(tmp_path):
    """It was never traced; the setup counts it as a run."""
    path = tmp_path / "r.jsonl"
    path.write_text('{"id": "r", "question": "q?", "answer": "a", "retrieved": [{"text": "t"}]}\n')
    done = run("explain", path)
    assert done.returncode == 0, done.stderr
    assert "run r" in done.stdout
    assert "spans of trace" not in done.stdout
    done = run("explain", path, "--setup", "--format", "json")
    assert json.loads(done.stdout)[0]["runs"] == 1


def test_explain_says_why_nothing_was_judged(tmp_path):
    """A trace without any sign of retrieval is no RAG run."""
    path = tmp_path / "genai.json"
    span = {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "eee19b7ec3c1b174",
        "name": "chat",
        "startTimeUnixNano": "1",
        "endTimeUnixNano": "2",
        "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
    }
    path.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}))
    done = run("explain", path)
    assert done.returncode == 0
    assert "not judged" in done.stdout
    assert "no RAG run" in done.stdout


def test_replay_sends_what_was_recorded(traces):
    """Spans arrive with their bytes; fresh ids on request."""
    with running_sink() as sink:
        done = run("replay", traces, "--endpoint", sink.endpoint, "--new-ids")
        assert done.returncode == 0, done.stderr
        spans = collect(sink, 18)
    original = {
        span.trace_id for number in range(3) for span in rag_trace(random.Random(number), number)
    }
    assert len({span.trace_id for span in spans}) == 3
    assert not {span.trace_id for span in spans} & original
    assert sum(span.held for span in spans) == 3 * RAG_SPANS


def test_replay_to_nowhere_is_one_line(traces):
    """The endpoint is named as it was typed."""
    done = run("replay", traces, "--endpoint", "http://127.0.0.1:9", "--attempts", "1")
    assert done.returncode == 2
    assert "--endpoint http://127.0.0.1:9" in done.stderr
    assert "Traceback" not in done.stderr


def test_config_commands(tmp_path):
    """Show, check and schema; a wrong option names the nearest one."""
    names = ("good.yaml", "bad.yaml", "wrong.yaml", "secret.yaml", "keyless.yaml", "open.yaml")
    good, bad, wrong, secret, keyless, tokenless = (tmp_path / name for name in names)
    good.write_text("exporters: {b: {kind: otlp_http, endpoint: 'http://127.0.0.1:1/v1/traces'}}")
    bad.write_text("hold: {quiet_second: 1}")
    wrong.write_text("exporters: {b: {kind: otlp_htpp, endpoint: 'http://127.0.0.1:1'}}")
    secret.write_text("receive: {forward_headers: [Authorization]}")
    keyless.write_text("redaction: {hash_keys: [user.id]}")
    tokenless.write_text("receive: {auth: {token_from: NO_SUCH_VARIABLE}}")
    assert run("config", "check", good).returncode == 0
    hints = (
        (bad, "hold.quiet_seconds"),
        (wrong, "otlp_http"),
        (secret, "receive.forward_headers"),
        (keyless, "redaction.key_file"),
        (tokenless, "receive.auth.token_from"),
    )
    for path, hint in hints:
        done = run("config", "check", path)
        assert done.returncode == 2
        assert hint in done.stderr
        assert "Traceback" not in done.stderr
    assert "quiet_seconds: 5" in run("config", "show").stdout
    assert json.loads(run("config", "schema").stdout)["properties"]["hold"]


def test_help_lists_all_commands():
    """`otel-raglog --help` is a table of contents."""
    text = run("--help").stdout
    for command in ("serve", "demo", "analyze", "explain", "replay", "config"):
        assert command in text


def test_every_marker_is_a_prefix_of_something_with_a_namespace():
    """A marker as short as `in` would hold every span there is."""
    assert all(len(prefix) >= 3 for prefix in marker_prefixes())


def test_text_without_a_form_in_utf8_is_printed_all_the_same(tmp_path):
    """A lone surrogate in one record costs nothing, in any format and encoding."""
    path = tmp_path / "r.jsonl"
    path.write_text('{"id": "r", "question": "q \\ud800 \\u00e9?", "answer": "a"}\n')
    for encoding in ("utf-8", "ascii"):
        env = os.environ | {"PYTHONIOENCODING": encoding}
        for form in ("table", "json", "jsonl"):
            done = run("analyze", path, "--format", form, env=env)
            assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["question"] == "q \ud800 \u00e9?"
        assert run("explain", path, env=env).returncode == 0


def test_a_full_disk_is_one_line(traces):
    """No stack trace, and not the exit code of a fault found."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "otel_raglog.cli", "analyze", str(traces)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=100,
            check=False,
        )
    assert done.returncode != 1
    assert "Traceback" not in done.stderr


def test_a_ready_file_that_cannot_be_written_is_named(tmp_path):
    """The service stops again instead of running unnoticed."""
    ports = {
        f"OTEL_RAGLOG_{name}__PORT": "0"
        for name in ("RECEIVE__GRPC", "RECEIVE__HTTP", "METRICS", "HEALTH")
    }
    missing = tmp_path / "none" / "ready.json"
    done = run(
        "serve", "--forward-to", "http://127.0.0.1:9", "--ready-file", missing,
        env=os.environ | ports,
    )  # fmt: skip
    assert done.returncode == 2
    assert "--ready-file" in done.stderr
    assert "Traceback" not in done.stderr


def test_replay_cuts_requests_that_receivers_would_refuse(tmp_path):
    """Many take no message over 4 MiB; a recorded request may be larger."""
    messages = [
        span_message(bytes([number]) * 8, attributes={"input.value": "x" * 1_000_000})
        for number in range(1, 7)
    ]
    path = tmp_path / "large.pb"
    path.write_bytes(encode_request([wire_span(message) for message in messages]))
    with running_sink() as sink:
        done = run("replay", path, "--endpoint", sink.endpoint)
        assert done.returncode == 0, done.stderr
        parts = [sink.take(10), sink.take(10)]
    assert parts == [3, 3]


def test_analyze_shows_what_may_be_shown(tmp_path):
    """With redaction in --config, in JSON and in tables; the verdicts are the same."""
    file, config = tmp_path / "trace.pb", tmp_path / "raglog.yaml"
    file.write_bytes(encode_request(rag_trace(random.Random(1), 0)))
    config.write_text(
        "analysis: {detector: rules-1}\nredaction: {expressions: ['22:15', 'Sandmouth'], "
        "mask_keys: ['*.document.content']}"
    )
    plain = tmp_path / "plain.yaml"
    plain.write_text("analysis: {detector: rules-1}")
    redacted = run("analyze", file, "--config", config, "--format", "json").stdout
    (report,) = json.loads(redacted)
    (expected,) = json.loads(run("analyze", file, "--config", plain, "--format", "json").stdout)
    assert report["question"] == "When does the night ferry to [redacted] leave?"
    assert "22:15" not in redacted
    assert "Sandmouth" not in redacted
    for stage, told in report["stages"].items():
        for key in ("verdict", "probability", "fault_types"):
            assert told[key] == expected["stages"][stage][key]
    assert "Sandmouth" not in run("analyze", file, "--config", config).stdout
