"""A last call that says the answer in other words: the generator is the one that saw the context."""

import itertools
from dataclasses import replace

import pytest
from span_trees import llm, oi, retriever, trace_of

from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Stage

Q = "When does the pool open?"
PAGE = "The pool opens at half past six on weekdays, says the office of the harbour baths."
ANSWER = "It opens at half past six on weekdays."
PROMPT = f"Context:\n{PAGE}\n\nQuestion: {Q}"
GERMAN = "An Werktagen öffnet es um halb sieben."
WARM = "Good news! On weekdays it opens at half past six."


def run_of(*calls, said=None, root=True, answer=ANSWER, prompt=PROMPT):
    """Return the run of a search, an answering call and ``calls`` of a prompt and a reply each."""
    parts = [
        retriever("search", Q, ("p1", PAGE)),
        llm("answer", prompt, answer, attributes={"llm.token_count.prompt": 9}),
        *(llm(f"later {number}", *call) for number, call in enumerate(calls)),
    ]
    if root:
        parts = [oi("CHAIN", "app", *parts, given=Q, said=said)]
    trace = trace_of(*parts)
    (run,) = map_trace(trace)
    for order in _orders(trace.spans):
        assert map_trace(replace(trace, spans=order)) == (run,)
    return run


def _orders(spans):
    return list(itertools.islice(itertools.permutations(spans), 0, None, 7))[:40]


def names(run):
    step = run.generators[-1]
    return step.origin.name, step.messages.value[0].content, step.draft.value


WORDINGS = {
    "tone": (f"Rewrite this answer in a friendlier tone: {ANSWER}", WARM),
    "format": (f"Format it as Markdown.\n\n{ANSWER}", f"**{ANSWER}**"),
    "with the question": (f"The user asked: {Q}\nPolish the draft: {ANSWER}", WARM),
    "translation": ([("system", "Translate into German."), ("user", ANSWER)], GERMAN),
    "asked in German": ([("system", "Übersetze ins Deutsche."), ("user", ANSWER)], GERMAN),
}
KNOWN = [
    (name, known)
    for name, (_, reply) in WORDINGS.items()
    for known in ("output", "no output", "no root")
    if known == "output" or reply != GERMAN
]


@pytest.mark.parametrize(("name", "known"), KNOWN)
def test_the_user_gets_other_words(name, known):
    """Context and question are those of the call that answers; the answer is what the user gets."""
    prompt, reply = WORDINGS[name]
    said = reply if known == "output" else None
    run = run_of((prompt, reply), said=said, root=known != "no root")
    assert run.question.value == Q
    assert run.answer.value == reply
    assert names(run) == ("answer", PROMPT, ANSWER)
    assert run.generators[0].answer.value == reply
    assert run.generators[0].tokens.prompt == 9
    assert len(run.generators[0].origin.span_ids) == 2
    assert run.stages[Stage.ASSEMBLY].steps == 1
    assert PAGE in run.assemblies[0].context.value
    assert ANSWER not in run.assemblies[0].prompt.value


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("asked", ["Wann öffnet das Bad?", Q])
def test_a_translation_without_a_recorded_output(root, asked):
    """It is what the user gets where the question was translated too; else it is for others."""
    parts = [
        retriever("search", Q, ("p1", PAGE)),
        llm("answer", PROMPT, ANSWER),
        llm("back", f"Translate into German: {ANSWER}", GERMAN),
    ]
    if asked != Q:
        parts.insert(0, llm("there", f"Translate into English: {asked}", Q))
    (run,) = map_trace(trace_of(*([oi("CHAIN", "app", *parts, given=asked)] if root else parts)))
    assert run.answer.value == (ANSWER if asked == Q else GERMAN)
    assert names(run) == ("answer", PROMPT, None if asked == Q else ANSWER)


def test_several_times():
    """A polished answer that is then translated is still that of the first call."""
    run = run_of(
        (f"Make it friendlier: {ANSWER}", WARM), (f"Translate: {WARM}", GERMAN), said=GERMAN
    )
    assert run.answer.value == GERMAN
    assert names(run) == ("answer", PROMPT, ANSWER)


def test_the_answer_in_json_is_the_draft():
    """A call may be told the answer out of what another one wrote."""
    run = run_of((f"Polish: {ANSWER}", WARM), said=WARM, answer=f'{{"answer": "{ANSWER}"}}')
    assert names(run)[0] == "answer"


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        (f"Draft: {ANSWER}\nMore context:\n{PAGE}\nRewrite it.", "At half past six, on weekdays."),
        (f"Draft: {ANSWER}\n\nContext:\nThe sauna opens at nine.\nRewrite it.", WARM),
        (f"Question: {Q}\nPartial answers:\n{ANSWER}\nAnswer the question.", "At half past six."),
    ],
    ids=["shown the chunks", "shown other context", "answers the question"],
)
def test_a_call_that_answers_anew(prompt, reply):
    """One that is shown context, or the question to answer, is the generator itself."""
    run = run_of((prompt, reply), said=reply)
    assert names(run)[0] == "later 0"
    assert names(run)[2] is None


def test_no_answer_to_reword():
    """A call is no rewording of what was written without the context, or of a verdict."""
    assert (
        names(run_of((f"Polish: {ANSWER}", WARM), said=WARM, prompt="Say hello."))[0] == "later 0"
    )
    run = run_of(("Translate: not relevant", "nicht relevant"), said="x", answer="not relevant")
    assert names(run)[2] is None


def test_side_products_stay_outside():
    """What is made of an answer beside it (a title, a summary for later) is not the answer."""
    run = run_of(
        (f"Summarize the talk for memory.\nUser: {Q}\nAssistant: {ANSWER}", f"Told: {ANSWER} So."),
        (f"Give this talk a title in a friendly tone.\n{ANSWER}", "Pool hours"),
    )
    assert names(run) == ("answer", PROMPT, None)


def test_more_than_other_words():
    """A last call that was not told to reword and brings in more than it keeps answers itself."""
    mail = (
        "Dear guest, thank you for writing to Riverside Leisure. Our premium members swim from five "
        "o'clock, and the sauna in Harbour Street is open all night. Kind regards, Meadow Holdings."
    )
    run = run_of((f"Write a complete e-mail from these notes: {ANSWER}", mail), said=mail)
    assert run.generators[-1].answer.value == mail
    assert not run.generators[-1].draft.usable


def test_many_wordings_one_after_another():
    """Each of them is told the one before; what the first was told is the draft."""
    calls = [(f"Polish the draft: {ANSWER}", f"{ANSWER} (1)")]
    calls += [(f"Polish the draft: {ANSWER} ({n})", f"{ANSWER} ({n + 1})") for n in range(1, 4)]
    run = run_of(*calls, said=f"{ANSWER} (4)")
    assert names(run) == ("answer", PROMPT, ANSWER)
    assert len(run.generators[-1].origin.span_ids) == 5
