"""What an LLM is not shown of a run."""

from dataclasses import asdict

import pytest
from handbook_runs import make_run
from samples import make_run as make_small_run

from otel_raglog.judge.redacting import Redactor
from otel_raglog.model import NOT_CAPTURED, Message, present

SECRET = "4711-0815"


def run_with_secrets():
    """Return a run that has the secret in every text there is."""
    return make_run(
        question=f"What is booked on {SECRET}?",
        rewrites=[f"bookings {SECRET}"],
        embedded=[f"bookings {SECRET}"],
        selected=["vacation"],
        answer=f"Nothing is booked on {SECRET}.",
    )


def test_what_a_pattern_matches_is_nowhere_in_the_run():
    """Question, rewrites, embedded text, queries, prompt, messages and answer."""
    run = run_with_secrets()
    assert SECRET in str(asdict(run))
    found = Redactor([r"\d{4}-\d{4}"])(run)
    assert SECRET not in str(asdict(found))
    assert found.question.value == "What is booked on [redacted]?"
    assert found.answer.status is run.answer.status


def test_chunks_and_history_are_texts_too():
    """Titles with them; metadata is left out whole."""
    history = present((Message("user", f"about {SECRET}"),))
    run = Redactor(["ferry", "22:15", SECRET])(make_small_run(history=history))
    (chunk, _) = run.retrievers[0].chunks.value
    assert chunk.text == "The night [redacted] leaves at [redacted]."
    assert run.history.value[0].content == "about [redacted]"
    assert "ferry" not in str(asdict(run))


@pytest.mark.parametrize("patterns", [[], ["never there"]])
def test_without_a_match_the_texts_are_the_same(patterns):
    """And what is missing stays missing."""
    run = make_small_run(answer=NOT_CAPTURED)
    assert Redactor(patterns)(run).question == run.question
    assert Redactor(patterns)(run).answer == NOT_CAPTURED
