"""What ``judge correctness`` finds out, asks, and writes."""

import json
import re

import pytest
from judge_behaviours import fails, says
from judge_server import JudgeServer
from typer.testing import CliRunner

from otel_raglog.commands import app

RECORDS = [
    {
        "id": "known",
        "question": "q",
        "answer": "a",
        "reference": {"answers": ["b"], "correct": True},
    },
    {
        "id": "asked",
        "question": "When does it leave?",
        "answer": "In the evening, I think.",
        "retrieved": [{"id": "d", "text": "SECRET"}],
        "reference": {"answers": ["22:15"]},
    },
    {"id": "none", "question": "q", "answer": "a"},
]


@pytest.fixture
def file(tmp_path, monkeypatch):
    """A file of records, with a budget of which nothing is spent."""
    monkeypatch.setenv("OTEL_RAGLOG_JUDGE__BUDGET__PATH", str(tmp_path / "spent.json"))
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


def call(file, *arguments):
    """Call the command; return its exit code, what it printed, and what it wrote by run id."""
    out = file.with_name("out.jsonl")
    result = CliRunner().invoke(
        app, ["judge", "correctness", str(file), "--out", str(out), *arguments]
    )
    written = {}
    if out.exists():
        records = map(json.loads, out.read_text().splitlines())
        written = {record["id"]: record for record in records}
    return result, written


def test_an_llm_is_asked_about_what_is_not_known(file, monkeypatch):
    """It sees question, reference answers and answer, and nothing else of the run."""
    with JudgeServer() as server:
        monkeypatch.setenv("OTEL_RAGLOG_JUDGE__ENDPOINT", server.url_anthropic)
        server.answer = lambda _: says({"correct": "no"})
        result, written = call(file)
        (request,) = server.requests
    assert result.exit_code == 0, result.output
    assert "22:15" in request.prompt
    assert "SECRET" not in request.prompt
    assert written["asked"]["reference"] == {
        "answers": ["22:15"],
        "correct": False,
        "correct_by": "claude-haiku-5-5",
    }
    assert written["known"] == RECORDS[0]
    assert written["none"] == RECORDS[2]
    assert "1 correct, 1 wrong, 1 unknown" in result.output


def test_what_is_redacted_is_not_sent(file, monkeypatch):
    """By judge.redact, as when the service asks."""
    with JudgeServer() as server:
        monkeypatch.setenv("OTEL_RAGLOG_JUDGE__ENDPOINT", server.url_anthropic)
        monkeypatch.setenv("OTEL_RAGLOG_JUDGE__REDACT", '["eve\\\\w+", "leave"]')
        server.answer = lambda _: says({"correct": "no"})
        _, written = call(file)
        (request,) = server.requests
    assert "evening" not in request.prompt
    assert "When does it [redacted]?" in request.prompt
    assert written["asked"] == RECORDS[1]


def test_what_asking_took_is_told(file, monkeypatch):
    """Calls, each try counted, tokens and USD; without an LLM there is nothing to tell."""
    with JudgeServer() as server:
        monkeypatch.setenv("OTEL_RAGLOG_JUDGE__ENDPOINT", server.url_anthropic)
        server.script(fails(500))
        server.answer = lambda _: says({"correct": "no"})
        result, _ = call(file)
    assert "claude-haiku-5-5: 2 calls, " in result.stdout
    assert re.search(r"[1-9]\d* \+ \d+ tokens, 0\.00\d\d USD", result.stdout)
    file.with_name("out.jsonl").unlink()
    assert "calls" not in call(file, "--words")[0].stdout


def test_a_budget_that_is_used_up_ends_it(file, monkeypatch):
    """The rest is unknown and written as it was; the exit code and one line say so."""
    file.write_text(
        "".join(json.dumps({**RECORDS[1], "id": f"r{number}"}) + "\n" for number in range(20))
    )
    with JudgeServer() as server:
        monkeypatch.setenv("OTEL_RAGLOG_JUDGE__ENDPOINT", server.url_anthropic)
        monkeypatch.setenv("OTEL_RAGLOG_JUDGE__BUDGET__USD_PER_HOUR", "0.0002")
        monkeypatch.setenv("OTEL_RAGLOG_JUDGE__CONCURRENCY", "1")
        server.answer = lambda _: says({"correct": "no"})
        result, written = call(file)
        asked = server.count()
    assert 0 < asked < 20, result.stdout
    assert result.exit_code == 2
    assert f"{20 - asked} runs were not asked about: judge.budget.usd_per_hour" in result.stderr
    assert f"{asked} calls" in result.stdout
    assert sum("correct" in each["reference"] for each in written.values()) == asked


def test_without_an_llm_nothing_is_called_wrong(file):
    """Words alone prove an answer right, never wrong; nothing is sent."""
    result, written = call(file, "--words")
    assert result.exit_code == 0, result.output
    assert written["asked"] == RECORDS[1]


def test_a_run_of_which_the_llm_fails_is_written_as_it_was(file, monkeypatch):
    """It is named, and the exit code says so."""
    with JudgeServer() as server:
        monkeypatch.setenv("OTEL_RAGLOG_JUDGE__ENDPOINT", server.url_anthropic)
        monkeypatch.setenv("OTEL_RAGLOG_JUDGE__TRIES", "1")
        server.answer = lambda _: fails(500)
        result, written = call(file)
    assert result.exit_code == 2
    assert "asked" in result.output
    assert written["asked"] == RECORDS[1]


def test_without_a_key_or_a_server_nothing_is_written(file):
    """The error names what is missing."""
    result, written = call(file)
    assert "OTEL_RAGLOG_JUDGE_KEY" in str(result.exception or result.output)
    assert not written


def test_what_is_there_is_not_written_over(file):
    """An earlier result may have cost something."""
    file.with_name("out.jsonl").write_text("")
    result, _ = call(file, "--words")
    assert "is there already" in str(result.exception or result.output)
