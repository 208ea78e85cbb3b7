"""``bridge run`` and ``bridge classify``, and captured calls in ``analyze`` and ``explain``."""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from call_sequences import FOLDER, read_sequence
from typer.testing import CliRunner

from otel_raglog.commands import app
from otel_raglog_proxy_bridge.sending import target_of

SEQUENCE = FOLDER / "passenger-desk.jsonl.gz"


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def lines_of(*arguments):
    done = run("bridge", "classify", *arguments, "--format", "jsonl")
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def command_of(*arguments):
    done = run("bridge", "run", "--dry-run", *arguments)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def options_of(command):
    pairs = [each for before, each in pairwise(command) if before == "--set"]
    return dict(pair.split("=", 1) for pair in pairs)


def test_classify_says_of_each_call_what_it_is_and_why():
    """Rewriter and generator where the run tells."""
    done, lines = lines_of(SEQUENCE)
    assert done.exit_code == 0
    truth = read_sequence("passenger-desk").stages
    assert {line["id"]: line["stage"] for line in lines} == truth
    assert all(set(line) == {"id", "stage", "by", "reason"} for line in lines)
    assert {line["by"] for line in lines} == {"rule"}
    assert "openai.chat" in next(line["reason"] for line in lines if line["stage"] == "rewriter")


def test_classify_prints_a_table_or_an_array():
    """As ``analyze`` does."""
    assert "passenger-desk-001" in run("bridge", "classify", SEQUENCE).stdout
    array = json.loads(run("bridge", "classify", SEQUENCE, "--format", "json").stdout)
    assert array == lines_of(SEQUENCE)[1]


def test_classify_wants_captured_calls(tmp_path):
    """Spans and run records hold none."""
    record = tmp_path / "runs.jsonl"
    record.write_text('{"id": "r", "question": "q", "answer": "a"}\n')
    done = run("bridge", "classify", record)
    assert done.exit_code == 2
    assert "no captured calls" in done.output


def test_a_lone_chat_is_of_no_role(tmp_path):
    """Nothing tells whether it rewrites or answers."""
    call = {
        "method": "POST",
        "url": "http://h/v1/chat/completions",
        "status": 200,
        "request_body": {"messages": [{"role": "user", "content": "Hello there, how are you?"}]},
        "response_body": {"choices": [{"message": {"content": "Fine"}}]},
    }
    path = tmp_path / "calls.jsonl"
    path.write_text(json.dumps(call) + "\n")
    _, (line,) = lines_of(path)
    assert line["stage"] == "llm"


def test_an_llm_is_asked_only_when_one_is_configured(tmp_path, monkeypatch):
    """The option says what is missing."""
    monkeypatch.delenv("OTEL_RAGLOG_JUDGE_KEY", raising=False)
    done = run("bridge", "classify", SEQUENCE, "--llm")
    assert done.exit_code != 0
    assert "--llm" in str(done.exception)


def test_stored_mappings_come_first(tmp_path):
    """What a person says of a call decides, and the line says so."""
    path = tmp_path / "calls.jsonl"
    call = {
        "method": "POST",
        "url": "http://h/v1/embeddings",
        "status": 200,
        "request_body": {"input": "a"},
    }
    path.write_text(json.dumps({**call, "response_body": {"data": []}}) + "\n")
    mapping = {
        "stage": "irrelevant",
        "match": {"method": "POST", "host": "h", "path": "/v1/embeddings"},
    }
    edited = tmp_path / "mapping.json"
    edited.write_text(json.dumps(mapping))
    folder = tmp_path / "mappings"
    stored = run(
        "bridge", "mappings", "edit", "--mappings", folder, "--pipeline", "app", "--file", edited
    )
    assert stored.exit_code == 0, stored.output
    _, (line,) = lines_of(path, "--mappings", folder, "--pipeline", "app")
    assert (line["stage"], line["by"]) == ("irrelevant", "mapping")
    _, (line,) = lines_of(path)
    assert (line["stage"], line["by"]) == ("embedder", "rule")


