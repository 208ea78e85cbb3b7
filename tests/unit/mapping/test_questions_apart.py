"""Independent questions in one flat trace."""

from dataclasses import replace

from span_trees import llm, oi, retriever, span, trace_of

from otel_raglog.mapping.mapping import map_trace

ASKED = {
    "When does the pool open?": ("The pool opens at half past six.", "At half past six."),
    "What does a towel cost?": ("Towels cost two crowns a day.", "Two crowns a day."),
}


def embedded(*texts):
    many = {f"embedding.embeddings.{i}.embedding.text": text for i, text in enumerate(texts)}
    return oi("EMBEDDING", "embed", attributes=many)


def batch(*before, texts=tuple(ASKED)):
    """Return the runs of a request that embeds ``texts`` at once, searches and answers."""
    parts = []
    for question, (page, answer) in ASKED.items():
        parts.append(retriever("search", question, page))
        parts.append(llm("chat", f"Context:\n{page}\n\nQuestion: {question}", answer))
    trace = trace_of(span("POST /ask", *before, embedded(*texts), *parts))
    runs = map_trace(trace)
    assert map_trace(replace(trace, spans=trace.spans[::-1])) == runs
    return runs


def test_questions_that_are_embedded_at_once():
    """Each is a run; the call that embedded all of them is no one's."""
    runs = batch()
    assert [(run.question.value, run.answer.value) for run in runs] == [
        (question, answer) for question, (_, answer) in ASKED.items()
    ]
    assert all(len(run.retrievers) == 1 and not run.embedders for run in runs)


def test_wordings_of_one_question_that_are_embedded_at_once():
    """They are embedded for the question that searched for one of them."""
    first, _ = ASKED
    one, other = batch(texts=(first, "opening hours of the pool"))
    assert [step.texts.value for step in one.embedders] == [(first,)]
    assert not other.embedders


def test_rewrites_that_are_embedded_at_once():
    """What a call wrote that took one question apart stays one run."""
    wrote = "\n".join(ASKED)
    (run,) = batch(llm("plan", "Split: when is the pool open, and what is a towel?", wrote))
    assert len(run.retrievers) == len(ASKED)
