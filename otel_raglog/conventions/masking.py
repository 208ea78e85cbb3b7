"""Texts to whether they are placeholders that hide the real text."""

from __future__ import annotations

import re

from otel_raglog.conventions.remembered import Remembered

MAX_PLACEHOLDER_CHARS = 80

_FIRST_SIGNS = "\"'_[<({*rR"
"""What a placeholder begins with: few texts do, and most are told apart by that alone."""

_PLACEHOLDER = re.compile(
    r"""\s*["']?(?:
        __REDACTED__
      | [\[<({]{1,2}\s*(?:fully\s+)?(?:redacted|masked|hidden|filtered)\b[^\]>)}]*[\]>)}]{1,2}
      | \*{3,}(?:redacted|masked)?\*{0,}
      | redacted
    )["']?\s*""",
    re.IGNORECASE | re.VERBOSE,
)


def is_redacted(text: str) -> bool:
    """Tell whether a whole value is a placeholder such as ``__REDACTED__``; it is never judged."""
    return len(text) <= MAX_PLACEHOLDER_CHARS and _HIDES[text]


def _hides(text: str) -> bool:
    return text.lstrip()[:1] in _FIRST_SIGNS and _PLACEHOLDER.fullmatch(text) is not None


_HIDES = Remembered(_hides)
