"""A key as a convention writes it down (``a.N.b``, ``event/attribute``) to whether a span has it."""

from __future__ import annotations

import re
from functools import lru_cache

from otel_raglog.model import Span

_INDEX = re.compile(r"(?<![A-Za-z0-9])N(?![A-Za-z0-9])")
_DIGITS = "[0-9]+"


def has_key(span: Span, key: str) -> bool:
    """Tell whether ``span`` bears ``key``: itself, with any index, or the list as one value."""
    event_name, slash, inner = key.partition("/")
    if slash:
        return any(
            name == inner or name.startswith(inner + ".")
            for event in span.events
            if event.name == event_name
            for name in event.attributes
        )
    if key in span.attributes:
        return True
    pattern = _pattern(key)
    return any(pattern.match(name) for name in span.attributes)


@lru_cache(maxsize=2_048)
def _pattern(key: str) -> re.Pattern[str]:
    parts = _INDEX.split(key)
    if len(parts) == 1:
        # A text may have come as a list.
        return re.compile(rf"{re.escape(key)}\.{_DIGITS}\.")
    indexed = _DIGITS.join(map(re.escape, parts))
    whole = re.escape(parts[0].rstrip("."))
    return re.compile(rf"{indexed}(?:\.|$)|{whole}$")