def test_analyze_judges_captured_calls():
    """The same path as live: three questions, with their stages."""
    done = run("analyze", SEQUENCE, "--format", "json")
    assert done.exit_code == 0, done.output
    reports = json.loads(done.stdout)
    assert [report["question"] for report in reports] == [
        each.question for each in read_sequence("passenger-desk").runs
    ]
    for report in reports:
        assert report["service"] == "passenger-desk"
        assert all(
            report["stages"][stage]["verdict"] in {"ok", "faulty"} for stage in report["stages"]
        )
    assert "3 runs" in done.stderr


def test_explain_shows_which_rule_decided():
    """On the spans of the calls."""
    done = run("explain", SEQUENCE)
    assert done.exit_code == 0
    assert "reranker" in done.stdout


def test_run_starts_mitmdump_with_the_add_on():
    """The proxy, and a reverse proxy for each front, in one process."""
    command = command_of(
        "--listen", "127.0.0.1:9000", "--front", "127.0.0.1:9001=http://127.0.0.1:8000",
        "--endpoint", "http://sidecar:4318", "--service", "shop", "--mappings", "/tmp/m",
        "--set", "raglog_redact=secret", "--mitmdump", sys.executable,
    )  # fmt: skip
    assert command[0] == sys.executable
    modes = [each for before, each in pairwise(command) if before == "--mode"]
    assert modes == ["regular@127.0.0.1:9000", "reverse:http://127.0.0.1:8000@127.0.0.1:9001"]
    script = Path(command[command.index("-s") + 1])
    assert script.name == "addon.py"
    assert script.exists()
    options = options_of(command)
    assert options["raglog_service"] == "shop"
    assert options["raglog_redact"] == "secret"
    assert options["raglog_python"] == sys.executable
    assert "raglog_asker" not in options
    assert target_of(options["raglog_endpoint"]) is not None


def test_run_with_an_llm_names_what_asks():
    """A function of the service that the capturing process can import."""
    options = options_of(command_of("--llm", "--mitmdump", sys.executable))
    module, name = options["raglog_asker"].split(":")
    assert hasattr(__import__(module, fromlist=[name]), name)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--listen", "8080"], "--listen"),
        (["--listen", "127.0.0.1:99999"], "--listen"),
        (["--front", "127.0.0.1:9001"], "--front"),
        (["--front", "127.0.0.1:9001=app"], "--front"),
        (["--set", "raglog_redact"], "--set"),
        (["--set", "=1"], "--set"),
        (["--set", "raglog_redact=["], "raglog_redact"),
        (["--set", "raglog_max_body_bytes=abc"], "raglog_max_body_bytes"),
        (["--set", "raglog_quiet_seconds=1", "--set", "raglog_quiet_seconds=2"], "2 times"),
        (["--set", "raglog_redct=x"], "raglog_redact"),
        (["--set", "raglog_endpoint=http://sidecar:4318"], "--endpoint"),
        (["--endpoint", "sidecar"], "--endpoint"),
    ],
)
def test_a_wrong_option_is_named(arguments, named):
    """With what was typed."""
    done = run("bridge", "run", "--dry-run", "--mitmdump", sys.executable, *arguments)
    assert done.exit_code == 2
    assert named in done.output


def test_what_run_gives_by_itself_can_be_given_otherwise():
    """The Python that makes spans may be another one."""
    command = command_of("--set", f"raglog_python={sys.executable}", "--mitmdump", sys.executable)
    given = [each for each in command if each.startswith("raglog_python=")]
    assert given == [f"raglog_python={sys.executable}"]


def test_a_mitmdump_that_is_not_there_is_said(tmp_path):
    """Before anything is started."""
    done = run("bridge", "run", "--mitmdump", tmp_path / "mitmdump")
    assert done.exit_code == 2
    assert "--mitmdump" in done.output


@pytest.mark.parametrize("command", ["analyze", "explain"])
def test_what_became_of_the_calls_is_told_on_stderr(command):
    """How many were of no run or of no stage, and what of a file is left out."""
    done = run(command, SEQUENCE)
    assert done.exit_code == 0
    assert f"otel-raglog: {SEQUENCE}: " in done.stderr
    assert "runs" in done.stderr.split(f"{SEQUENCE}: ")[1]
