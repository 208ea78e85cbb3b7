"""Text to the spans of it that have the form of what a question asks for."""

from __future__ import annotations

import re

from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.numbers import NumberKind, numbers
from otel_raglog.checks.text.questions import AnswerKind
from otel_raglog.checks.text.words import stem

_REASON = re.compile(
    r"(?i)\b(?:because|due to|since|so that|in order to|caus(?:e|es|ed)|as a result|owing to|"
    r"thanks to|reason|therefore|to (?:avoid|prevent|protect|ensure|reduce|help|make|keep|allow))\b"
)
_TIME = re.compile(
    r"(?i)\b(?:century|centuries|decade|years?|months?|weeks?|days?|hours?|minutes?|today|ago|"
    r"spring|summer|autumn|fall|winter|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b"
)
_TIMES = frozenset({NumberKind.YEAR, NumberKind.MONTH, NumberKind.ORDINAL})
_NAMED = frozenset({AnswerKind.PERSON, AnswerKind.PLACE, AnswerKind.THING})


def has_form(kind: AnswerKind | None) -> bool:
    """Whether answers of that kind can be told by their form: not ways, and not yes or no."""
    return kind in _NAMED or kind in {AnswerKind.TIME, AnswerKind.COUNT, AnswerKind.REASON}


def spans_of(text: str, kind: AnswerKind | None) -> frozenset[str]:
    """Return what in ``text`` has the form of ``kind``, written so that equal spans are equal.

    Years, months, days and else words of time for a time; numbers for a number; names, by the
    last word's stem, for a person, a place or a thing; words that give reasons for a reason.
    """
    if kind is AnswerKind.TIME:
        dates = frozenset(f"{n.value:g}" for n in numbers(text) if n.kind in _TIMES)
        return dates or frozenset(m.group().casefold() for m in _TIME.finditer(text))
    if kind is AnswerKind.COUNT:
        return frozenset(f"{n.value:g}" for n in numbers(text) if n.kind is not NumberKind.MONTH)
    if kind is AnswerKind.REASON:
        return frozenset(m.group().casefold() for m in _REASON.finditer(text))
    if kind in _NAMED:
        return frozenset(stem(name.words[-1]) for name in names(text) if name.words)
    return frozenset()
