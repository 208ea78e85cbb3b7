"""Which stages can be judged, and why the others cannot."""

from dataclasses import replace

import pytest
from handbook_runs import make_run

from otel_raglog.detect.judgeable import (
    asks_nothing,
    finds_rows,
    step_unknown,
    verdict_without_judging,
)
from otel_raglog.model import (
    NOT_CAPTURED,
    Chunk,
    FieldStatus,
    Run,
    Stage,
    StageState,
    StageVerdict,
    StepOrigin,
    UnknownReason,
    missing,
    present,
)


def reason(run: Run, stage: Stage) -> UnknownReason | None:
    verdict = verdict_without_judging(run, stage)
    assert verdict is not None
    assert verdict.verdict is StageVerdict.UNKNOWN
    assert verdict.explanation
    return verdict.reason


def test_a_complete_run_can_be_judged() -> None:
    """In every stage that it has; the others are absent."""
    run = make_run()
    assert verdict_without_judging(run, Stage.RETRIEVER) is None
    absent = verdict_without_judging(run, Stage.RERANKER)
    assert absent is not None
    assert absent.verdict is StageVerdict.ABSENT


def test_the_mappings_reason_is_kept_with_its_words() -> None:
    """The mapping knows best why a stage left no trace."""
    state = StageState(0, reason=UnknownReason.NOT_CAPTURED, why="a vector store without embedder")
    run = replace(make_run(), stages={**make_run().stages, Stage.EMBEDDER: state})
    verdict = verdict_without_judging(run, Stage.EMBEDDER)
    assert verdict is not None
    assert (verdict.reason, verdict.explanation) == (state.reason, state.why)


def test_a_skipped_run_is_skipped_in_every_stage_that_is_not_absent() -> None:
    """Nothing is judged by halves."""
    run = replace(make_run(), skip_reason="no_question")
    assert reason(run, Stage.GENERATOR) is UnknownReason.SKIPPED


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (FieldStatus.REDACTED, UnknownReason.REDACTED),
        (FieldStatus.EVICTED, UnknownReason.INCOMPLETE),
        (FieldStatus.NOT_CAPTURED, UnknownReason.NOT_CAPTURED),
    ],
)
def test_a_missing_field_is_the_reason(status: FieldStatus, expected: UnknownReason) -> None:
    """Of the question for all stages, of the answer for the generator."""
    run = make_run()
    assert reason(replace(run, question=missing(status)), Stage.RETRIEVER) is expected
    step = replace(run.generators[0], answer=missing(status))
    assert reason(replace(run, generators=(step,)), Stage.GENERATOR) is expected


def test_redacted_chunk_texts_make_the_retriever_unknown() -> None:
    """Ids alone cannot be judged."""
    run = make_run()
    hidden = present((Chunk("", id="a", text_status=FieldStatus.REDACTED),))
    step = replace(run.retrievers[0], chunks=hidden)
    assert reason(replace(run, retrievers=(step,)), Stage.RETRIEVER) is UnknownReason.REDACTED


def test_steps_that_failed_are_an_error() -> None:
    """What an error returned is not judged."""
    run = make_run()
    failed = replace(run.retrievers[0], origin=StepOrigin(error="timeout"))
    assert step_unknown(failed) is UnknownReason.ERROR
    assert reason(replace(run, retrievers=(failed,)), Stage.RETRIEVER) is UnknownReason.ERROR


def test_a_stage_without_state_or_steps_was_not_captured() -> None:
    """A run built without states is judged by its steps."""
    run = replace(make_run(), stages={}, generators=(), answer=NOT_CAPTURED)
    assert reason(run, Stage.GENERATOR) is UnknownReason.NOT_CAPTURED
    assert verdict_without_judging(run, Stage.RETRIEVER) is None


def test_statements_are_no_rewrites_in_words() -> None:
    """A rewriter that wrote SQL is unknown; one that wrote words as well is judged."""
    sql = "SELECT price FROM parking WHERE port='Sandmouth'"
    run = make_run(rewrites=["vacation days"])
    step = replace(run.rewriters[0], rewrites=present((sql,)))
    assert step_unknown(step) is UnknownReason.ABSTAINED
    assert reason(replace(run, rewriters=(step,)), Stage.REWRITER) is UnknownReason.ABSTAINED
    both = replace(step, rewrites=present((sql, "parking Sandmouth")))
    assert step_unknown(both) is None
    assert verdict_without_judging(replace(run, rewriters=(both,)), Stage.REWRITER) is None


def test_rows_are_values_that_a_statement_found() -> None:
    """Passages that it found can be read, and so can what words found."""
    run = make_run()
    sql = "SELECT price FROM parking WHERE port='Sandmouth'"
    passage = "Dogs are allowed on the aft deck, on a lead."
    for query, text, rows in (
        (sql, "[(6,)]", True),
        (sql, passage, False),
        ("parking Sandmouth", "[(6,)]", False),
    ):
        step = replace(run.retrievers[0], query=present(query), chunks=present((Chunk(text),)))
        assert finds_rows(replace(run, retrievers=(step,))) is rows
    assert not finds_rows(run)


@pytest.mark.parametrize(
    ("question", "nothing"),
    [
        ("Thanks!", True),
        ("Great, thank you very much, that helps a lot.", True),
        ("Good morning, hello!", True),
        ("Thanks, and bicycles?", False),
        ("Thanks, what about dogs", False),
        ("Hello?", False),
        ("and on Sunday", False),
        ("all", False),
        ("", False),
    ],
)
def test_thanks_and_greetings_ask_nothing(question: str, *, nothing: bool) -> None:
    """A search that always runs finds nothing for them."""
    assert asks_nothing(make_run(question)) is nothing
