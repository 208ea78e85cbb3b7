"""Records that judges labelled to how far the judges agreed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from otel_raglog.model import Stage


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges on one stage, or on all.

    ``both`` labels were given by both, of which ``same`` were the same and ``adjudicated`` went to
    the third. ``kappa`` is Cohen's, ``None`` where chance alone would agree always. ``unlabelled``
    counts the stages that nobody could label.
    """

    both: int
    same: int
    adjudicated: int
    unlabelled: int
    kappa: float | None

    @property
    def share(self) -> float | None:
        """The share of labels that were the same."""
        return self.same / self.both if self.both else None


Pair = tuple[bool, bool]


def agreement_in(records: Iterable[Mapping[str, Any]]) -> Mapping[Stage | None, Agreement]:
    """Return the agreement per stage that some run has, and overall (``None``).

    Records without ``labelled_by`` count nowhere.
    """
    pairs: dict[Stage | None, list[Pair]] = {}
    adjudicated: dict[Stage | None, int] = {}
    unlabelled: dict[Stage | None, int] = {}
    for record in records:
        by = record.get("labelled_by")
        if not isinstance(by, Mapping):
            continue
        one, other = (each.get("faulty") or {} for each in by["judges"])
        for stage in Stage:
            for key in (stage, None):
                if stage in one and stage in other:
                    pairs.setdefault(key, []).append((one[stage], other[stage]))
                adjudicated[key] = adjudicated.get(key, 0) + (stage in by.get("adjudicated", ()))
                missing = stage in (record.get("unlabelled") or {})
                unlabelled[key] = unlabelled.get(key, 0) + missing
    return {
        key: Agreement(
            both=len(pairs.get(key, ())),
            same=sum(one == other for one, other in pairs.get(key, ())),
            adjudicated=adjudicated[key],
            unlabelled=unlabelled[key],
            kappa=kappa_of(pairs.get(key, ())),
        )
        for key in (*Stage, None)
        if key in pairs or unlabelled.get(key)
    }


def kappa_of(pairs: Iterable[Pair]) -> float | None:
    """Return Cohen's kappa of two raters; ``None`` without pairs, or where both always say one thing."""
    every = list(pairs)
    if not every:
        return None
    n = len(every)
    same = sum(one == other for one, other in every) / n
    first = sum(one for one, _ in every) / n
    second = sum(other for _, other in every) / n
    by_chance = first * second + (1 - first) * (1 - second)
    return None if by_chance >= 1 else (same - by_chance) / (1 - by_chance)
