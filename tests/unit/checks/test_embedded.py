"""Of which texts an embedded text should be one."""

from dataclasses import replace

from handbook_runs import make_run

from otel_raglog.checks.embedded import embedded_for
from otel_raglog.model import (
    FieldStatus,
    Provenance,
    Run,
    Stage,
    StageState,
    UnknownReason,
    missing,
)

QUESTION = "How long is parental leave?"
QUERY = "parental leave duration"


def hidden_rewrites(run: Run) -> Run:
    """Return a run in which what the rewriter wrote is hidden."""
    steps = tuple(replace(s, rewrites=missing(FieldStatus.REDACTED)) for s in run.rewriters)
    state = StageState(len(steps), reason=UnknownReason.REDACTED)
    return replace(run, rewriters=steps, stages={**run.stages, Stage.REWRITER: state})


def searching(run: Run, *, source: Provenance | None = None) -> Run:
    """Return a run whose retrievers were asked for another text than the question."""
    steps = tuple(
        replace(s, query=replace(s.query, value=QUERY, status=FieldStatus.PRESENT, source=source))
        for s in run.retrievers
    )
    return replace(run, retrievers=steps)


def test_rewrites_and_question() -> None:
    """With readable rewrites, or none, a retriever's query is no reference: it may be altered."""
    run = searching(make_run(QUESTION, rewrites=["leave of parents"], embedded=[QUERY]))
    assert embedded_for(run).texts == ("leave of parents", QUESTION)
    assert not embedded_for(run).hidden


def test_queries_stand_in_for_hidden_rewrites() -> None:
    """What a retriever was asked for is what its embedder should embed."""
    run = searching(hidden_rewrites(make_run(QUESTION, rewrites=["x"], embedded=[QUERY])))
    assert embedded_for(run).texts == (QUESTION, QUERY)
    assert not embedded_for(run).hidden


def test_a_query_read_from_the_embedding_is_no_reference() -> None:
    """It would always agree: nothing but the question is left, and others may be hidden."""
    source = Provenance(b"embedder", "embedding.embeddings", "openinference")
    run = hidden_rewrites(make_run(QUESTION, rewrites=["x"], embedded=[QUERY]))
    embedders = tuple(replace(s, texts=replace(s.texts, source=source)) for s in run.embedders)
    run = searching(replace(run, embedders=embedders), source=source)
    assert embedded_for(run).texts == (QUESTION,)
    assert embedded_for(run).hidden
