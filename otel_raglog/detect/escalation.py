"""Local verdicts to which stages are uncertain, so that asking an LLM may change what is said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from otel_raglog.detect.confidences import ASKED_ABOUT
from otel_raglog.model import Stage, StageVerdict, UnknownReason, Verdict

_EVEN = 0.5
_JUDGED = frozenset({StageVerdict.FAULTY, StageVerdict.OK})


@dataclass(frozen=True, slots=True)
class Band:
    """The local probabilities, both ends included, at which an answer may change the verdict."""

    low: float
    high: float

    def holds(self, probability: float) -> bool:
        """Tell whether ``probability`` is in the band."""
        return self.low <= probability <= self.high


Bands: TypeAlias = Mapping[Stage, Band]
"""A stage without a band is certain, whatever its probability."""


def band_at(error: float, threshold: float) -> Band:
    """Return where a verdict is wrong with a probability of at least ``error``.

    The verdict is ``faulty`` from ``threshold`` on, the probability calibrated: below the threshold it
    is the probability of a miss, above it one minus it is that of a false alarm. The threshold is
    always in the band; an error of 0 takes in everything.
    """
    return Band(min(error, threshold), max(1.0 - error, threshold))


DEFAULT_ERROR = 0.1
"""Where nothing was learned: a verdict is uncertain that is wrong in one case in ten or more."""


def bands_at(error: float, thresholds: Mapping[Stage, float]) -> dict[Stage, Band]:
    """Return the band of each stage that an LLM is asked about: see :func:`band_at`.

    ``thresholds`` are those of the local detector; a stage without one is held against 0.5.
    """
    return {stage: band_at(error, thresholds.get(stage, _EVEN)) for stage in ASKED_ABOUT}


def uncertain_stages(verdicts: Mapping[Stage, Verdict], bands: Bands) -> tuple[Stage, ...]:
    """Return the stages of which an LLM's answers can change the local verdict, in pipeline order.

    Those whose probability is in their band, and those that the local detector abstained on
    (another language, code): there an LLM may know. A question that asks nothing is not for here:
    see :func:`otel_raglog.detect.judgeable.asks_nothing`.
    """
    return tuple(
        stage
        for stage in ASKED_ABOUT
        if stage in verdicts and _is_uncertain(verdicts[stage], bands.get(stage))
    )


def is_uncertain(verdicts: Mapping[Stage, Verdict], bands: Bands) -> bool:
    """Tell whether an LLM is worth asking: see :func:`uncertain_stages`."""
    return bool(uncertain_stages(verdicts, bands))


def _is_uncertain(verdict: Verdict, band: Band | None) -> bool:
    if verdict.verdict in _JUDGED and verdict.probability is not None:
        return band is not None and band.holds(verdict.probability)
    return verdict.reason is UnknownReason.ABSTAINED
