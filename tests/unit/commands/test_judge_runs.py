"""The runs that an LLM is asked about, and what it is shown of them."""

import json
from pathlib import Path

import pytest

from otel_raglog.commands.judge_runs import (
    Showing,
    brief_view,
    checks_asked,
    is_frugal,
    read_runs,
)
from otel_raglog.config import load_config
from otel_raglog.errors import BadInput
from otel_raglog.judge.parts import new_nonce
from otel_raglog.mapping.record import run_from_record

CHUNKS = [
    {"id": f"d{n}", "text": f"Chunk {n} is about {what}."}
    for n, what in enumerate(["laptops", "the canteen", "vacation days", "parking", "vacation"])
]
RECORD = {
    "id": "r1",
    "question": "How many vacation days are there?",
    "retrieved": CHUNKS,
    "passed": ["d3"],
    "prompt": CHUNKS[3]["text"],
    "answer": "There are 25.",
}


@pytest.fixture
def loaded(tmp_path):
    """Options with rules alone: no model is loaded."""

    def load(**judge):
        path = tmp_path / "config.yaml"
        path.write_text(json.dumps({"analysis": {"checks": ["rules"]}, "judge": judge}))
        return load_config(path)

    return load


def shown(view, label):
    return [
        item.excerpt.text
        for section in view.sections
        if section.label == label
        for item in section.shown
    ]


def test_runs_are_read_once_by_their_id(tmp_path, loaded):
    """The first of an id is taken; how many others there are is a problem, the same run or not."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text(json.dumps(RECORD) + "\n")
    second.write_text("\n".join([json.dumps(RECORD), json.dumps({**RECORD, "answer": "30."})]))
    found = read_runs([first, second], loaded(), join=False)
    assert found.runs == {"r1": run_from_record(RECORD)}
    assert found.problems == [
        "2 runs left out that have the id of an earlier one, which is taken: 'r1'"
    ]


def test_not_all_ids_that_come_again_are_named(tmp_path, loaded):
    """A file that is given twice would fill the screen."""
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps({**RECORD, "id": f"r{n}"}) + "\n" for n in range(7)))
    (problem,) = read_runs([path, path], loaded(), join=False).problems
    assert problem.startswith("7 runs left out")
    assert problem.endswith(": 'r0', 'r1', 'r2', 'r3', 'r4' and 2 more")


def test_traces_are_mapped_to_runs(loaded):
    """Those that come with this version, for one."""
    sample = Path(__file__).parents[3] / "otel_raglog" / "samples"
    found = read_runs([sample / "handbook-runs.otlp.jsonl.gz"], loaded(), join=False)
    assert len(found.runs) == 60
    assert found.problems == []


def test_files_without_a_run_to_ask_about_are_an_error(tmp_path, loaded):
    """What could not be read is told with it."""
    path = tmp_path / "runs.jsonl"
    lines = [{"id": "hello", "question": "Hello!", "answer": "Hello!"}, {"answer": "no id"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(BadInput, match=r"line 2.*there is no run in which anything is asked"):
        read_runs([path], loaded(), join=False)


def test_the_likeliest_excluded_chunks_are_shown(loaded):
    """As many as the options allow, by the question's words where no cross-encoder is wanted."""
    view = Showing(loaded(max_excluded_chunks=2)).view(run_from_record(RECORD))
    assert shown(view, "excluded chunk") == [CHUNKS[2]["text"], CHUNKS[4]["text"]]


def test_redacted_texts_are_shown_redacted(loaded):
    """Everywhere."""
    view = Showing(loaded(redact=["[Vv]acation"])).view(run_from_record(RECORD))
    assert shown(view, "question") == ["How many [redacted] days are there?"]


def test_a_brief_view_tells_the_same_stages(loaded):
    """So that going on where asking stopped needs no cross-encoder to know what is missing."""
    for record in (RECORD, {**RECORD, "answer": None}, {**RECORD, "passed": None}):
        run = run_from_record(record)
        for redact in ([], [".+"]):
            whole = Showing(loaded(redact=redact)).view(run)
            assert brief_view(run).stages == whole.stages
            keys = [[c.key for c in checks_asked(v, economy=False)] for v in (whole, brief_view(run))]  # fmt: skip
            assert keys[0] == keys[1]


def test_economy_is_what_the_command_says_else_the_options(loaded):
    """Then the statement-level check is left out."""
    options = loaded(economy=True).judge
    assert is_frugal(options, None)
    assert not is_frugal(options, economy=False)
    view = brief_view(run_from_record(RECORD))
    every = {check.key for check in checks_asked(view, economy=False)}
    assert every - {check.key for check in checks_asked(view, economy=True)} == {"statements"}


def test_nonces_are_never_the_same():
    """And of letters and digits alone."""
    nonces = {new_nonce() for _ in range(1_000)}
    assert len(nonces) == 1_000
    assert all(len(nonce) == 32 and nonce.isalnum() for nonce in nonces)
