"""The recorded calls of real applications are complete, small and neutral, whatever is made of them."""

import json
from urllib.parse import urlsplit

import pytest
from call_sequences import FOLDER, read_sequence, sequence_names

LARGEST_BYTES = 400_000
STAGES = {"embedder", "retriever", "reranker", "rewriter", "generator", "irrelevant"}


@pytest.mark.parametrize("name", sequence_names())
def test_every_call_is_told(name: str):
    """Each call has one stage, and a run that there is, or none."""
    sequence = read_sequence(name)
    ids = [record["id"] for record in sequence.records]
    assert ids == list(sequence.stages)
    assert len(set(ids)) == len(ids)
    assert set(sequence.stages.values()) <= STAGES
    numbers = {run.number for run in sequence.runs}
    assert {run for run in sequence.runs_of_calls.values() if run is not None} == numbers


@pytest.mark.parametrize("name", sequence_names())
def test_an_answer_is_in_the_call_that_gave_it(name: str):
    """The answering call is a generator of its run, and none where the application spoke itself."""
    sequence = read_sequence(name)
    for run in sequence.runs:
        if run.answered_by is None:
            assert run.answer == "Empty Response"
            continue
        assert sequence.stages[run.answered_by] == "generator"
        assert run.answered_by in sequence.calls_of(run.number)
        record = next(r for r in sequence.records if r["id"] == run.answered_by)
        assert record["status"] == 200
        last_word = run.answer.split()[-1].rstrip(".")  # streams send word by word
        escaped = json.dumps(last_word)[1:-1]
        assert {last_word in record["response_body"], escaped in record["response_body"]} != {False}


@pytest.mark.parametrize("name", sequence_names())
def test_nothing_tells_where_it_was_recorded(name: str):
    """Hosts are neutral, and of the headers only the content type is kept."""
    for record in read_sequence(name).records:
        assert urlsplit(record["url"]).netloc in {"stub.local:8080", "chroma.local:8000"}
        assert set(record["request_headers"]) | set(record["response_headers"]) <= {"content-type"}
        assert "127.0.0.1" not in str(record)


def test_they_are_small():
    """All files together stay small enough for a repository."""
    assert sequence_names()
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < LARGEST_BYTES
