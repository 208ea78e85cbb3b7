"""Puts another value of the same kind in a value's place: a year for a year, a name for a name."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import Literal, NamedTuple, TypeAlias

from training.reader.texts import (
    MONTHS,
    NATIONALITIES,
    NATIONALITY,
    NUMBER,
    NUMBER_WORDS,
    YEAR,
    holds,
    names_in,
    other_names_in,
    overlap,
    replaced,
    shares_word,
)

ValueKind: TypeAlias = Literal["year", "month", "number", "number word", "nationality", "name"]

_YEAR_STEPS = (-12, -4, -1, 1, 3, 9)
_NEAR_SHARE = 0.65
_MONTH = re.compile(rf"\b(?:{'|'.join(MONTHS)})\b")
_DAY = re.compile(rf"(?:{_MONTH.pattern} (\d\d?)\b(?!\d))|(?:\b(\d\d?) {_MONTH.pattern})")
_WORDS = tuple(word for word in NUMBER_WORDS if word != "one")  # "one of the" counts nothing
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b")
_DAYS = 28


class Value(NamedTuple):
    """A value of a text."""

    kind: ValueKind
    text: str


_FINDERS: dict[ValueKind, Callable[[str], list[str]]] = {
    "year": YEAR.findall,
    "month": _MONTH.findall,
    "number": lambda text: [n for n in NUMBER.findall(text) if not YEAR.fullmatch(n)],
    "number word": _NUMBER_WORD.findall,
    "nationality": NATIONALITY.findall,
    "name": names_in,
}
_LISTED: dict[ValueKind, tuple[str, ...]] = {
    "month": MONTHS,
    "number word": _WORDS,
    "nationality": NATIONALITIES,
}


def values_in(text: str) -> list[Value]:
    """Return the values of a text, each once."""
    return [
        Value(kind, found) for kind, find in _FINDERS.items() for found in dict.fromkeys(find(text))
    ]


def with_another(
    text: str, value: Value, near: str, rng: Random, *, elsewhere: str = ""
) -> str | None:
    """Return the text with another value of the same kind in the value's place.

    The other one stands in ``near``, or is made up; a name stands in ``near`` or ``elsewhere``.
    None if there is no other one.
    """
    other = _another(text, value, near, elsewhere, rng)
    return None if other is None else replaced(text, value.text, other)


def _another(text: str, value: Value, near: str, elsewhere: str, rng: Random) -> str | None:
    others = _others(value, near, text)
    if value.kind == "name":
        far = _others(value, elsewhere, text)
        pool = others if others and (not far or rng.random() < _NEAR_SHARE) else far
        alike = [other for other in pool if len(other.split()) == len(value.text.split())]
        return rng.choice(alike or pool) if pool else None
    is_day = value.text in {day for found in _DAY.findall(text) for day in found}
    if others and not is_day and rng.random() < _NEAR_SHARE:
        return rng.choice(others)
    if value.kind == "year":
        return str(int(value.text) + rng.choice(_YEAR_STEPS))
    if value.kind == "number":
        return _other_day(value.text, rng) if is_day else another_number(value.text, rng)
    listed = _LISTED[value.kind]
    return rng.choice([word for word in listed if word != value.text])


def _others(value: Value, text: str, claim: str) -> list[str]:
    """Return the values of the same kind in ``text`` that the claim does not hold."""
    is_name = value.kind == "name"
    find = other_names_in if is_name else _FINDERS[value.kind]
    return [
        found
        for found in dict.fromkeys(find(text))
        if not overlap(found, value.text)
        and not holds(claim, found)
        and not (is_name and shares_word(found, value.text))
    ]


def _other_day(day: str, rng: Random) -> str:
    return str(rng.choice([other for other in range(1, _DAYS + 1) if other != int(day)]))


def another_number(number: str, rng: Random) -> str:
    """Return the number with another one of its digits: as long, so of about the same size."""
    digits = [place for place, letter in enumerate(number) if letter.isdigit()]
    place = rng.choice(digits)
    fitting = [d for d in "123456789" if d != number[place]]
    return number[:place] + rng.choice(fitting) + number[place + 1 :]
