"""The name of an instrumentation scope to the names that enclose it."""

from __future__ import annotations

import re

_LONGEST = 200
_END_OF_PART = re.compile(r"[./]")


def enclosing(scope: str) -> tuple[str, ...]:
    """Return a scope's name and its beginnings up to each dot or slash, the longest first.

    ``a.b.c`` is a part of ``a.b``, and ``a.bc`` is not.
    """
    if len(scope) > _LONGEST:
        return (scope,)
    ends = [match.start() for match in _END_OF_PART.finditer(scope)]
    return (scope, *(scope[:end] for end in reversed(ends)))
