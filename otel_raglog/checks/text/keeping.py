"""Keeps what was made of texts seen last: several checks read the same ones, and so do other runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

_Made = TypeVar("_Made")


def kept(*, texts: int, longest: int) -> Callable[[Callable[[str], _Made]], Callable[[str], _Made]]:
    """Keep what a function makes of the last ``texts`` texts of at most ``longest`` characters.

    Longer ones are made anew each time, so that memory stays bounded. What is made must not be
    changed by whoever gets it.
    """

    def keep(make: Callable[[str], _Made]) -> Callable[[str], _Made]:
        again = lru_cache(maxsize=texts)(make)

        @wraps(make)
        def made(text: str) -> _Made:
            return again(text) if len(text) <= longest else make(text)

        return made

    return keep
