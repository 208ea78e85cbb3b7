"""A run to the texts of which an embedded text should be one."""

from __future__ import annotations

from dataclasses import dataclass

from otel_raglog.checks.reading import faithful_rewrites, question_of, text_of
from otel_raglog.model import Run, Stage, UnknownReason

_LOST = {UnknownReason.REDACTED, UnknownReason.INCOMPLETE, UnknownReason.ERROR}


@dataclass(frozen=True, slots=True)
class References:
    """What should be embedded: rewrites, the question, the queries that retrievers were given.

    ``hidden`` tells that there may be others, which a rewriter wrote but which cannot be read.
    """

    texts: tuple[str, ...]
    hidden: bool = False


def embedded_for(run: Run) -> References:
    """Return what the run's embedder should have embedded.

    Where all rewrites can be read, those are the rewrites and the question. Where some cannot,
    a retriever's own query stands in for them: its embedder is to embed that.
    """
    question = question_of(run)
    texts = (*faithful_rewrites(run), *((question,) if question else ()))
    state = run.stages.get(Stage.REWRITER)
    reason = state.reason if state is not None else None
    unread = any(not step.rewrites.usable for step in run.rewriters)
    if reason is None and not unread:
        return References(texts)
    embedded = {step.texts.source for step in run.embedders} - {None}
    queries = tuple(
        query
        for step in run.retrievers
        # A query that was read from the embedding itself cannot speak for it.
        if (query := text_of(step.query)) and step.query.source not in embedded
    )
    hidden = not queries and (unread or reason in _LOST)
    return References(tuple(dict.fromkeys((*texts, *queries))), hidden)
