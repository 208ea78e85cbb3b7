"""Labelled and judged runs for tests of figures, written as small as they can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from handbook_runs import make_run

from otel_raglog.detect.training.labels import Labels
from otel_raglog.lab.evaluation.outcomes import JudgedRun, MeasuredRun
from otel_raglog.model import (
    FAULT_TYPES,
    Measurement,
    Run,
    Stage,
    StageVerdict,
    UnknownReason,
    Verdict,
)

RETRIEVER, GENERATOR, REWRITER = Stage.RETRIEVER, Stage.GENERATOR, Stage.REWRITER
RUN = make_run()


def labelled(
    faulty: Mapping[Stage, bool],
    *,
    group: str = "q1",
    pipeline: str = "dense",
    types: Mapping[Stage, Sequence[str]] | None = None,
    injected: tuple[Stage, str] | None = None,
    measurements: Sequence[Measurement] = (),
    run_id: str = "r1",
    run: Run = RUN,
) -> MeasuredRun:
    """Return a labelled run; its texts do not matter."""
    named = {stage: tuple(names) for stage, names in (types or {}).items()}
    labels = Labels(run_id, pipeline, group, dict(faulty), named, injected)
    return MeasuredRun(run, tuple(measurements), labels)


def said(stage: Stage, probability: float | None, threshold: float = 0.5) -> Verdict:
    """Return the verdict for a probability; ``None`` is an abstention."""
    if probability is None:
        return Verdict(stage, StageVerdict.UNKNOWN, reason=UnknownReason.ABSTAINED)
    bad = probability >= threshold
    return Verdict(
        stage,
        StageVerdict.FAULTY if bad else StageVerdict.OK,
        probability=probability,
        threshold=threshold,
        fault_types=FAULT_TYPES[stage][:1] if bad else (),
    )


def judged(
    measured: MeasuredRun, probabilities: Mapping[Stage, float | None], repeat: int = 0
) -> JudgedRun:
    """Return a run that was judged; stages without a probability are absent."""
    verdicts = {stage: Verdict(stage, StageVerdict.ABSENT) for stage in Stage}
    verdicts |= {stage: said(stage, value) for stage, value in probabilities.items()}
    return JudgedRun(measured, verdicts, repeat)


def retrievals(pairs: Sequence[tuple[bool, float | None]]) -> list[JudgedRun]:
    """Return runs of questions of their own whose retriever is (faulty, said to be so)."""
    return [
        judged(labelled({RETRIEVER: faulty}, group=f"q{number}"), {RETRIEVER: probability})
        for number, (faulty, probability) in enumerate(pairs)
    ]


class FakeDetector:
    """Flags the retriever of a run whose measurement ``retriever.bad`` is high enough."""

    version = "fake"

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold

    def judge(self, run: Run, measurements: Sequence[Measurement]) -> Mapping[Stage, Verdict]:
        """Return verdicts; without the measurement the retriever is not judged."""
        values = [m.value for m in measurements if m.name == "retriever.bad"]
        verdicts = {stage: Verdict(stage, StageVerdict.ABSENT) for stage in Stage}
        verdicts[RETRIEVER] = said(RETRIEVER, values[0] if values else None, self.threshold)
        return verdicts


class FakeTrainer:
    """Remembers what it was given, and trains a detector that flags what it has seen as bad."""

    name = "fake, trained here"

    def __init__(self) -> None:
        self.given: list[tuple[MeasuredRun, ...]] = []

    def fit(self, runs: Sequence[MeasuredRun]) -> FakeDetector:
        """Return a detector whose threshold is the lowest value of a faulty retriever."""
        self.given.append(tuple(runs))
        bad = [
            m.value or 0.0
            for run in runs
            if run.labels.faulty.get(RETRIEVER)
            for m in run.measurements
        ]
        return FakeDetector(min(bad, default=2.0))


def bad(value: float) -> tuple[Measurement, ...]:
    """Return the one measurement that the fake detector reads."""
    return (Measurement("retriever.bad", RETRIEVER, value),)


def quiet(what: str, done: int, total: int) -> None:
    """Tell nobody of progress."""
