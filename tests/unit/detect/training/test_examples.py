"""Labelled records to examples."""

import numpy as np
from trained_detectors import make_examples

from otel_raglog.analysis import Analyser
from otel_raglog.checks.registry import build_checks
from otel_raglog.clock import ManualClock
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.training.examples import StageTable, examples_of, names_in, tables_of
from otel_raglog.detect.training.labels import read_labels
from otel_raglog.mapping.record import run_from_record
from otel_raglog.model import Stage

RECORD = {
    "id": "r1",
    "pipeline": "p",
    "group": "q1",
    "question": "How many vacation days do employees get?",
    "retrieved": [{"id": "a", "text": "Employees get 25 vacation days per year."}],
    "prompt": "Employees get 25 vacation days per year.\n\nHow many vacation days do employees get?",
    "answer": "They get 25 days.",
    "labels": {"retriever": {"faulty": False}, "reranker": {"faulty": True}},
}


def examples(*records, encoder=None, **more):
    measure = Analyser(build_checks(encoder), Rules1(), ManualClock()).measure
    runs = [(run_from_record(record), read_labels(record)) for record in records]
    return examples_of(runs, measure, **more)


def test_an_example_has_the_labels_of_stages_that_can_be_judged() -> None:
    """A label of a stage that the run has not teaches nothing."""
    told = []
    (example,) = examples(
        RECORD,
        {**RECORD, "labels": {}},
        progress=lambda *each: told.append(each),
    )
    assert (example.run_id, example.group, example.pipeline) == ("r1", "q1", "p")
    assert example.faulty == {Stage.RETRIEVER: False}
    assert example.features.shared["retriever.chunks"] == 1
    assert told[-1] == ("Measuring", 2, 2)


def test_stages_whose_words_cannot_be_compared_teach_nothing() -> None:
    """An answer in another language or in code says nothing of the generator; the search counts."""
    labels = {"retriever": {"faulty": False}, "generator": {"faulty": True}}
    for answer in ("Sie bekommen 25 Tage im Jahr.", "```sh\nhandbook --vacation\n```"):
        record = {**RECORD, "answer": answer, "labels": labels}
        (example,) = examples(record)
        assert example.faulty == {Stage.RETRIEVER: False}


def test_labels_change_no_feature() -> None:
    """Nor does what was injected, or the reference."""
    other = {
        **RECORD,
        "labels": {"retriever": {"faulty": True}},
        "injected": {"stage": "retriever", "type": "x"},
        "reference": {"answers": ["25"]},
    }
    first, second = examples(RECORD, other)
    assert first.features == second.features


def test_a_fault_that_cannot_be_judged_is_one_all_the_same() -> None:
    """Such a run is not sound: the run-level rate counts sound ones."""
    example, other = examples(RECORD, {**RECORD, "labels": {"retriever": {"faulty": False}}})
    assert not example.sound
    assert other.sound


def test_runs_are_measured_as_they_are_judged() -> None:
    """Of a run with hundreds of chunks nothing is encoded, here as there."""

    class Refuses:
        def encode(self, texts):
            raise AssertionError(texts)

    chunks = [{"id": f"d{n}", "text": f"Ferry {n} leaves at 9."} for n in range(300)]
    prompt = " ".join(chunk["text"] for chunk in chunks)
    (example,) = examples({**RECORD, "retrieved": chunks, "prompt": prompt}, encoder=Refuses())
    assert example.features.shared["retriever.chunks"] == 300


def test_tables_hold_the_runs_that_have_the_stage() -> None:
    """Each stage is trained only on these."""
    made = make_examples(6)
    names = names_in(made)
    tables = {table.stage: table for table in tables_of(made, names)}
    assert len(tables[Stage.RETRIEVER].rows) == 6
    assert tables[Stage.REWRITER].rows.tolist() == [1, 2, 4, 5]
    assert tables[Stage.REWRITER].values.shape == (4, len(names))
    assert not np.isnan(
        tables[Stage.REWRITER].values[:, names.index("rewriter.meaning_kept")]
    ).any()


def test_a_table_tells_which_rows_have_answers_about_its_stage() -> None:
    """Answers about another stage, and what local checks measured, are none."""
    names = ("generator.joint_support", "generator.verified_any_fault", "retriever.flow_held")
    values = np.array([[0.5, 0.9, np.nan], [0.5, np.nan, 1.0], [0.5, np.nan, np.nan]])
    table = StageTable(Stage.GENERATOR, names, np.arange(3), values, np.array([True, False, True]))
    assert table.answered.tolist() == [True, False, False]
