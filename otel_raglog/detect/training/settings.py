"""How a detector is trained: the seed, the models' sizes, and what each stage's models see."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from otel_raglog.detect.confidences import JUDGED
from otel_raglog.detect.features import CLUE_PREFIX, stage_of
from otel_raglog.model import Stage


class Inputs(StrEnum):
    """Which features the models of a stage see."""

    ALL = "all"
    """Measurements of all stages: the paper's choice."""
    OWN = "own"
    """Measurements of the stage."""
    OWN_AND_CLUES = "own+clues"
    """Also the probabilities of rules-1 for the stage and its fault types."""
    CLUES = "clues"
    """These probabilities alone."""
    ALL_AND_CLUES = "all+clues"
    """Everything there is."""
    ANSWERS_AND_CLUES = "answers+clues"
    """What an LLM's answers say of the stage, and the probabilities of rules-1."""

    def choose(self, stage: Stage, names: Sequence[str]) -> tuple[str, ...]:
        """Return those of ``names`` that the models of ``stage`` see, in their order."""
        return tuple(
            name
            for name in names
            if (self in _EVERY_STAGE or stage_of(name) is stage)
            and ((name.startswith(CLUE_PREFIX) and self in _WITH_CLUES) or self._takes(name))
        )

    def _takes(self, name: str) -> bool:
        if self is Inputs.ANSWERS_AND_CLUES:
            return name in JUDGED
        return not name.startswith(CLUE_PREFIX) and self is not Inputs.CLUES


_EVERY_STAGE = frozenset({Inputs.ALL, Inputs.ALL_AND_CLUES})
_WITH_CLUES = frozenset(
    {Inputs.OWN_AND_CLUES, Inputs.CLUES, Inputs.ALL_AND_CLUES, Inputs.ANSWERS_AND_CLUES}
)


@dataclass(frozen=True, slots=True)
class Settings:
    """How to train. What differs from the paper's settings won out of fold (docs/adr/0011).

    ``weights`` are those of logistic regression, boosted trees and forest; what has none is not
    fitted. With ``directed``, neither logistic regression nor forest may take a measurement to
    speak against the fault that its clue speaks for.
    ``fewest`` is how many faulty and how many sound runs a stage must have to be trained;
    ``partitions`` how often the runs are parted in folds for calibration and thresholds;
    ``dropped_copies`` how many copies of a run with an LLM's answers lack some of them, the others
    shifted.
    """

    seed: int = 1
    inputs: Inputs = Inputs.OWN_AND_CLUES
    directed: bool = True
    weights: tuple[float, float, float] = (1.0, 0.0, 0.0)
    regularisation: float = 0.02
    boosted_trees: int = 100
    boosted_depth: int = 3
    learning_rate: float = 0.05
    boosted_leaf: int = 10
    forest_trees: int = 300
    forest_leaf: int = 3
    forest_depth: int = 12
    fewest: int = 10
    partitions: int = 3
    dropped_copies: int = 0


DEFAULT = Settings()
"""What ``otel-raglog train`` takes."""

WITH_ANSWERS = Settings(inputs=Inputs.ANSWERS_AND_CLUES, dropped_copies=1)
"""What it takes with an LLM's answers (docs/adr/0013)."""

PAPER = Settings(
    inputs=Inputs.ALL, directed=False, weights=(1 / 3, 1 / 2, 1 / 6), regularisation=0.5
)
"""What the paper trains, on the measurements there are."""
