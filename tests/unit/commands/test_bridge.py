"""``bridge run`` and ``bridge classify``, and captured calls in ``analyze`` and ``explain``."""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from call_sequences import FOLDER, read_sequence
from typer.testing import CliRunner

from otel_raglog.commands import app
from otel_raglog.errors import ConfigError
from otel_raglog_proxy_bridge.mapping_store import MappingStore
from otel_raglog_proxy_bridge.mappings import CallMapping, Match, Origin
from otel_raglog_proxy_bridge.model import CallStage
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


def test_classify_and_analyze_count_the_same_runs():
    """A call of no run is no run of its own."""
    told = [run(*command, SEQUENCE).stderr for command in (("bridge", "classify"), ("analyze",))]
    counts = [re.search(r"(\d+) calls?, (\d+) runs?;", text).groups() for text in told]
    assert counts[0] == counts[1]


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


@pytest.mark.parametrize(
    "command",
    [
        ("classify", SEQUENCE),
        ("run", "--dry-run", "--mitmdump", sys.executable),
        ("run", "--mitmdump", sys.executable),
    ],
)
def test_an_llm_is_asked_only_when_one_is_configured(monkeypatch, command):
    """The option says what is missing, before anything is captured or started."""
    monkeypatch.delenv("OTEL_RAGLOG_JUDGE_KEY", raising=False)
    monkeypatch.setattr("os.execv", lambda *_: pytest.fail("it was started"))
    done = run("bridge", *command, "--llm")
    assert isinstance(done.exception, ConfigError)
    assert str(done.exception).startswith("--llm: ")
    assert "OTEL_RAGLOG_JUDGE_KEY" in str(done.exception)
    assert done.stdout == ""
    monkeypatch.setenv("OTEL_RAGLOG_JUDGE__WHEN", "never")
    assert "judge.when is never" in str(run("bridge", *command, "--llm").exception)


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
    for which in (("--pipeline", "app"), ()):  # the only one that has some need not be named
        done, (line,) = lines_of(path, "--mappings", folder, *which)
        assert (line["stage"], line["by"]) == ("irrelevant", "mapping")
        assert f"1 mapping of 'app' in {folder} read the calls" in done.stderr
    _, (line,) = lines_of(path)
    assert (line["stage"], line["by"]) == ("embedder", "rule")


UNKNOWN = {
    "method": "POST",
    "url": "http://own.test/find",
    "status": 200,
    "request_body": {"query": "How much annual leave is there?", "top_k": 2},
    "response_body": {
        "passages": [
            {"id": "1", "text": "Annual leave is 27 days a year for everybody.", "score": 0.9},
            {"id": "2", "text": "Laptops are replaced every four years.", "score": 0.8},
        ]
    },
}
ANSWER = {
    "method": "POST",
    "url": "http://h/v1/chat/completions",
    "status": 200,
    "request_body": {
        "messages": [
            {
                "role": "user",
                "content": "Annual leave is 27 days a year for everybody.\n"
                "Laptops are replaced every four years.\n\n"
                "Question: How much annual leave is there?",
            }
        ]
    },
    "response_body": {"choices": [{"message": {"content": "27 days"}}]},
}


@pytest.fixture
def calls(tmp_path):
    """A search of an unknown API, and the answer from what it found."""
    path = tmp_path / "calls.jsonl"
    path.write_text(f"{json.dumps(UNKNOWN)}\n{json.dumps(ANSWER)}\n")
    return path


def keep_out(folder, pipeline):
    """Let a person have said of the search that it is none."""
    store = MappingStore(folder, pipeline)
    store.add(
        CallMapping(CallStage.IRRELEVANT, Match("POST", "own.test", "/find"), {}, Origin.USER)
    )
    return store


LOOKS = [("bridge", "classify", "--format", "jsonl"), ("explain",), ("analyze", "--format", "json")]


