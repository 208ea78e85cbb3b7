"""Small runs as an LLM is shown them."""

from __future__ import annotations

from collections.abc import Sequence

from otel_raglog.checks.judge.view import JudgeView, view_of
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Run

NONCE = "0123456789abcdef" * 2
QUESTION = "When did the Arlen bridge open?"
CHUNK = "The Arlen bridge opened in 1911 after two years of work."
ANSWER = "It opened in 1911."


def run_with(
    question: str | None = QUESTION,
    answer: str | None = ANSWER,
    passed: Sequence[str] = (CHUNK,),
    excluded: Sequence[str] = (),
    **record: object,
) -> Run:
    """Return a run; one with excluded chunks has a reranker. ``record`` are further keys of it."""
    chunks = [{"id": f"d{n}", "text": text} for n, text in enumerate((*passed, *excluded))]
    reranked = [{"id": chunk["id"]} for chunk in chunks]
    own: dict[str, object] = {
        "id": "r1",
        "question": question,
        "retrieved": chunks,
        "answer": answer,
        "prompt": "\n".join(passed),
    }
    if excluded:
        own |= {"reranked": reranked, "passed": [c["id"] for c in chunks[: len(passed)]]}
    return run_from_record(own | record)


def view_with(
    question: str | None = QUESTION,
    answer: str | None = ANSWER,
    passed: Sequence[str] = (CHUNK,),
    excluded: Sequence[str] = (),
    **record: object,
) -> JudgeView:
    """Return how the run of :func:`run_with` is shown."""
    return view_of(run_with(question, answer, passed, excluded, **record))
