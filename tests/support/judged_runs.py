"""Answers of an LLM, and examples that have them, for tests of the LLM tier."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from handbook_runs import QUESTION, make_run
from trained_detectors import make_measurements

from otel_raglog.checks.check import measured
from otel_raglog.detect.training.labels import Labels
from otel_raglog.lab.evaluation.outcomes import MeasuredRun
from otel_raglog.model import Measurement, Stage

RETRIEVER, GENERATOR, REWRITER = Stage.RETRIEVER, Stage.GENERATOR, Stage.REWRITER


def make_answers(
    *, retriever: float | None = None, generator: float | None = None, rewriter: float | None = None
) -> tuple[Measurement, ...]:
    """Return what the answers measure by how sure the LLM is that a stage is faulty."""
    found: list[Measurement] = []
    if retriever is not None:
        found.append(measured("retriever.graded_no_chunk_answers", retriever))
    if generator is not None:
        found.append(measured("generator.graded_unsupported", generator))
        found.append(measured("generator.verified_unsupported", generator))
        found.append(measured("generator.statements_faulty", round(generator)))
    if rewriter is not None:
        found.append(measured("rewriter.graded_adds_constraint", rewriter, step=0))
    return tuple(found)


def make_judged_runs(count: int = 60, seed: int = 1, *, answered: int = 60) -> list[MeasuredRun]:
    """Return runs whose local measurements tell little and whose answers tell all.

    The first ``answered`` of them have answers; half are faulty at the generator, a third at the
    retriever.
    """
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        bad = {RETRIEVER: bool(random.random() < 1 / 3), GENERATOR: bool(random.random() < 1 / 2)}
        near = {stage: 0.5 - 0.1 * faulty + random.normal(0, 0.1) for stage, faulty in bad.items()}
        local = make_measurements(
            retrieved_well=float(np.clip(near[RETRIEVER], 0, 1)),
            supported=float(np.clip(near[GENERATOR], 0, 1)),
            dropped=None,
        )
        answers = make_answers(
            retriever=0.9 if bad[RETRIEVER] else 0.1, generator=0.9 if bad[GENERATOR] else 0.1
        )
        run = replace(make_run(QUESTION), run_id=f"r{number}")
        types: dict[Stage, tuple[str, ...]] = {RETRIEVER: ("no_relevant_chunk",) * bad[RETRIEVER]}
        labels = Labels(f"r{number}", "p", f"q{number}", bad, types)
        measurements = (*local, *answers) if number < answered else local
        found.append(MeasuredRun(run, measurements, labels))
    return found
