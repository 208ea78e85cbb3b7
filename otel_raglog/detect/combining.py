"""A local probability and an LLM's confidences to one probability, where nothing was trained.

Per stage, in log-odds, each clipped to fifty to one::

    type    = mean over the confidences that match the fault type
    judged  = the greatest over the types
    joined  = (local probability - its threshold) + judged

The stage is faulty from a probability of 0.5 on: where the LLM is in doubt the local verdict stands, and
where the local detector is, the LLM's. Both count alike; no weight was fitted to anything. Without a
local probability ``joined`` is ``judged``.
"""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.detect.compiled import logistic
from otel_raglog.detect.confidences import SPEAKS, clipped_odds
from otel_raglog.model import FaultType

COMBINATION = "untrained-1"
"""The name of the formula with its constants, in the version of a detector that uses it."""

THRESHOLD = 0.5


def combine(
    confidences: Mapping[FaultType, float],
    probability: float | None = None,
    threshold: float = THRESHOLD,
) -> float:
    """Return the joined probability that a stage is faulty.

    ``confidences`` are at least one. ``probability`` is the local one, ``None`` without any, and
    ``threshold`` what the local detector holds it against.
    """
    joined = max(clipped_odds(each) for each in confidences.values())
    if probability is not None:
        joined += clipped_odds(probability) - clipped_odds(threshold)
    return logistic(joined)


def named_by(
    confidences: Mapping[FaultType, float], local: tuple[FaultType, ...] = ()
) -> tuple[FaultType, ...]:
    """Return the types to name on a faulty stage: those that the LLM speaks for, the surest first.

    Before them those that the local detector named and that the LLM was not asked about: it is
    asked only whether an embedded text is unfaithful, not how. When neither names any, all that the local
    detector named; when it named none, the surest.
    """
    ordered = sorted(confidences, key=lambda fault: (-confidences[fault], fault))
    named = [fault for fault in local if fault not in confidences]
    named += [fault for fault in ordered if confidences[fault] >= SPEAKS]
    return tuple(named) or local or tuple(ordered[:1])
