"""``analyze`` with an LLM: what is asked, what is printed, and what the reports say."""

import json
import random
import sys

import pytest
import structlog
from judge_behaviours import SOUND, fails, says
from judge_server import JudgeServer
from typer.testing import CliRunner

from otel_raglog.commands import app

RUNS = 4


@pytest.fixture
def file(tmp_path):
    """Run records: all sound but the last, whose answer has a number that no chunk has."""
    source = random.Random(1)
    lines = []
    for number in range(RUNS):
        place = source.choice(("Ellery", "Sandmouth"))
        text = f"The night ferry to {place} leaves at 22:15 from pier {number}."
        answer = f"It leaves at {'23:40' if number == RUNS - 1 else '22:15'}."
        record = {
            "id": f"r{number}",
            "question": f"When does the night ferry to {place} leave from pier {number}?",
            "retrieved": [{"id": "d", "text": text, "score": 0.8}],
            "passed": ["d"],
            "prompt": f"Context: {text}",
            "answer": answer,
            "finish_reason": "stop",
        }
        lines.append(json.dumps(record) + "\n")
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(lines))
    return path


@pytest.fixture(autouse=True)
def logs():
    """Send log lines to stderr, as the command does: stdout is for reports."""
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    yield
    structlog.reset_defaults()


@pytest.fixture
def server(monkeypatch, tmp_path):
    """A scripted LLM that the configuration names; what is spent is kept in a folder of the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with JudgeServer() as server:
        monkeypatch.setenv("OTEL_RAGLOG_JUDGE__ENDPOINT", server.url_anthropic)
        yield server


def analyze(file, *arguments):
    """Return the reports by run id, what was said on stderr, and the exit code."""
    result = CliRunner().invoke(app, ["analyze", str(file), "--format", "jsonl", *arguments])
    reports = [json.loads(line) for line in result.stdout.splitlines()]
    return {report["run_id"]: report for report in reports}, result.stderr, result.exit_code


def test_always_asks_about_every_run(server, file):
    """Calls, tokens and cost are told once for all, and stand on each report."""
    reports, said, code = analyze(file, "--judge", "always")
    assert code == 0
    assert server.count() == 5 * RUNS
    assert f"was asked about {RUNS} of {RUNS} runs: {5 * RUNS} calls" in said
    assert "USD" in said
    for report in reports.values():
        assert report["tier"] == "llm"
        assert report["judge"]["calls"] == 5
        assert report["judge"]["tokens"]["prompt"] > 1_000
        assert report["cost_usd"] == report["judge"]["cost_usd"] > 0
        assert report["judge"]["skipped"] is None


def test_escalation_asks_where_the_verdict_may_change(server, file, monkeypatch):
    """Outside its bands the local verdict stands, and says why nobody was asked."""
    everything = {stage: [0, 0] for stage in ("rewriter", "embedder", "retriever", "reranker")}
    monkeypatch.setenv(
        "OTEL_RAGLOG_JUDGE__BANDS", json.dumps({**everything, "generator": [0.6, 1]})
    )
    reports, said, _ = analyze(file, "--judge", "escalate")
    asked = {name for name, report in reports.items() if report["judge"]["calls"]}
    assert asked == {f"r{RUNS - 1}"}
    assert server.count() == 5
    assert reports["r0"]["judge"]["skipped"] == "not_uncertain"
    assert reports["r0"]["tier"] == "local"
    assert f"not asked: {RUNS - 1} not_uncertain" in said


def test_a_sample_is_the_same_each_time(server, file):
    """By a hash of the run's id; all of it at 1, none at 0."""
    assert not any(r["judge"]["calls"] for r in analyze(file, "--judge", "sample:0")[0].values())
    assert all(r["judge"]["calls"] for r in analyze(file, "--judge", "sample:1")[0].values())
    first, again = (analyze(file, "--judge", "sample:0.5")[0] for _ in range(2))
    assert [r["judge"]["calls"] for r in first.values()] == [
        r["judge"]["calls"] for r in again.values()
    ]


def test_never_asks_nobody_and_says_nothing(server, file):
    """Reports are those without an LLM."""
    reports, said, _ = analyze(file, "--judge", "never")
    assert server.count() == 0
    assert all(report["judge"] is None for report in reports.values())
    assert "asked" not in said


@pytest.mark.parametrize("judge", ["sometimes", "sample", "sample:2", "sample:x", "always:1"])
def test_what_is_no_choice_is_named(file, judge):
    """With the choices there are; nothing is read."""
    result = CliRunner().invoke(app, ["analyze", str(file), "--judge", judge])
    assert result.exit_code == 2
    assert "always, escalate, never, sample:P" in " ".join(result.stderr.split())


def test_an_answer_of_the_llm_decides_and_explains(server, file):
    """What it is sure of is flagged, and told in words."""
    sure = {**SOUND["verification"], "unsupported": 98, "any_fault": 98}
    graded = {**SOUND["graded_generator"], "unsupported": 97}
    said = {**SOUND["statements"], "unsupported_answer": 1, "unsupported_fact": 98}
    by_check = {"verification": sure, "graded_generator": graded, "statements": said}
    server.answer = lambda request: (
        says(by_check[request.check]) if request.check in by_check else None
    )
    reports, _, _ = analyze(file, "--judge", "always")
    generator = reports["r0"]["stages"]["generator"]
    assert generator["verdict"] == "faulty"
    assert "unsupported_claim" in generator["fault_types"]
    assert "model" in generator["explanation"]


def test_checks_without_an_answer_are_told(server, file):
    """The local verdict stands; the exit code does not change."""
    server.answer = lambda _: fails(400)
    reports, said, code = analyze(file, "--judge", "always")
    assert code == 0
    assert "checks without an answer" in said or "breaker_open" in said
    assert all(report["tier"] == "local" for report in reports.values())


def test_economy_leaves_out_the_costliest_check(server, file, monkeypatch):
    """Four calls a run."""
    monkeypatch.setenv("OTEL_RAGLOG_JUDGE__ECONOMY", "true")
    analyze(file, "--judge", "always")
    assert server.count() == 4 * RUNS
    assert server.count("statements") == 0


def test_an_unknown_price_is_an_unknown_cost(server, file, monkeypatch):
    """Nowhere is it called nothing."""
    monkeypatch.setenv("OTEL_RAGLOG_JUDGE__MODEL", "mine")
    reports, said, _ = analyze(file, "--judge", "always")
    assert all(report["cost_usd"] is None for report in reports.values())
    assert "cost unknown (judge.prices)" in said
    assert all(r["detector_version"].startswith("untrained") for r in reports.values())


def test_an_interrupted_analysis_asks_nothing_more(server, file, monkeypatch):
    """What waits for a turn is never sent, nor paid for."""
    monkeypatch.setenv("OTEL_RAGLOG_JUDGE__CONCURRENCY", "1")
    server.delays.update(dict.fromkeys(SOUND, 0.2))

    def interrupted(*_):
        raise KeyboardInterrupt

    module = sys.modules["otel_raglog.commands.analyze"]
    monkeypatch.setattr(module, "with_turns", interrupted)
    monkeypatch.setattr(module, "in_order", lambda groups: iter(list(groups)))
    monkeypatch.setattr(module, "with_progress", lambda groups, _: groups)
    CliRunner().invoke(app, ["analyze", str(file), "--judge", "always"])
    sent = server.count()
    assert sent < 5 * RUNS
    server.wait(0.6)
    assert server.count() <= sent + 1
