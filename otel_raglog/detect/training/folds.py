"""Groups of runs to folds: who is tested on what, in several partitions."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FOLDS = 3
PARTITIONS = 3


def fold_of(
    groups: Sequence[str], faulty: Sequence[Sequence[str]], *, partition: int, seed: int, folds: int
) -> npt.NDArray[np.intp]:
    """Return the fold of each run; all runs of one group are in one fold.

    Groups are shuffled by the SHA-256 of seed, partition and group, and each goes to the fold
    that so far has fewest of its faulty stages (``faulty``: their names, per run), then fewest
    runs: rare faults are in every fold. Depends on the multiset of runs alone, not on their order.
    """
    members: dict[str, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    counts = {
        group: Counter(name for row in rows for name in faulty[row])
        for group, rows in members.items()
    }
    totals = Counter(name for names in faulty for name in names)

    def order(group: str) -> tuple[int, bytes]:
        rarest = min((totals[name] for name in counts[group]), default=len(groups) + 1)
        return rarest, hashlib.sha256(f"{seed}/{partition}/{group}".encode()).digest()

    filled: list[Counter[str]] = [Counter() for _ in range(folds)]
    sizes = [0] * folds
    found = np.zeros(len(groups), dtype=np.intp)
    for group in sorted(members, key=order):

        def load(fold: int, group: str = group) -> tuple[float, int, int]:
            share = sum(
                filled[fold][name] * count / totals[name] for name, count in counts[group].items()
            )
            return share, sizes[fold], fold

        chosen = min(range(folds), key=load)
        sizes[chosen] += len(members[group])
        filled[chosen].update(counts[group])
        found[members[group]] = chosen
    return found


def partitions_of(
    groups: Sequence[str],
    faulty: Sequence[Sequence[str]],
    *,
    seed: int,
    folds: int = FOLDS,
    partitions: int = PARTITIONS,
) -> npt.NDArray[np.intp]:
    """Return the fold of each run in each partition: (partitions, runs)."""
    return np.stack(
        [
            fold_of(groups, faulty, partition=partition, seed=seed, folds=folds)
            for partition in range(partitions)
        ]
    )
