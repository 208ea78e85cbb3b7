"""How a detector is trained to be evaluated: the seam to ``detect.training``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from otel_raglog.detect.combining import THRESHOLD
from otel_raglog.detect.confidences import JUDGED
from otel_raglog.detect.detector import Detector
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.detect.tiers import LlmDetector
from otel_raglog.detect.training import examples
from otel_raglog.detect.training.examples import Example
from otel_raglog.errors import BadInput
from otel_raglog.lab.evaluation.outcomes import MeasuredRun
from otel_raglog.lab.evaluation.retraining import Trainer
from otel_raglog.model import Measurement, Run, Stage, StageVerdict, Verdict


def trainer(policy: Policy, seed: int) -> Trainer:
    """Return what trains detectors as ``otel-raglog train`` does, with the policy's thresholds.

    Raises:
        BadInput: what training needs is not installed (extra ``train``).
    """
    try:
        from otel_raglog.detect.training import training  # noqa: PLC0415,F401  an optional extra
    except ModuleNotFoundError as error:
        raise BadInput(f"training needs {error.name}: pip install 'otel-raglog[train]'") from None
    return EnsembleTrainer(policy, seed)


def tier_trainer(policy: Policy, seed: int) -> TierTrainer:
    """Return what trains a local detector and, beside it, one that reads an LLM's answers.

    Raises:
        BadInput: what training needs is not installed (extra ``train``).
    """
    trainer(policy, seed)
    return TierTrainer(policy, seed)


class EnsembleTrainer:
    """Trains the ensemble; thresholds and calibration come from the same runs, out of fold."""

    def __init__(self, policy: Policy, seed: int) -> None:
        self._policy = policy
        self._seed = seed
        self._examples = _Examples(_as_it_is)

    @property
    def name(self) -> str:
        """The kind of detector."""
        return "ensemble, trained here"

    def fit(self, runs: Sequence[MeasuredRun]) -> Detector:
        """Return the ensemble trained on ``runs``, compiled as it is served.

        Raises:
            BadInput: no stage has enough faulty and sound runs.
        """
        from otel_raglog.detect.training.settings import Settings  # noqa: PLC0415  optional extra
        from otel_raglog.detect.training.training import train_detector  # noqa: PLC0415

        return train_detector(self._examples.of(runs), Settings(seed=self._seed), self._policy)


class TierTrainer:
    """Trains both tiers on the same runs: the local detector on what local checks measured.

    ``name`` says whether the second one reads the local measurements too (``alone``: it does not).
    """

    def __init__(self, policy: Policy, seed: int, *, alone: bool = False) -> None:
        self._policy = policy
        self._seed = seed
        self._alone = alone
        self._local = _Examples(without_answers)
        self._both = _Examples(answers_alone if alone else _as_it_is)

    @property
    def name(self) -> str:
        """The kind of detector."""
        beside = "alone" if self._alone else "beside the local checks"
        return f"ensemble with an LLM's answers {beside}, trained here"

    def untrained(self) -> TierTrainer:
        """Return the trainer of a local detector that answers are combined with by a fixed formula."""
        return _UntrainedTrainer(self._policy, self._seed)

    def alone(self) -> TierTrainer:
        """Return the trainer of a detector that reads the LLM's answers and nothing else."""
        return TierTrainer(self._policy, self._seed, alone=True)

    def fit(self, runs: Sequence[MeasuredRun]) -> LlmDetector:
        """Return the two tiers trained on ``runs``; those without answers are trained on too.

        Raises:
            BadInput: no stage has enough faulty and sound runs.
        """
        from otel_raglog.detect.training.settings import WITH_ANSWERS  # noqa: PLC0415  optional
        from otel_raglog.detect.training.training import train_detector  # noqa: PLC0415

        settings = replace(WITH_ANSWERS, seed=self._seed)
        trained = train_detector(self._both.of(runs), settings, self._policy)
        return LlmDetector(Undecided() if self._alone else self.fit_local(runs), trained)

    def fit_local(self, runs: Sequence[MeasuredRun]) -> Detector:
        """Return the local detector trained on ``runs``."""
        from otel_raglog.detect.training.settings import Settings  # noqa: PLC0415  optional extra
        from otel_raglog.detect.training.training import train_detector  # noqa: PLC0415

        return train_detector(self._local.of(runs), Settings(seed=self._seed), self._policy)


class _UntrainedTrainer(TierTrainer):
    def fit(self, runs: Sequence[MeasuredRun]) -> LlmDetector:
        return LlmDetector(self.fit_local(runs))


class Undecided:
    """Says of every stage that can be judged that it is as likely faulty as not.

    Beside it an LLM's answers decide alone.
    """

    version = "undecided"
    reads = Rules1.reads

    def judge(self, run: Run, measurements: Sequence[Measurement]) -> Mapping[Stage, Verdict]:
        """Return a verdict for every :class:`Stage`."""
        return {
            stage: verdict if verdict.probability is None else _undecided(verdict)
            for stage, verdict in Rules1().judge(run, measurements).items()
        }


def _undecided(verdict: Verdict) -> Verdict:
    return replace(
        verdict,
        verdict=StageVerdict.OK,
        probability=THRESHOLD,
        threshold=THRESHOLD,
        fault_types=(),
        steps=tuple(map(_undecided, verdict.steps)),
    )


class _Examples:
    """Makes the example of each run once."""

    def __init__(self, seen: Callable[[MeasuredRun], MeasuredRun]) -> None:
        self._seen = seen
        self._known: dict[int, tuple[MeasuredRun, Example | None]] = {}

    def of(self, runs: Iterable[MeasuredRun]) -> list[Example]:
        """Return the examples of those runs that have a stage to train on."""
        return [each for run in runs if (each := self._one(run)) is not None]

    def _one(self, run: MeasuredRun) -> Example | None:
        # The run is kept beside its example, so that its id stays its own.
        if id(run) not in self._known:
            self._known[id(run)] = run, example_of(self._seen(run))
        return self._known[id(run)][1]


def without_answers(run: MeasuredRun) -> MeasuredRun:
    """Return ``run`` with what local checks measured alone."""
    kept = tuple(each for each in run.measurements if each.name not in JUDGED)
    return replace(run, measurements=kept)


def answers_alone(run: MeasuredRun) -> MeasuredRun:
    """Return ``run`` with what an LLM's answers make alone."""
    kept = tuple(each for each in run.measurements if each.name in JUDGED)
    return replace(run, measurements=kept)


def _as_it_is(run: MeasuredRun) -> MeasuredRun:
    return run


def example_of(measured: MeasuredRun) -> Example | None:
    """Return what is trained on; ``None`` where no labelled stage can be judged or read."""
    labels = measured.labels
    return examples.example_of(
        measured.run, measured.measurements, labels.faulty, labels.types, group=labels.group
    )
