"""How verdicts on spans are compared with what was planted."""

import io
from dataclasses import replace

import pytest
from rich.console import Console
from samples import GENERATOR, RETRIEVER, TOP, TRACE_ID, decoded_span, make_report, span_message
from samples import wire_span as wire

from otel_raglog.commands.demo_scores import Hit, print_outcomes, print_scores, read_outcomes
from otel_raglog.model import FaultType, Stage
from otel_raglog.report.annotations import AnnotationOptions, annotate

PARENTS = {TOP: b"", RETRIEVER: TOP, GENERATOR: TOP}


def with_bytes(span, addition):
    """Return a span with a verdict appended."""
    return replace(span, raw=span.raw + addition)


def annotated(faulty):
    """Return the spans of a run as they reach the backend."""
    spans = {span_id: decoded_span(span_id) for span_id in PARENTS}
    added = annotate([make_report(faulty)], spans, AnnotationOptions())
    return [
        with_bytes(wire(span_message(span_id, parent)), added[span_id])
        for span_id, parent in PARENTS.items()
    ]


def truth(**labels):
    """Return planted faults: by stage, the types, none for a clean stage."""
    run = {
        "trace_id": TRACE_ID.hex(),
        "question": "When does the night ferry leave?",
        "pipeline": "p",
        "labels": {
            stage: {"faulty": bool(types), "types": types} for stage, types in labels.items()
        },
    }
    return {"seed": 1, "runs": [run]}


@pytest.mark.parametrize(
    ("flagged", "planted", "expected"),
    [
        ({Stage.RETRIEVER: FaultType.EMPTY_RESULT}, ["empty_result"], Hit.HIT),
        ({}, ["empty_result"], Hit.MISS),
        ({Stage.RETRIEVER: FaultType.EMPTY_RESULT}, [], Hit.FALSE_ALARM),
        ({}, [], Hit.QUIET),
    ],
)
def test_verdict_against_truth(flagged, planted, expected):
    """Each combination has its word."""
    (outcome,) = read_outcomes(annotated(flagged), truth(retriever=planted))
    assert outcome.stages[Stage.RETRIEVER].hit is expected


def test_a_planted_stage_without_a_verdict_is_unjudged_and_not_a_hit():
    """An unknown or absent verdict is shown as what it is."""
    (outcome,) = read_outcomes(annotated({}), truth(rewriter=["adds_constraint"]))
    assert outcome.stages[Stage.REWRITER].hit is Hit.UNJUDGED


def test_a_stage_without_a_label_is_not_counted():
    """Where nothing is known nothing is claimed."""
    (outcome,) = read_outcomes(annotated({}), truth(retriever=[]))
    assert outcome.stages[Stage.GENERATOR].hit is None


def test_spans_without_a_verdict_make_no_outcome():
    """Then the demo says that a trace came back unjudged, and fails."""
    assert read_outcomes([wire()], truth(retriever=[])) == []


def test_two_runs_of_one_trace_are_told_apart():
    """By their questions and their subtrees."""
    second_top, second_retriever = b"\x11" * 8, b"\x12" * 8
    parents = {TOP: b"\x10" * 8, RETRIEVER: TOP, second_top: b"\x10" * 8}
    parents[second_retriever] = second_top
    first = annotate(
        [make_report({Stage.RETRIEVER: FaultType.EMPTY_RESULT})],
        {span_id: decoded_span(span_id) for span_id in (TOP, RETRIEVER)},
        AnnotationOptions(),
    )
    second = annotate(
        [make_report()],
        {span_id: decoded_span(span_id) for span_id in (TOP, RETRIEVER)},
        AnnotationOptions(),
    )
    added = {
        TOP: first[TOP],
        RETRIEVER: first[RETRIEVER],
        second_top: second[TOP],
        second_retriever: second[RETRIEVER],
    }
    questions = {TOP: "First?", second_top: "Second?"}
    spans = [
        with_bytes(
            wire(
                span_message(
                    span_id, parents[span_id], attributes={"input.value": questions.get(span_id)}
                )
            ),
            added[span_id],
        )
        for span_id in parents
    ]
    planted = truth(retriever=["empty_result"])
    planted["runs"].append(planted["runs"][0] | {"question": "Second?", "labels": {}})
    planted["runs"][0]["question"] = "First?"
    by_question = {outcome.question: outcome for outcome in read_outcomes(spans, planted)}
    assert by_question["First?"].stages[Stage.RETRIEVER].hit is Hit.HIT
    assert by_question["Second?"].stages[Stage.RETRIEVER].hit is None


def test_what_is_printed_counts_honestly():
    """Misses and false alarms are named in the table and counted below it."""
    stream = io.StringIO()
    console = Console(file=stream, width=200)
    planted = truth(retriever=[], generator=["incomplete"])
    outcomes = read_outcomes(annotated({Stage.RETRIEVER: FaultType.EMPTY_RESULT}), planted)
    print_outcomes(outcomes, console, explanations=True)
    print_scores(outcomes, console)
    text = stream.getvalue()
    assert "false alarm: retriever" in text
    assert "miss: generator" in text
    assert "retriever: faulty  [false alarm]: retriever is wrong" in text
    assert "1 of 1 faulty runs were flagged, 0 of 0 clean runs" in text
