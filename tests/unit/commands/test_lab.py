"""``lab``: run, inject and label as a user calls them."""

import json

import pytest
from judge_server import JudgeServer
from judged_records import findings, run_record
from lab_kit import WordVectors, other_corpus, small_corpus, write_corpus
from raglog_release import write_lines, write_release
from typer.testing import CliRunner

from otel_raglog.commands import app
from otel_raglog.commands import lab as lab_command
from otel_raglog.commands.lab import lab_app
from otel_raglog.errors import BadInput, ConfigError


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Call a command over the small corpora; return what it printed."""
    folders = [write_corpus(tmp_path / "corpora", c) for c in (small_corpus(), other_corpus())]
    monkeypatch.setattr(lab_command, "MiniLmEncoder", lambda **_: WordVectors())
    corpora = [part for folder in folders for part in ("--corpus", str(folder))]

    def run(*arguments):
        found = CliRunner().invoke(lab_app, [*map(str, arguments), *corpora])
        if found.exception is not None:
            raise found.exception
        return found.stdout

    return run


def _read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_natural_runs_then_injected_ones_at_most_a_third(call, tmp_path):
    """Into one file; the summary counts both."""
    out = tmp_path / "runs.jsonl"
    printed = call("run", "--out", out, "--runs", 24, "--work", tmp_path / "work")
    assert "24 natural runs, 0 injected" in printed
    assert "retriever" in printed
    printed = call("inject", out, "--out", out, "--work", tmp_path / "work")
    assert "24 natural runs, 8 injected" in printed
    records = _read(out)
    assert len({record["id"] for record in records}) == len(records) == 32


def test_an_interrupted_run_goes_on(call, tmp_path):
    """What is there is not run again, and the result is the same as in one go."""
    parts, whole = tmp_path / "parts.jsonl", tmp_path / "whole.jsonl"
    call("run", "--out", parts, "--runs", 5)
    with parts.open("a") as file:
        file.write('{"id": "half')
    call("run", "--out", parts, "--runs", 12)
    call("run", "--out", whole, "--runs", 12)
    assert _read(parts) == _read(whole)


def test_labels_can_be_made_anew(call, tmp_path):
    """The same rules give the same labels; an existing file is never overwritten."""
    out, again = tmp_path / "runs.jsonl", tmp_path / "again.jsonl"
    call("run", "--out", out, "--runs", 6)
    bare = [{k: v for k, v in r.items() if k not in {"labels", "unlabelled"}} for r in _read(out)]
    stripped = tmp_path / "bare.jsonl"
    stripped.write_text("".join(json.dumps(record) + "\n" for record in bare))
    call("label", stripped, "--out", again)
    assert [r["labels"] for r in _read(again)] == [r["labels"] for r in _read(out)]
    with pytest.raises(BadInput, match="is there already"):
        call("label", stripped, "--out", again)


def test_wrong_options_are_named(call, tmp_path):
    """With what is known, where that helps."""
    out = tmp_path / "runs.jsonl"
    with pytest.raises(BadInput, match="no pipeline 'x'"):
        call("run", "--out", out, "--pipeline", "x")
    with pytest.raises(BadInput, match="holds no natural runs"):
        call("inject", out, "--out", out)
    with pytest.raises(BadInput, match="no fault 'x'"):
        call("inject", out, "--out", out, "--fault", "x")
    with pytest.raises(BadInput, match="--endpoint needs --model"):
        call("run", "--out", out, "--endpoint", "http://localhost/v1")


def test_more_runs_than_can_be_made_end_with_a_word(call, tmp_path):
    """The file holds what there is."""
    out = tmp_path / "runs.jsonl"
    call("run", "--out", out, "--runs", 500, "--pipeline", "bm25", "--words", 200)
    assert 0 < len(_read(out)) < 16


def test_an_endpoint_rewrites_and_answers(call, tmp_path, httpserver, monkeypatch):
    """With the key of the environment."""
    monkeypatch.setenv("LAB_KEY", "k")
    message = {"role": "assistant", "content": "It was 1931."}
    httpserver.expect_request(
        "/v1/chat/completions", headers={"Authorization": "Bearer k"}
    ).respond_with_json(
        {"id": "c", "object": "chat.completion", "created": 0, "model": "tiny",
         "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    )  # fmt: skip
    out = tmp_path / "runs.jsonl"
    call(
        "run", "--out", out, "--runs", 2, "--pipeline", "rewrite_dense", "--model", "tiny",
        "--endpoint", httpserver.url_for("/v1"), "--key-from", "LAB_KEY",
    )  # fmt: skip
    assert {record["answer"] for record in _read(out)} == {"It was 1931."}
    assert {record["model"] for record in _read(out)} == {"tiny"}
    assert _read(out)[0]["rewrites"] == ["It was 1931."]


def _invoke(*arguments, exit_code=0):
    found = CliRunner().invoke(app, [*map(str, arguments)])
    if isinstance(found.exception, Exception) and not isinstance(found.exception, SystemExit):
        raise found.exception
    assert found.exit_code == exit_code, found.output
    return found


@pytest.fixture
def judges():
    """A server with three models: the second finds a dropped constraint, the third does not."""

    def answer(request):
        dropped = ["1931"] if request.body["model"] == "b" else []
        return json.dumps(findings(rewriter__dropped_constraints=dropped))

    with JudgeServer(answer) as server:
        yield server


def test_labels_by_judges_are_made_over_a_real_socket(tmp_path, judges):
    """Where two differ the third decides; agreement and kappa are printed, per stage and overall."""
    runs, out = tmp_path / "runs.jsonl", tmp_path / "labelled.jsonl"
    write_lines(runs, [run_record("r1"), run_record("r2", reranked=None)])
    arguments = ("lab", "label", runs, "--out", out, "--judges", "a,openai:b", "--adjudicator", "c",
                 "--endpoint", judges.url_openai)  # fmt: skip
    printed = _invoke(*arguments).output
    first, second = _read(out)
    assert first["labels"]["rewriter"]["labelled_by"] == "adjudicator"
    assert first["labels"]["rewriter"]["faulty"] is False
    assert "reranker" not in second["labels"]
    lines = [line.split() for line in printed.splitlines()]
    assert ["rewriter", "2", "0.00", "0.00", "2", "0"] in lines
    assert ["generator", "2", "1.00", "-", "0", "0"] in lines
    assert ["overall", "11", "0.82", "0.00", "2", "0"] in lines
    assert judges.count() == 6
    _invoke(*arguments)
    assert judges.count() == 6


def test_a_judge_without_a_key_is_refused_before_anything_is_sent(tmp_path, monkeypatch):
    """With the variable that holds it."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    write_lines(tmp_path / "runs.jsonl", [run_record()])
    arguments = ("lab", "label", tmp_path / "runs.jsonl", "--out", tmp_path / "out.jsonl")
    judges = ("--judges", "claude-x,claude-y", "--adjudicator", "claude-z")
    with pytest.raises(ConfigError, match="ANTHROPIC_API_KEY"):
        _invoke(*arguments, *judges)
    with pytest.raises(BadInput, match="needs --adjudicator"):
        _invoke(*arguments, *judges[:2])
    with pytest.raises(BadInput, match="either --corpus or --judges"):
        _invoke(*arguments)
    with pytest.raises(BadInput, match="holds no runs"):
        _invoke("lab", "label", tmp_path / "none", *arguments[3:], *judges)


