"""Examples of runs with planted faults, and a small detector trained on them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from otel_raglog.checks.check import measured
from otel_raglog.detect.training.examples import Example, example_of
from otel_raglog.detect.training.settings import Settings
from otel_raglog.model import Measurement, Stage

SMALL = Settings(
    weights=(0.4, 0.3, 0.3), boosted_trees=5, forest_trees=8, forest_depth=5, partitions=1
)
"""All three models, a moment to train."""


def make_measurements(
    *, retrieved_well: float, supported: float, dropped: float | None, step: int = 0
) -> tuple[Measurement, ...]:
    """Return measurements of retriever and generator, and of a rewriter unless ``dropped`` is None."""
    found = [
        measured("retriever.best_relevance", retrieved_well),
        measured("retriever.best_coverage", retrieved_well),
        measured("retriever.chunks", 3.0),
        measured("generator.words_unsupported_share", 1 - supported),
        measured("generator.novel_words", 4.0),
        measured("generator.joint_support", supported),
    ]
    if dropped is not None:
        found.append(measured("rewriter.words_dropped_share", dropped, step=step))
        found.append(measured("rewriter.meaning_kept", 1 - dropped, step=step))
    return tuple(found)


def make_examples(count: int = 60, seed: int = 1) -> tuple[Example, ...]:
    """Return ``count`` runs, two of each question; a third of them faulty at each stage.

    What was measured tells faulty from sound runs, but not always; every third has no rewriter.
    """
    from handbook_runs import QUESTION, make_run

    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        bad = {stage: bool(random.random() < 1 / 3) for stage in (Stage.RETRIEVER, Stage.GENERATOR)}
        rewriter = number % 3 > 0
        run = make_run(rewrites=[QUESTION] if rewriter else None)
        if rewriter:
            bad[Stage.REWRITER] = bool(random.random() < 1 / 3)
        measurements = make_measurements(
            retrieved_well=_drawn(random, bad[Stage.RETRIEVER]),
            supported=_drawn(random, bad[Stage.GENERATOR]),
            dropped=1 - _drawn(random, bad[Stage.REWRITER]) if rewriter else None,
        )
        types: Mapping[Stage, tuple[str, ...]] = {Stage.RETRIEVER: ("no_relevant_chunk",)}
        example = example_of(run, measurements, bad, types, group=f"q{number // 2}")
        assert example is not None
        found.append(example)
    return tuple(found)


def _drawn(random: np.random.Generator, bad: bool) -> float:
    return float(np.clip(random.normal(0.35 if bad else 0.7, 0.15), 0, 1))
