"""Labelled records to examples."""

import numpy as np
import pytest
from trained_detectors import make_examples

from otel_raglog.checks.registry import build_checks
from otel_raglog.detect.training.examples import examples_of, labels_of, names_in, tables_of
from otel_raglog.errors import BadInput
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


def test_an_example_has_the_labels_of_stages_that_can_be_judged() -> None:
    """A label of a stage that the run has not teaches nothing."""
    told = []
    (example,) = examples_of(
        [RECORD, {**RECORD, "labels": {}}],
        build_checks(None),
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
        (example,) = examples_of([record], build_checks(None))
        assert example.faulty == {Stage.RETRIEVER: False}


def test_labels_change_no_feature() -> None:
    """Nor does what was injected, or the reference."""
    other = {
        **RECORD,
        "labels": {"retriever": {"faulty": True}},
        "injected": {"stage": "retriever", "type": "x"},
        "reference": {"answers": ["25"]},
    }
    first, second = examples_of([RECORD, other], build_checks(None))
    assert first.features == second.features


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ({"retreiver": {"faulty": True}}, "retreiver"),
        ({"retriever": {"faulty": "yes"}}, "faulty: true or false"),
        ([1], "object of stages"),
    ],
)
def test_malformed_labels_name_the_record(labels: object, words: str) -> None:
    """A typing error must not pass for a missing label."""
    with pytest.raises(BadInput, match=rf"'r1'.*{words}"):
        labels_of({**RECORD, "labels": labels})


def test_tables_hold_the_runs_that_have_the_stage() -> None:
    """Each stage is trained only on these."""
    examples = make_examples(6)
    names = names_in(examples)
    tables = {table.stage: table for table in tables_of(examples, names)}
    assert len(tables[Stage.RETRIEVER].rows) == 6
    assert tables[Stage.REWRITER].rows.tolist() == [1, 2, 4, 5]
    assert tables[Stage.REWRITER].values.shape == (4, len(names))
    assert not np.isnan(
        tables[Stage.REWRITER].values[:, names.index("rewriter.meaning_kept")]
    ).any()
