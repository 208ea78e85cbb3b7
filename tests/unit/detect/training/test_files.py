"""Fitted models as files."""

import io
import zipfile

import numpy as np
import pytest
import skops.io
from catboost import CatBoostClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from otel_raglog.detect.training.files import catboost_bytes, skops_bytes

ROWS = np.random.default_rng(0).random((80, 3))
LABELS = (ROWS[:, 0] > 0.5).astype(int)


def pipeline():
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(ROWS, LABELS)


def forest():
    return RandomForestClassifier(5, random_state=0).fit(ROWS, LABELS)


def boosted():
    return CatBoostClassifier(
        iterations=5, verbose=False, random_seed=1, thread_count=1, allow_writing_files=False
    ).fit(ROWS, LABELS)


@pytest.mark.parametrize("make", [pipeline, forest])
def test_the_same_training_gives_the_same_bytes(make) -> None:
    """No address in memory and no time of day is in them."""
    one, other = (skops_bytes(make()) for _ in range(2))
    assert one == other


def test_of_catboost_too() -> None:
    """Its own format holds the time and a random id."""
    assert catboost_bytes(boosted()) == catboost_bytes(boosted())


@pytest.mark.parametrize("make", [pipeline, forest])
def test_what_was_written_is_read_back(make) -> None:
    """By skops itself, with the same probabilities."""
    content = skops_bytes(make())
    trusted = skops.io.get_untrusted_types(data=content)
    again = skops.io.loads(content, trusted=trusted)
    assert (again.predict_proba(ROWS) == make().predict_proba(ROWS)).all()
    assert zipfile.ZipFile(io.BytesIO(content)).testzip() is None
