"""What `explain` prints of a run: what was read where, its steps and why, its verdicts."""

import io
from dataclasses import replace

from rich.console import Console
from samples import make_report, make_run

from otel_raglog.commands.run_tree import run_tree
from otel_raglog.model import (
    FaultType,
    FieldStatus,
    Loss,
    Measurement,
    MeasurementStatus,
    Provenance,
    Stage,
    missing,
    present,
)


def printed(report, *, measurements=False):
    """Return what is printed of ``report``."""
    stream = io.StringIO()
    Console(file=stream, width=2_000, highlight=False).print(
        run_tree(report, measurements=measurements)
    )
    return stream.getvalue()


def test_a_run_names_its_question_answer_and_verdict():
    """With the place where each was read."""
    place = Provenance(b"\x01" * 8, "input.value", "openinference")
    text = printed(make_report(run=make_run(question=present("How long?", place))))
    assert "question: How long?  [input.value of 0101010101010101]" in text
    assert "verdict ok" in text


def test_a_missing_answer_says_why():
    """Hidden is not the same as never said."""
    text = printed(make_report(run=make_run(answer=missing(FieldStatus.REDACTED))))
    assert "answer: redacted" in text


def test_a_faulty_stage_has_its_fault_and_its_sentence():
    """And its steps, with the spans and the reason."""
    text = printed(make_report({Stage.RETRIEVER: FaultType.NO_RELEVANT_CHUNK}))
    assert "retriever: faulty (probability 0.90, threshold 0.50) no_relevant_chunk" in text
    assert "retriever is wrong" in text


def test_a_session_with_its_turn_is_told():
    """Unknown where nothing tells it."""
    assert "session s, turn 2" in printed(make_report(run=make_run(session_id="s", turn=2)))
    assert "session s, turn unknown" in printed(make_report(run=make_run(session_id="s")))


def test_losses_of_the_run_are_summed_up():
    """Span by span they are in the tree of spans."""
    loss = Loss(dropped_attributes=3, gaps=("retrieval.documents",), redacted=("output.value",))
    text = printed(make_report(run=make_run(loss=loss)))
    assert (
        "3 attributes dropped by the SDK; gaps in retrieval.documents; redacted output.value"
        in text
    )


def test_why_nothing_was_judged_is_told():
    """In a word, and in a sentence."""
    run = make_run(notes=("No question.",))
    text = printed(make_report(run=run, skip_reason="no_question"))
    assert "not judged: no_question" in text
    assert "No question." in text


def test_measurements_are_printed_on_request():
    """A number, or the reason why there is none."""
    found = (
        Measurement("retriever.best", Stage.RETRIEVER, 0.61),
        Measurement(
            "retriever.rank", Stage.RETRIEVER, None, MeasurementStatus.NOT_APPLICABLE, reason="one"
        ),
    )
    report = make_report(run=make_run(), measurements=found)
    assert "retriever.best = 0.61" in printed(report, measurements=True)
    assert "retriever.rank: not_applicable (one)" in printed(report, measurements=True)
    assert "retriever.best" not in printed(report)


def test_control_characters_are_made_printable():
    """A trace must not steer somebody's terminal."""
    text = printed(make_report(run=make_run(question=present("a\x1b[2Jb"), service="s\x07")))
    assert "\x1b" not in text
    assert "\x07" not in text


def test_a_draft_is_told():
    """Beside the answer that the user got."""
    run = make_run()
    step = replace(run.generators[0], draft=present("At 22:15."))
    assert 'draft: "At 22:15."' in printed(make_report(run=replace(run, generators=(step,))))
