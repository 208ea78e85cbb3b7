"""Real traces kept beside the project are read as a careful reader wrote down in `tests/golden/shared`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from golden_conventions import read_runs, seen_in

FOLDER = Path(__file__).parents[4] / "shared" / "traces"
WRITTEN = Path(__file__).parents[1] / "shared"
NAMES = sorted(path.name.removesuffix(".expected.yaml") for path in WRITTEN.glob("*.yaml"))
pytestmark = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="the traces of ../shared/traces, beside the project, are not here"
)


def runs_of(name):
    """Return the runs of all traces in a file, in order of time."""
    return read_runs(FOLDER / f"{name}.otlp.jsonl")


def test_each_trace_has_an_expectation():
    """No trace without what a reader wrote down, and nothing written down without a trace."""
    traces = {path.name.removesuffix(".otlp.jsonl") for path in FOLDER.glob("*.otlp.jsonl")}
    assert traces == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_runs_are_read_as_a_careful_reader_reads_them(name):
    """Each run has the question, rewrites, chunks, answer and stages that stand in the trace."""
    expected = yaml.safe_load((WRITTEN / f"{name}.expected.yaml").read_text(encoding="utf-8"))
    runs = runs_of(name)
    assert [seen_in(run, wanted) for run, wanted in zip(runs, expected["runs"], strict=False)] == (
        expected["runs"]
    )
    assert len(runs) == len(expected["runs"])


def test_tokens_are_taken_once():
    """The wrappers of an LLM call add nothing to its tokens."""
    for run in (*runs_of("llama-index-rag"), *runs_of("langchain-rag")):
        assert run.tokens == run.generators[0].tokens
        assert run.tokens.total == run.tokens.prompt + run.tokens.completion
