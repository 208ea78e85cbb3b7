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
        (f"Passages:\n[baths.md] {PAGE}\nAnswer: {ANSWER}\nWhich file is it from?", "baths.md"),
        (
            f"{PAGE}\nTowels cost two crowns.\n\nAnswer: {ANSWER}\nQuote more.",
            "Towels cost two crowns.",
        ),
    ],
    ids=[
        "title",
        "moderation",
        "questions",
        "translation",
        "judge",
        "judge in JSON",
        "sources",
        "quote",
    ],
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


NOTE = "The text says half past six on weekdays, and tomorrow is a Monday, so that is when."
ASK = "When does the pool open tomorrow?"


def answered_by(*calls, shown=True):
    """Return the answer of a run whose calls are all asked ``ASK``, with the page in the prompt."""
    found = [
        llm("chat", [("system", f"{told}\nContext:\n{PAGE}"), ("user", ASK)], reply)
        for told, reply in calls
    ]
    search = [retriever("search", ASK, ("p1", PAGE))] if shown else []
    (run,) = map_trace(trace_of(span("app", *search, *found)))
    return run.answer.value


@pytest.mark.parametrize("shown", [True, False], ids=["search", "no span of a search"])
@pytest.mark.parametrize("reply", ["Open", "30", "yes", "ja", "Halb"])
def test_a_short_answer_after_reasoning_answers(reply, shown):
    """The call was asked the question, was given the context, and had no answer to judge."""
    told = f"Give the final answer.\nReasoning:\n{NOTE}"
    assert answered_by(("Think step by step.", NOTE), (told, reply), shown=shown) == reply


@pytest.mark.parametrize("shown", [True, False], ids=["search", "no span of a search"])
def test_a_question_and_a_page_about_checks_tell_nobody_to_check(shown):
    """Only instructions do."""
    ask = "When can I verify my ticket?"
    page = "Tickets are checked at the gate from six; the office will assess lost ones."
    note = "The page says that the gate opens at six, so it can be done from that hour on."
    turns = [("system", f"Think.\nContext:\n{page}"), ("user", ask)]
    search = [retriever("search", ask, ("p1", page))] if shown else []
    last = [("system", f"Say it in a word.\nContext:\n{page}\nReasoning:\n{note}"), ("user", ask)]
    (run,) = map_trace(
        trace_of(span("app", *search, llm("chat", turns, note), llm("chat", last, "Early")))
    )
    assert run.answer.value == "Early"


@pytest.mark.parametrize("reply", ["Late", "30", "yes", "ja", "Belegt."])
@pytest.mark.parametrize("told", [f"Answer: {ANSWER}", f"Check for hallucinations: {ANSWER}"])
def test_a_verdict_on_an_answer_with_question_and_context_does_not_answer(told, reply):
    """What stands there as an answer is to be judged, and so is what is to be checked."""
    assert answered_by(("Answer.", ANSWER), (told, reply)) == ANSWER


@pytest.mark.parametrize("shown", [True, False], ids=["search", "no span of a search"])
@pytest.mark.parametrize(
    "reply",
    [
        '{"explanation": "At half past six, since it is a Monday.", "confidence": 0.9}',
        '{"label": "weekday", "reason": "It is a Monday."}',
        '{"analysis": "It is a Monday.", "statement": "Half past six."}',
    ],
)
def test_an_answer_in_fields_that_judges_use_answers(reply, shown):
    """An explanation and a confidence are what a program asks for, too."""
    calls = ("List what matters.", "The first passage matters."), ("Answer as JSON.", reply)
    assert answered_by(*calls, shown=shown) == reply


def test_scores_after_the_answer_do_not_answer():
    """Whoever rates the context is given no answer, but says a score."""
    rated = '{"relevance": 2, "reason": "It is all there."}'
    assert answered_by(("Answer.", ANSWER), ("How well does the text fit?", rated)) == ANSWER


def test_an_answer_of_parts_in_such_fields_answers():
    """A call that was told several parts was given what it takes."""
    parts = ("It opens at half past six on weekdays.", "Tomorrow is a Monday of the term.")
    reply = '{"explanation": "Half past six: it is a Monday.", "confidence": 1}'
    told = [("system", "\n".join(parts)), ("user", ASK)]
    (run,) = map_trace(
        trace_of(
            span(
                "app",
                retriever("search", ASK, ("p1", PAGE)),
                *(llm("part", [("system", PAGE), ("user", ASK)], part) for part in parts),
                llm("all", told, reply),
            )
        )
    )
    assert run.answer.value == reply


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
    ("reply", "told"),
    [
        ('{"answer": "At half past six.", "confidence": 0.9}', "At half past six."),
        ("Six", "Six"),
        ("06:30 on weekdays", "06:30 on weekdays"),
    ],
)
def test_an_answer_that_is_put_in_form_answers(reply, told):
    """Fields for a program, or the short form of what was said."""
    prompt = f"Text: {PAGE}\nGive the short form of: {ANSWER}"
    assert answered((prompt, reply)) == told
