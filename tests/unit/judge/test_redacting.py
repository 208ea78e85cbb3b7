"""What an LLM is not shown of a run."""

from dataclasses import asdict, replace

import pytest
from handbook_runs import make_run
from samples import make_run as make_small_run

from otel_raglog.judge.redacting import Redactor
from otel_raglog.model import NOT_CAPTURED, Message, present
from otel_raglog.options import Redaction
from otel_raglog.redaction.building import build_redaction

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


@pytest.mark.parametrize(
    "hidden",
    [
        "4711-\u200b0815",
        "47\u00ad11-0815",
        "4711\u2060-08\u200d15",
        "4711\ufe0f-0815",
        "4711-08\u316415",
        "4711-08\u280015",
        "4711-0\x00815",
        "4711-0\U000e0041815",
    ],
)
def test_characters_that_nobody_sees_hide_nothing(hidden):
    """Soft hyphens are common in texts from PDF files; an LLM would read the number all the same."""
    assert Redactor([r"\d{4}-\d{4}"]).text(f"see {hidden}.") == "see [redacted]."


def test_a_text_without_a_match_keeps_its_invisible_characters():
    """They are counted, and shown as removed, in their own place."""
    assert Redactor(["x"]).text("a\u200bb") == "a\u200bb"


def test_a_filter_is_a_text_like_the_others():
    """It stays, without what is matched: a self-query rewrite is judged with it."""
    (step,) = make_run(rewrites=["bookings"]).rewriters
    run = replace(run_with_secrets(), rewriters=(replace(step, filters=f"user = {SECRET}"),))
    assert Redactor([SECRET])(run).rewriters[0].filters == "user = [redacted]"
    assert Redactor(["never there"])(run).rewriters[0].filters == f"user = {SECRET}"


def test_a_text_that_is_no_unicode_is_redacted_too():
    """A lone half of a character can come in through JSON."""
    assert "4711" not in Redactor([r"\d{4}-\d{4}"]).text("see \udc80 4711-0815")


def test_what_redaction_finds_is_hidden_too():
    """Beside the judge's own patterns, or without any."""
    redaction = build_redaction(Redaction(patterns=["email"]))
    assert Redactor([], redaction).text("Ask a@b.co") == "Ask [redacted]"
    assert Redactor(["Ask"], redaction).text("Ask a@b.co") == "[redacted] [redacted]"
    run = Redactor([], redaction)(make_run(question="Who is a@b.co?"))
    assert run.question.value == "Who is [redacted]?"
