"""The recorded calls of real applications become the runs that the applications knew they made.

Nothing marks where a question begins or ends: neither a front proxy nor trace headers.
"""

from __future__ import annotations

import json

import pytest
from call_sequences import read_sequence, sequence_names
from typer.testing import CliRunner

from otel_raglog.building import build_conventions
from otel_raglog.commands import app
from otel_raglog.commands.reading import read_files
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Completion, Trace
from otel_raglog.options import Conventions
from otel_raglog.receive.span import decode_span

ROLES = {"rewriter", "generator"}


@pytest.fixture(params=sequence_names())
def sequence(request):
    """The calls of one application, and what they were for."""
    return read_sequence(request.param)


def test_runs_are_those_of_the_application(sequence):
    """Each has all calls of its question and no other's; parallel questions are kept apart."""
    (captured,) = read_files([sequence.path]).captured
    runs = {frozenset(read.call.id for read in run.calls) for run in captured.runs}
    for run in sequence.runs:
        calls = set(sequence.calls_of(run.number))
        extra = {
            call for call, number in sequence.runs_of_calls.items()
            if number == run.number and sequence.stages[call] == "irrelevant"
        }  # fmt: skip
        assert any(calls <= found <= calls | extra for found in runs), f"run {run.number}"


def test_questions_and_answers_are_those_of_the_application(sequence):
    """Read off prompts and answers alone; what no model said is not known."""
    reading = read_files([sequence.path])
    conventions = build_conventions(Conventions())
    found = set()
    for batch in reading.batches:
        spans = tuple(decode_span(wire) for wire in batch.spans)
        for run in map_trace(Trace(spans[0].trace_id, spans, Completion.FILE_END), conventions):
            found.add((run.question.value, (run.answer.value or "").strip()))
    questions = {question for question, _ in found}
    assert {run.question for run in sequence.runs} <= questions
    known = {(run.question, run.answer.strip()) for run in sequence.runs if run.answered_by}
    assert known <= found


def test_rewriters_and_generators_are_told_apart(sequence):
    """The same endpoint rewrites and answers: place and content tell."""
    done = CliRunner().invoke(app, ["bridge", "classify", str(sequence.path), "--format", "jsonl"])
    told = {line["id"]: line["stage"] for line in map(json.loads, done.stdout.splitlines())}
    wanted = {call: stage for call, stage in sequence.stages.items() if stage in ROLES}
    assert {call: told[call] for call in wanted} == wanted


def test_stages_of_other_calls_are_right(sequence):
    """A model that guards or routes is still a model; one that ranks is a reranker."""
    (captured,) = read_files([sequence.path]).captured
    for read in captured.reads:
        truth = sequence.stages[read.call.id]
        if truth not in ROLES and read.decision.stage != "llm":
            assert read.decision.stage == truth, read.call.id
            assert read.decision.by == "rule"
