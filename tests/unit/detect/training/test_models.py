"""Fitted models, and their flat form, which must say the same."""

from dataclasses import replace

import numpy as np
import pytest
from trained_detectors import SMALL, make_examples

from otel_raglog.detect.compiled import Evaluator
from otel_raglog.detect.training.examples import StageTable, names_in, tables_of
from otel_raglog.detect.training.models import compile_stage, fit
from otel_raglog.detect.training.settings import PAPER, Inputs
from otel_raglog.model import Stage


def table_of(stage: Stage, *, missing: float = 0.0) -> StageTable:
    examples = make_examples(90)
    (table,) = (t for t in tables_of(examples, names_in(examples)) if t.stage is stage)
    holes = np.random.default_rng(3).random(table.values.shape) < missing
    return replace(table, values=np.where(holes, np.nan, table.values))


@pytest.mark.parametrize("weights", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1 / 3, 1 / 2, 1 / 6)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("inputs", [Inputs.OWN_AND_CLUES, Inputs.ALL])
def test_the_flat_form_equals_the_originals(weights, missing: float, inputs: Inputs) -> None:
    """Missing values included, also where training saw none; at and beside every threshold."""
    table = table_of(Stage.REWRITER, missing=missing)
    fitted = fit(
        table, replace(SMALL, weights=weights, inputs=inputs, directed=inputs is not Inputs.ALL)
    )
    columns = {name: place for place, name in enumerate(table.names)}
    stage = compile_stage(fitted, table.names, columns)
    random = np.random.default_rng(4)
    rows = [table.values, random.normal(0.5, 2, table.values.shape)]
    holes = random.random(table.values.shape) < 0.3
    rows += [np.where(holes, np.nan, table.values), np.full((1, len(table.names)), np.nan)]
    for trees in (stage.boosted, stage.forest):
        inner = trees.threshold[np.isfinite(trees.threshold)][:40]
        for edge in (inner, np.nextafter(inner, np.float32(9))):
            rows.append(np.repeat(edge.astype(float)[:, None], len(table.names), axis=1))
    values = np.concatenate(rows)
    found = Evaluator({table.stage: stage}).raw(
        [(table.stage, row[stage.columns]) for row in values]
    )
    np.testing.assert_allclose(found, fitted.raw(values), rtol=0, atol=1e-9)


def test_training_is_deterministic_from_its_seed() -> None:
    """The same runs and seed, the same numbers to the last bit."""
    table = table_of(Stage.RETRIEVER, missing=0.2)
    first, second = (fit(table, SMALL).raw(table.values) for _ in range(2))
    assert (first == second).all()
    assert not (fit(table, replace(SMALL, seed=9)).raw(table.values) == first).all()


def test_no_model_takes_a_measurement_against_its_direction() -> None:
    """Labels turned round leave the probability where it is instead of turning it round too."""
    table = table_of(Stage.RETRIEVER)
    turned = replace(table, faulty=~table.faulty)
    place = table.names.index("retriever.best_relevance")
    rows = np.repeat(table.values[:1], 20, axis=0)
    rows[:, place] = np.linspace(0, 1, 20)
    settings = replace(SMALL, inputs=Inputs.OWN, weights=(0.5, 0.0, 0.5))
    assert (np.diff(fit(table, settings).raw(rows)) <= 1e-12).all()
    undirected = fit(turned, replace(settings, directed=False)).raw(rows)
    assert undirected[-1] > undirected[0] + 0.1
    assert (
        np.diff(fit(replace(turned), replace(settings, weights=(0, 0, 1))).raw(rows)) <= 1e-12
    ).all()


def test_features_without_two_values_are_left_out() -> None:
    """A constant tells nothing."""
    table = table_of(Stage.RETRIEVER)
    kept = {table.names[place] for place in fit(table, SMALL).kept}
    assert "retriever.chunks" not in kept
    assert "retriever.best_relevance" in kept


def test_the_papers_settings_fit_too() -> None:
    """All measurements of all stages, no directions, at least ten rows a leaf of boosted trees."""
    table = table_of(Stage.REWRITER)
    fitted = fit(table, replace(PAPER, boosted_trees=3, forest_trees=3))
    assert {table.names[place].partition(".")[0] for place in fitted.kept} >= {
        "retriever",
        "rewriter",
    }
