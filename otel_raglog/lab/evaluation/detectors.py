"""How a detector is trained to be evaluated: the seam to ``detect.training``."""

from __future__ import annotations

from collections.abc import Sequence

from otel_raglog.detect.detector import Detector
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.training import examples
from otel_raglog.detect.training.examples import Example
from otel_raglog.errors import BadInput
from otel_raglog.lab.evaluation.outcomes import MeasuredRun
from otel_raglog.lab.evaluation.retraining import Trainer


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


class EnsembleTrainer:
    """Trains the ensemble; thresholds and calibration come from the same runs, out of fold."""

    def __init__(self, policy: Policy, seed: int) -> None:
        self._policy = policy
        self._seed = seed
        self._examples: dict[int, tuple[MeasuredRun, Example | None]] = {}

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

        examples = [each for run in runs if (each := self._example(run)) is not None]
        return train_detector(examples, Settings(seed=self._seed), self._policy)

    def _example(self, run: MeasuredRun) -> Example | None:
        # The run is kept beside its example, so that its id stays its own.
        if id(run) not in self._examples:
            self._examples[id(run)] = run, example_of(run)
        return self._examples[id(run)][1]


def example_of(measured: MeasuredRun) -> Example | None:
    """Return what is trained on; ``None`` where no labelled stage can be judged or read."""
    labels = measured.labels
    return examples.example_of(
        measured.run, measured.measurements, labels.faulty, labels.types, group=labels.group
    )
