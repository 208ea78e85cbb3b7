"""Calls with an answer in hand, after it was given, in traces whose root says no output."""

import pytest
from span_trees import llm, retriever, span, trace_of

from otel_raglog.mapping.mapping import map_trace

PAGE = "The pool opens at half past six on weekdays, says the office of the harbour baths."
ANSWER = "The pool opens at half past six on weekdays, says the office of the harbour baths. Enjoy!"
PROMPT = f"Context:\n{PAGE}\n\nQuestion: When does the pool open?"


def answered(*later):
    """Return the answer of a run whose answering call is followed by ``later`` ones."""
    (run,) = map_trace(
        trace_of(
            span(
                "app",
                retriever("search", "When does the pool open?", ("p1", PAGE)),
                llm("chat", PROMPT, ANSWER),
                *(llm("chat", prompt, reply) for prompt, reply in later),
            )
        )
    )
    return run.answer.value


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        (
            f"Give this talk a title.\nUSER: When does the pool open?\nASSISTANT: {ANSWER}",
            "Bath times",
        ),
        (f"Is this text safe?\n{ANSWER}", "SAFE"),
        (f"Suggest questions after: {ANSWER}", '{"questions": ["Is the pool open on Sundays?"]}'),
        (f"Translate into German: {ANSWER}", "Das Bad macht werktags um halb sieben auf."),
        (f"{PAGE}\n\nAnswer: {ANSWER}\nIs every part of it in the text? Reply yes or no.", "yes"),
        (f"{PAGE}\nCheck for hallucinations: {ANSWER}", '{"grounded": true}'),
    ],
    ids=["title", "moderation", "questions", "translation", "judge", "judge in JSON"],
)
def test_a_helper_does_not_answer(prompt, reply):
    """Whatever it says, the answer is that of the call before it."""
    assert answered((prompt, reply)) == ANSWER


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        (f"Make it friendlier: {ANSWER}", f"Hello! {ANSWER}"),
        (
            f"Refine.\nDraft: {ANSWER}\nMore context:\n{PAGE} Closed in May.",
            "At half past six; not in May.",
        ),
    ],
    ids=["polish", "refine"],
)
def test_a_call_that_carries_the_answer_on_answers(prompt, reply):
    """One that says it again in other form, or was shown the context itself, gives the answer."""
    assert answered((prompt, reply)) == reply


@pytest.mark.parametrize(
    "reply",
    [
        '{"reasoning": "Es steht so im Text, also ja.", "score": true}',
        "5",
        "4/5",
        "Belegt.",
    ],
)
def test_a_verdict_in_any_language_does_not_answer(reply):
    """A judge is told by what goes in (the pages and the answer) and by what comes out."""
    prompt = f"Ist die Antwort belegt?\nText: {PAGE}\nAntwort: {ANSWER}"
    assert answered((prompt, reply)) == ANSWER


def test_an_evaluation_in_steps_does_not_answer():
    """Nor do its statements, the facts that it compares them with, its verdicts, its reason."""
    statement = "Der Pool öffnet um halb sieben."
    facts = '{"fakten": ["Das Bad öffnet an Werktagen um halb sieben."]}'
    assert (
        answered(
            (f"Zerlege: {ANSWER}", f'{{"statements": ["{statement}"]}}'),
            (f"Was steht im Text? {PAGE}", facts),
            (
                f"Prüfe {statement} gegen Das Bad öffnet an Werktagen um halb sieben.",
                '{"statements": [{"statement": "Der Pool öffnet um halb sieben.", "verdict": 1}]}',
            ),
            ("Begründe die Note 1.0.", '{"reason": "Alles steht im Text."}'),
        )
        == ANSWER
    )


@pytest.mark.parametrize(
    "reply",
    ['{"answer": "At half past six.", "confidence": 0.9}', "Six", "06:30 on weekdays"],
)
def test_an_answer_that_is_put_in_form_answers(reply):
    """Fields for a program, or the short form of what was said."""
    prompt = f"Text: {PAGE}\nGive the short form of: {ANSWER}"
    assert answered((prompt, reply)) == reply
