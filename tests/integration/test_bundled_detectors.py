"""The trained detectors that come with the package."""

import numpy as np
import pytest
import skops.io

from otel_raglog.checks.registry import measurement_names
from otel_raglog.detect.artifact import load_artifact
from otel_raglog.detect.choosing import BUNDLED
from otel_raglog.detect.compiled import Evaluator


@pytest.mark.parametrize("name", ["local", "light", "llm-recorded"])
def test_what_is_served_is_what_was_fitted(name: str) -> None:
    """The arrays give the probabilities of the models that scikit-learn fitted, kept beside them."""
    artifact = load_artifact(BUNDLED / name)
    evaluator = Evaluator(artifact.stages)
    for stage, compiled in artifact.stages.items():
        content = (BUNDLED / name / "training" / f"{stage.value}.logistic.skops").read_bytes()
        fitted = skops.io.loads(content, trusted=skops.io.get_untrusted_types(data=content))
        linear = np.flatnonzero(compiled.coefficients)
        assert len(linear) == fitted.n_features_in_
        rows = compiled.medians + np.random.default_rng(0).normal(0, 1, (50, len(compiled.medians)))
        served = evaluator.raw([(stage, row) for row in rows])
        expected = fitted.predict_proba(rows[:, linear])[:, 1]
        assert np.allclose(served, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["local", "light", "llm-recorded"])
def test_all_that_they_read_is_measured(name: str) -> None:
    """By the checks of this version, or it is a clue of rules-1."""
    assert set(load_artifact(BUNDLED / name).manifest.measurements) <= measurement_names()
