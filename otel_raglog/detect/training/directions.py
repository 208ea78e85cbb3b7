"""Which way features point: whether high or low values speak for a fault of their stage."""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.checks.check import Suspect
from otel_raglog.checks.judge.registry import JUDGE_CHECKS
from otel_raglog.checks.registry import READING_CHECKS
from otel_raglog.detect.confidences import CONFIDENCES
from otel_raglog.detect.features import CLUE_PREFIX, judged_clues
from otel_raglog.detect.rules1_weights import CLUES
from otel_raglog.model import Stage


def directions() -> Mapping[str, int]:
    """Return +1 for features that speak for a fault of their stage as they grow, -1 against it.

    Known for the measurements that a clue of rules-1 reads, for its probabilities, for what a
    cross-encoder read, and for what an LLM judged. What the checks declare of others is not used: with it the retriever's models
    lost (docs/adr/0011).
    """
    declared = [item for check in READING_CHECKS for item in check.declarations]
    declared += [item for check in JUDGE_CHECKS for item in check.declarations]
    found = {
        item.name: 1 if item.suspect is Suspect.HIGH else -1
        for item in declared
        if item.suspect is not Suspect.NEITHER
    }
    for stage in Stage:
        asked = CONFIDENCES.get(stage, {})
        found |= dict.fromkeys(
            judged_clues(stage, {n: 1.0 for each in asked.values() for n in each}), 1
        )
        found[f"{CLUE_PREFIX}{stage.value}"] = 1
        for clue in CLUES[stage]:
            found[clue.measurement] = 1 if clue.high > clue.low else -1
            found[f"{CLUE_PREFIX}{stage.value}.{clue.fault.value}"] = 1
    return found
