"""What was recorded of a run, and which stages that leaves without a label."""

import pytest
from judged_records import HELD, run_record

from otel_raglog.lab.judges.recorded import found_of, misses_chunks, passed_of, unlabelled
from otel_raglog.mapping.record import run_from_record


def run(**changes):
    return run_from_record(run_record(**changes))


def missing(**changes):
    found = run(**changes)
    return unlabelled(found, passed_of(found))


def test_of_a_run_that_was_recorded_every_stage_can_be_labelled():
    """An empty answer and an empty result were recorded too."""
    assert missing() == {}
    assert missing(answer="") == {}
    assert missing(retrieved=[], reranked=None, passed=None) == {}


@pytest.mark.parametrize(
    ("changes", "stages"),
    [
        ({"question": "[redacted]"}, "rewriter embedder retriever reranker assembly generator"),
        ({"rewrites": ["a", "__REDACTED__"]}, "rewriter"),
        ({"embedder_input": "__REDACTED__"}, "embedder"),
        ({"retrieved": [{"id": "d1"}, {"id": "d2"}]}, "retriever reranker assembly"),
        ({"prompt": "__REDACTED__"}, "assembly generator"),
        ({"prompt": None, "passed": ["d3"]}, "reranker generator"),
        ({"answer": "__REDACTED__"}, "generator"),
    ],
)
def test_what_was_not_recorded_leaves_stages_without_a_label(changes, stages):
    """Each with why."""
    found = missing(**changes)
    assert " ".join(found) == stages
    assert all(found.values())


def test_without_a_prompt_the_passed_chunks_stand_in_for_it():
    """Where all of their texts are known."""
    assert missing(prompt=None) == {}


def test_chunks_are_known_from_the_reranker_too():
    """What it passed on is not known where its choice was not recorded."""
    steps = [
        {"stage": "retriever", "query": "q"},
        {"stage": "reranker", "candidates": [{"id": "d1", "text": HELD}]},
    ]
    found = run(retrieved=None, reranked=None, passed=None, prompt=None, steps=steps)
    assert [chunk.id for chunk in found_of(found)] == ["d1"]
    assert passed_of(found) is None
    assert misses_chunks(found)
    assert "reranker" in unlabelled(found, None)
