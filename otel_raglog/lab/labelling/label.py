"""What a rule says of a stage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Label:
    """Whether a stage is faulty, with which fault types, and the evidence for it in words.

    ``faulty`` is ``None`` where the rules cannot decide; ``why`` then says why not.
    """

    faulty: bool | None
    why: str
    types: tuple[str, ...] = ()


def faulty(why: str, types: tuple[str, ...]) -> Label:
    """Return a fault and its types, likeliest first."""
    return Label(faulty=True, why=why, types=types)


def fine(why: str) -> Label:
    """Return that there is no fault."""
    return Label(faulty=False, why=why)


def undecided(why: str) -> Label:
    """Return that the rules cannot tell."""
    return Label(faulty=None, why=why)


def listed(found: Sequence[str]) -> str:
    """Return a few words or ids in a row."""
    most = 4
    return ", ".join(found[:most]) + (" …" if len(found) > most else "")
