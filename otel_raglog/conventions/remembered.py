"""What was found for a name, remembered: applications write the same names on every span."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_MOST_NAMES = 8_192
_MAX_NAME_CHARS = 200


class Remembered(dict[str, T]):
    """What ``find`` returns for a name, looked up by ``remembered[name]``.

    It holds so many names and no long ones: what a sender makes up for each span is found anew.
    """

    def __init__(self, find: Callable[[str], T]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, name: str) -> T:
        """Find what was not asked for before."""
        found = self._find(name)
        if len(name) <= _MAX_NAME_CHARS:
            if len(self) >= _MOST_NAMES:
                self.clear()
            self[name] = found
        return found
