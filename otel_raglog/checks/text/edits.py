"""Turns two words into the number of edits between them."""

from __future__ import annotations


def edit_distance(one: str, other: str, limit: int = 2) -> int:
    """Return the Damerau-Levenshtein distance (adjacent swaps count one), at most ``limit + 1``.

    The restricted form (optimal string alignment); rows that pass the limit end the work.
    """
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    before: list[int] = []
    previous = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        current = [i]
        for j, b in enumerate(other, start=1):
            cost = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before, previous = previous, current
    return min(previous[-1], limit + 1)
