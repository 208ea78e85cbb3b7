"""Turns two words into the number of edits between them."""

from __future__ import annotations

from rapidfuzz.distance import OSA


def edit_distance(one: str, other: str, limit: int = 2) -> int:
    """Return the optimal string alignment distance (adjacent swaps count one), at most ``limit + 1``."""
    return OSA.distance(one, other, score_cutoff=limit)