def test_runs_of_which_a_judge_failed_are_listed(tmp_path, judges):
    """On stderr, with the reason; the rest is labelled."""
    judges.answer = lambda request: (
        "no JSON" if request.body["model"] == "b" and "Which one?" in request.prompt
        else json.dumps(findings())
    )  # fmt: skip
    runs, out = tmp_path / "runs.jsonl", tmp_path / "labelled.jsonl"
    write_lines(
        runs,
        [run_record("r1"), run_record("r2", question="Which one?"), {"id": "r3", "retrieved": 7}],
    )
    arguments = ("--judges", "a,b", "--adjudicator", "c", "--endpoint", judges.url_openai)
    found = _invoke("lab", "label", runs, "--out", out, *arguments, exit_code=2)
    assert "r2: openai:b: the reply holds no JSON object" in found.stderr
    assert "'r3'" in found.stderr
    assert [bool(each["labels"]) for each in _read(out)] == [True, False]


def test_what_is_redacted_is_not_sent_to_judges(tmp_path, judges):
    """By --redact and by judge.redact of the configuration; a wrong pattern sends nothing."""
    runs, config = tmp_path / "runs.jsonl", tmp_path / "config.yaml"
    write_lines(runs, [run_record("r1")])
    config.write_text("judge:\n  redact: [Alvar]\n")
    arguments = ("lab", "label", runs, "--out", tmp_path / "out.jsonl", "--config", config,
                 "--judges", "a,b", "--adjudicator", "c", "--endpoint", judges.url_openai)  # fmt: skip
    with pytest.raises(BadInput, match="--redact '\\[' is no regular expression"):
        _invoke(*arguments, "--redact", "[")
    assert judges.count() == 0
    _invoke(*arguments, "--redact", "Bridge", "--redact", "1931")
    sent = "".join(request.prompt for request in judges.requests)
    assert "[redacted] [redacted] was opened in [redacted]" in sent
    assert not any(word in sent for word in ("Alvar", "Bridge", "1931."))
    with pytest.raises(BadInput, match="one of the judges"):
        _invoke(*arguments[:-3], "b", *arguments[-2:])


def test_an_imported_release_can_be_trained_on(tmp_path):
    """With one command each; what was read as what is printed."""
    folder, out = write_release(tmp_path / "release", 36), tmp_path / "runs.jsonl"
    printed = _invoke("lab", "import-raglog-faults", folder, "--out", out).stdout
    assert "36 natural runs, 0 injected" in printed
    assert "read as id: run_id" in printed
    config = tmp_path / "config.yaml"
    config.write_text("analysis:\n  checks: [rules]\n")
    _invoke("train", out, "--out", tmp_path / "model", "--config", config)
    assert (tmp_path / "model" / "manifest.json").exists()


def test_what_could_not_be_imported_is_named(tmp_path):
    """The rest is written, anew, and the exit code says so; other names come from a file."""
    folder, out = write_release(tmp_path / "release", 3), tmp_path / "runs.jsonl"
    _invoke("lab", "import-raglog-faults", folder, "--out", out)
    write_lines(
        folder / "more.jsonl", [{"run_id": "x", "frage": "q", "labels": {"generator": "hm"}}]
    )
    found = _invoke("lab", "import-raglog-faults", folder, "--out", out)
    assert "1 objects are no runs" in found.stderr
    (tmp_path / "fields.yaml").write_text("question: [question, frage]")
    arguments = (folder, "--out", out, "--fields", tmp_path / "fields.yaml")
    found = _invoke("lab", "import-raglog-faults", *arguments, exit_code=2)
    assert "more.jsonl, line 1: labels.generator" in found.stderr
    assert len(_read(out)) == 3
