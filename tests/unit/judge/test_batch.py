"""Files of requests: ids, forms, and what is split."""

import json
import re
import sys

import pytest

from otel_raglog.checks.judge.prompting import prompt_of, schema_of, system_of
from otel_raglog.checks.judge.registry import JUDGE_CHECKS
from otel_raglog.checks.judge.verification import VerificationCheck
from otel_raglog.checks.judge.view import view_of
from otel_raglog.errors import BadInput, ConfigError
from otel_raglog.judge.batch import (
    BATCH_LIMITS,
    BatchApi,
    BatchLimits,
    RequestFiles,
    asks_of,
    body_of,
    custom_ids,
    request_line,
)
from otel_raglog.judge.client import Ask
from otel_raglog.mapping.record import run_from_record

RECORD = {
    "id": "r1",
    "question": "Who?",
    "retrieved": [{"id": "d1", "text": "Ada did."}, {"id": "d2", "text": "Others did not."}],
    "passed": ["d1"],
    "prompt": "Ada did.",
    "answer": "Ada.",
}


@pytest.mark.parametrize("run_id", ["r1", "", "x" * 500, "Zoë/17 \u202e", "\ud800", "a.b:c"])
def test_custom_ids_keep_to_both_apis(run_id):
    """Whatever the run is called and says."""
    ids = custom_ids(run_id, view_of(run_from_record({**RECORD, "answer": run_id})), JUDGE_CHECKS)
    for key, request_id in ids.items():
        assert re.fullmatch(rf"[A-Za-z0-9_-]{{1,64}}(?<=-{key})", request_id)


def test_custom_ids_are_those_of_one_run_and_one_check():
    """And the same on every call."""
    view = view_of(run_from_record(RECORD))
    by_run = [custom_ids(run, view, JUDGE_CHECKS) for run in ("r1", "r2", "r-1")]
    assert len({each for ids in by_run for each in ids.values()}) == 3 * len(JUDGE_CHECKS)
    assert by_run[0] == custom_ids("r1", view_of(run_from_record(RECORD)), JUDGE_CHECKS)


class _Earlier(VerificationCheck):
    instructions = "As it was asked before."


def test_custom_ids_are_those_of_what_is_shown_and_asked():
    """Another text, another limit and another instruction make each another request."""
    run = run_from_record(RECORD)
    ids = {
        custom_ids("r1", view, [check])[check.key]
        for view in (
            view_of(run),
            view_of(run_from_record({**RECORD, "answer": "Bob."})),
            view_of(run, max_excluded=0),
        )
        for check in (VerificationCheck(), _Earlier())
    }
    assert len(ids) == 6


def test_the_forms_of_both_apis():
    """Anthropic's has params, OpenAI's method, url and body."""
    body = {"model": "m"}
    assert json.loads(request_line(BatchApi.ANTHROPIC, "a", body)) == {
        "custom_id": "a",
        "params": body,
    }
    assert json.loads(request_line(BatchApi.OPENAI, "a", body)) == {
        "custom_id": "a",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": body,
    }


def test_a_check_asks_with_delimiters_of_its_own():
    """System prompt and schema are those of the check."""
    view = view_of(run_from_record({"id": "r1", "question": "Who?", "answer": "Ada."}))
    nonces = iter(("first" * 8, "second" * 8))
    asks = asks_of(JUDGE_CHECKS[:2], view, lambda: next(nonces))
    assert list(asks) == [check.key for check in JUDGE_CHECKS[:2]]
    for check, nonce in zip(JUDGE_CHECKS[:2], ["first" * 8, "second" * 8], strict=True):
        expected = Ask(system_of(check), prompt_of(view, nonce), check.key, schema_of(check))
        assert asks[check.key] == expected


@pytest.mark.parametrize("api", BatchApi)
def test_models_that_reason_get_room_and_no_temperature(api):
    """As a client puts it once it was refused."""
    ask = Ask("system", "prompt", "x", {"type": "object", "properties": {}}, max_tokens=100)
    plain, reasoning = (body_of(api, "m", ask, reasons=reasons) for reasons in (False, True))
    assert plain["max_tokens"] == 100
    assert reasoning.get("max_tokens", reasoning.get("max_completion_tokens")) > 1_000
    assert "temperature" not in reasoning


def test_an_sdk_that_is_not_installed_is_named(monkeypatch):
    """With what to install."""
    monkeypatch.setitem(sys.modules, "anthropic", None)
    monkeypatch.delitem(sys.modules, "otel_raglog.judge.anthropic_client", raising=False)
    with pytest.raises(ConfigError, match=r"otel-raglog\[judge\]"):
        body_of(BatchApi.ANTHROPIC, "m", Ask("s", "p", "x", {}))


def test_a_request_is_one_line_of_utf_8():
    """Line breaks are escaped, and so are halves of surrogate pairs."""
    for text in ("one\ntwo é", "half \ud800"):
        line = request_line(BatchApi.OPENAI, "a", {"x": text})
        assert line.count(b"\n") == 1
        assert line.endswith(b"\n")
        assert json.loads(line.decode())["body"]["x"] == text


def test_the_limits_are_the_documented_ones():
    """100,000 requests or 256 MB with Anthropic, 50,000 or 200 MB with OpenAI."""
    anthropic, openai = BATCH_LIMITS[BatchApi.ANTHROPIC], BATCH_LIMITS[BatchApi.OPENAI]
    assert (anthropic.requests, openai.requests) == (100_000, 50_000)
    assert anthropic.size_bytes < 256_000_000
    assert openai.size_bytes <= 200_000_000


@pytest.mark.parametrize("limits", [BatchLimits(2, 1_000), BatchLimits(1_000, 15)])
def test_a_full_batch_is_followed_by_another(tmp_path, limits):
    """By requests or by bytes: here two lines of six bytes a file."""
    out = tmp_path / "requests.jsonl"
    with RequestFiles(out, limits) as files:
        for number in range(5):
            files.add(b"line%d\n" % number)
    names = ["requests.jsonl", "requests-2.jsonl", "requests-3.jsonl"]
    assert [path.name for path in files.paths] == names
    assert [path.read_text().split() for path in files.paths] == [
        ["line0", "line1"],
        ["line2", "line3"],
        ["line4"],
    ]
    assert files.requests == 5


def test_a_request_that_no_batch_can_hold_is_an_error(tmp_path):
    """And what was there stays as it was."""
    out = tmp_path / "requests.jsonl"
    out.write_text("before\n")

    def write():
        with RequestFiles(out, BatchLimits(5, 10)) as files:
            files.add(b"short\n")
            files.add(b"much too long\n")

    with pytest.raises(BadInput, match="larger than a whole batch"):
        write()
    assert out.read_text() == "before\n"
    assert list(tmp_path.iterdir()) == [out]


def test_a_folder_that_is_not_there_is_an_error(tmp_path):
    """That names the option."""
    with pytest.raises(BadInput, match="--out"), RequestFiles(tmp_path / "gone" / "x.jsonl", BatchLimits(5, 10)):  # fmt: skip
        pass
