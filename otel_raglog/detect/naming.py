"""What a cross-encoder read, and what an LLM judged, to the fault types that it speaks for.

Only for naming: whether a stage is faulty at all is said by the trained models.
"""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.detect.confidences import SPEAKS, confidences_of
from otel_raglog.detect.rules1 import noisy_or
from otel_raglog.detect.rules1_weights import Clue
from otel_raglog.model import FaultType, Stage

_EVEN, _SURELY_NOT, _SURELY = 0.0, -3.0, 3.0
"""Log-odds of one to one, and of one to twenty and twenty to one."""

READING_CLUES: Mapping[Stage, tuple[Clue, ...]] = {
    Stage.REWRITER: (
        Clue("rewriter.same_meaning", _EVEN, _SURELY_NOT, 0.5, FaultType.CHANGES_INTENT),
    ),
    Stage.EMBEDDER: (
        Clue("embedder.same_meaning", _EVEN, _SURELY_NOT, 0.5, FaultType.ALTERED_INPUT),
    ),
    Stage.RETRIEVER: (
        Clue("retriever.answerable", _EVEN, _SURELY_NOT, 0.8, FaultType.NO_RELEVANT_CHUNK),
    ),
    Stage.RERANKER: (
        Clue("reranker.answerable_gap", _EVEN, _SURELY, 0.8, FaultType.EVIDENCE_EXCLUDED),
    ),
    Stage.ASSEMBLY: (
        Clue("assembly.answerable_gap", _EVEN, _SURELY, 0.8, FaultType.EVIDENCE_DROPPED),
    ),
    Stage.GENERATOR: (
        Clue("generator.answerable", _EVEN, _SURELY_NOT, 0.8, FaultType.SHOULD_ABSTAIN),
        Clue(
            "generator.likeliest_stated",
            0.5,
            0.0,
            0.6,
            FaultType.UNSUPPORTED_CLAIM,
            given=(("generator.answerable", _EVEN),),
        ),
    ),
}
"""As a clue, a log-odds counts from even odds on, and wholly from twenty to one."""


def with_readings(
    stage: Stage, types: Mapping[FaultType, float], values: Mapping[str, float]
) -> Mapping[FaultType, float]:
    """Return the probabilities of fault types with what was read or judged, by noisy-or.

    Of an LLM's confidences count those that speak for a type.
    """
    read = [(clue.fault, clue.contribution(values)) for clue in READING_CLUES[stage]]
    judged = [
        (fault, confidence)
        for fault, confidence in confidences_of(stage, values).items()
        if confidence >= SPEAKS
    ]
    found = dict(types)
    for fault, contribution in (*read, *judged):
        if contribution > 0:
            found[fault] = noisy_or((found.get(fault, 0.0), contribution))
    return found
