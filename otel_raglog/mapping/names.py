"""Patterns that names of spans are compared with, to whether they match."""

from __future__ import annotations

import re

from otel_raglog.conventions.remembered import Remembered


class NamePattern:
    """A pattern that is looked for in names, in large or small letters.

    A trace has some dozen names and the next one has the same: each is searched once.
    """

    def __init__(self, pattern: str) -> None:
        self._found = Remembered(re.compile(pattern, re.IGNORECASE).search)

    def search(self, name: str) -> re.Match[str] | None:
        """Return where the pattern is in a name, ``None`` when it is not."""
        return self._found[name]