@pytest.mark.parametrize("command", LOOKS, ids=lambda command: command[-1])
def test_captured_calls_are_read_by_the_mappings_of_the_live_bridge(
    tmp_path, monkeypatch, calls, command
):
    """The folder of ``bridge run`` by default, and the only pipeline in it unless one is named."""
    folder = tmp_path / "mine"
    told = "1 mapping of 'hr-bot'"
    keep_out(folder, "hr-bot")
    assert told not in run(*command, calls).stderr
    assert told in run(*command, calls, "--mappings", folder).stderr
    monkeypatch.setenv("OTEL_RAGLOG_BRIDGE__MAPPINGS", str(folder))
    assert told in run(*command, calls).stderr
    monkeypatch.delenv("OTEL_RAGLOG_BRIDGE__MAPPINGS")
    monkeypatch.setenv("HOME", str(tmp_path))
    keep_out(tmp_path / ".local/share/otel-raglog/mappings", "hr-bot")
    assert told in run(*command, calls).stderr
    keep_out(folder, "sales")
    done = run(*command, calls, "--mappings", folder)
    assert done.exit_code == 0
    assert "--pipeline: " in done.stderr
    assert "none was used: say whose; there are 'hr-bot', 'sales'" in done.stderr
    assert told in run(*command, calls, "--mappings", folder, "--pipeline", "hr-bot").stderr


def test_a_person_s_mapping_counts_in_every_command(tmp_path, calls):
    """What was kept out in ``classify`` is no stage in ``analyze`` and ``explain`` either."""
    folder = tmp_path / "mine"
    keep_out(folder, "hr-bot")
    assert [line["stage"] for line in lines_of(calls)[1]] == ["retriever", "generator"]
    assert lines_of(calls, "--mappings", folder)[1][0]["stage"] == "irrelevant"
    for command in ("analyze", "explain"):
        assert "0 irrelevant" in run(command, calls).stderr
        assert "1 irrelevant" in run(command, calls, "--mappings", folder).stderr


@pytest.mark.parametrize("command", LOOKS, ids=lambda command: command[-1])
def test_a_look_writes_nothing(tmp_path, calls, command):
    """Neither for a pipeline nor into a folder that is not there; the nearest name is said."""
    folder = tmp_path / "mine"
    done = run(*command, calls, "--mappings", folder, "--pipeline", "hr-bot")
    assert done.exit_code == 0
    assert f"'hr-bot' has no mappings: {folder} is not there; none was used" in done.stderr
    assert (
        f"--mappings: {folder} is not there; none"
        in run(*command, calls, "--mappings", folder).stderr
    )
    assert not folder.exists()
    store = keep_out(folder, "hr-bot")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = run(*command, calls, "--mappings", folder, "--pipeline", "hr-bt")
    assert f"'hr-bt' has no mappings in {folder}: did you mean 'hr-bot'?" in done.stderr
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert store.path in before


def test_what_is_found_out_is_stored_when_asked_for(tmp_path, calls):
    """As the live bridge would, and it is said where."""
    folder = tmp_path / "mine"
    done, _ = lines_of(calls, "--mappings", folder, "--pipeline", "hr-bot", "--store")
    store = MappingStore(folder, "hr-bot")
    assert f"--store: 1 mapping was stored in {store.path}" in done.stderr
    assert [entry.name for entry in store.load()] == ["POST own.test/find"]
    done, lines = lines_of(calls, "--mappings", folder, "--store")
    assert f"--store: 0 mappings were stored in {store.path}" in done.stderr
    assert lines[0]["by"] == "mapping"


def test_whose_mappings_are_stored_must_be_said(tmp_path, calls):
    """Before a call is read."""
    done = run("bridge", "classify", calls, "--mappings", tmp_path / "mine", "--store")
    assert str(done.exception) == "--store: --pipeline says whose mappings these are"
    assert done.stdout == ""


