"""What a careful reader wrote down about each golden trace is what the code reads from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_conventions import FOLDER, expected_of, read_runs, seen_in, traces

FILES = traces()


def test_there_are_golden_traces_and_each_has_its_expectation():
    """No trace without what a reader wrote down, and nothing written down without a trace."""
    assert FILES
    wanted = {path.with_name(path.name.replace(".otlp.jsonl", ".expected.yaml")) for path in FILES}
    assert wanted == set(FOLDER.rglob("*.expected.yaml"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_runs_are_read_as_a_careful_reader_reads_them(path: Path):
    """Each run has the question, rewrites, chunks, answer and stages that stand in the trace."""
    expected = expected_of(path)
    runs = read_runs(path)
    assert [seen_in(run, wanted) for run, wanted in zip(runs, expected["runs"], strict=False)] == (
        expected["runs"]
    )
    assert len(runs) == len(expected["runs"])
