"""When a flag on the retriever is lifted: what was needed is there, but was excluded later."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clearing:
    """The flag is lifted when an excluded chunk surely answers, and no selected one does.

    ``excluded`` names the measurement of the best excluded chunk, ``selected`` of the best
    selected one; the first must reach ``at_least``, the second stay below ``below``.
    """

    excluded: str
    selected: str
    at_least: float
    below: float

    def holds(self, values: Mapping[str, float]) -> bool:
        """Tell whether the measurements lift the flag."""
        excluded, selected = values.get(self.excluded), values.get(self.selected)
        if excluded is None or selected is None:
            return False
        return excluded >= self.at_least and selected < self.below


CLEARINGS: tuple[Clearing, ...] = (
    Clearing("retriever.flow_excluded_yes", "retriever.flow_passed_yes", 0.01, 0.01),
    Clearing("reranker.answerable_excluded", "reranker.answerable_selected", 1.0, -1.0),
    Clearing("reranker.best_excluded", "reranker.best_selected", 0.62, 0.48),
)
"""In order of trust: the first whose two measurements were made decides.

The first is of the evidence flow that an LLM follows: a piece of what the question needs is in an
excluded chunk, and none is in a passed one. 1 and -1 are the log-odds (about three to one) from which on an explanation says what the cross-encoder
read. 0.62 and 0.48 are the relevance at which, and half way to which, the clue of rules-1 for irrelevant
chunks falls silent.
"""


def is_cleared(values: Mapping[str, float]) -> bool:
    """Tell whether a flag on the retriever is to be lifted, by the best rule that was measured."""
    for rule in CLEARINGS:
        if rule.excluded in values and rule.selected in values:
            return rule.holds(values)
    return False