def test_mappings_that_cannot_be_stored_are_a_failure(tmp_path, calls):
    """Of storing; the calls are told."""
    store = MappingStore(tmp_path / "mine", "hr-bot")
    store.path.parent.mkdir()
    store.path.with_name(f"{store.path.name}.new").mkdir()
    more = ("--mappings", store.path.parent, "--pipeline", "hr-bot", "--store")
    done, lines = lines_of(calls, *more)
    assert done.exit_code == 2
    assert f"could not be stored: {store.path} cannot be written" in done.stderr
    assert [line["stage"] for line in lines] == ["retriever", "generator"]
    store.path.write_text("{")
    assert "is damaged" in str(run("bridge", "classify", calls, *more).exception)


@pytest.mark.parametrize("command", LOOKS, ids=lambda command: command[-1])
@pytest.mark.parametrize("which", [(), ("--pipeline", "hr-bot")])
@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda path: path.write_text("{"), "is damaged"),
        (lambda path: path.write_text(""), "it is empty"),
        (lambda path: path.write_text('{"format": 1, "pipeline": 5}'), "names no pipeline"),
        (lambda path: path.write_text('{"format": 9, "pipeline": "hr-bot"}'), "a later version"),
        (lambda path: path.mkdir(), "it is no file"),
    ],
)
def test_mappings_that_cannot_be_read_cost_nothing_else(
    tmp_path, calls, command, which, damage, told
):
    """The calls are read by rules; file and option are named, and the exit code is 2."""
    folder = tmp_path / "mine"
    folder.mkdir()
    path = folder / "hr-bot.json"
    damage(path)
    done = run(*command, calls, "--mappings", folder, *which)
    assert done.exit_code == 2
    (line,) = (each for each in done.stderr.splitlines() if "--mappings" in each)
    assert line.startswith(f"otel-raglog: --mappings: {path} ")
    assert told in line
    assert line.endswith("no stored mapping was used")
    assert done.stdout == run(*command, calls).stdout


def test_mappings_are_looked_at_for_captured_calls_alone(tmp_path):
    """Spans and run records need none."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "hr-bot.json").write_text("{")
    record = tmp_path / "runs.jsonl"
    record.write_text('{"id": "r", "question": "q", "answer": "a"}\n')
    assert run("analyze", record, "--mappings", folder).exit_code == 0


@pytest.mark.parametrize("name", ["", "  ", "\udcff"])
@pytest.mark.parametrize("command", LOOKS, ids=lambda command: command[-1])
def test_a_name_that_no_pipeline_has_is_refused(calls, command, name):
    """Before anything is read."""
    done = run(*command, calls, "--pipeline", name)
    assert done.exit_code == 2
    assert "--pipeline" in done.stderr


def test_classify_says_what_was_left_out():
    """As ``analyze`` does, on stderr."""
    done = run("bridge", "classify", SEQUENCE, "--format", "jsonl")
    assert f"otel-raglog: {SEQUENCE}: " in done.stderr
    assert "irrelevant" in done.stderr


def test_a_file_of_calls_that_was_cut_short_is_told_up_to_the_cut(tmp_path):
    """What is lost is named, and the exit code is 2."""
    path = tmp_path / "calls.json"
    path.write_text(json.dumps([UNKNOWN, ANSWER, ANSWER])[:-30])
    done, lines = lines_of(path)
    assert done.exit_code == 2
    assert len(lines) == 2
    assert f"{path}, call 3 is damaged" in done.stderr


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


def test_run_with_an_llm_names_what_asks(monkeypatch):
    """A function of the service that the capturing process can import."""
    monkeypatch.setenv("OTEL_RAGLOG_JUDGE_KEY", "k")
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


def test_a_verbosity_of_one_s_own_takes_the_place_of_ours():
    """mitmproxy takes one alone."""
    command = command_of("--set", "termlog_verbosity=debug", "--mitmdump", sys.executable)
    given = [each for each in command if each.startswith("termlog_verbosity=")]
    assert given == ["termlog_verbosity=debug"]


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
