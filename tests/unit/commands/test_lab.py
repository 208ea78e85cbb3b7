"""``lab``: run, inject and label as a user calls them."""

import json

import pytest
from lab_kit import WordVectors, other_corpus, small_corpus, write_corpus
from typer.testing import CliRunner

from otel_raglog.commands import lab as lab_command
from otel_raglog.commands.lab import lab_app
from otel_raglog.errors import BadInput


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
