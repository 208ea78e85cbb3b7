"""Turns text into the numbers it states, in figures or in words, with their kind."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from otel_raglog.checks.text.keeping import kept
from otel_raglog.checks.text.lexicon import MONTHS, MULTIPLIERS, SMALL_NUMBERS, UNITS_OF_TEN
from otel_raglog.checks.text.words import fold

_FIGURE = re.compile(
    r"(?<![\w.])(?<![a-z]-)(?P<currency>[$€£¥])?"
    r"(?P<digits>\d{1,3}(?:,\d{3}){1,6}(?!\d)|\d{1,18})(?P<fraction>\.\d{1,12})?"
    r"(?P<suffix>st\b|nd\b|rd\b|th\b|s\b|'s\b|k\b|bn\b|m\b)?(?![^\W\d_])"
    r"(?P<unit>\s?(?:%|percent\b|per cent\b|hundred\b|thousand\b|million\b|billion\b|trillion\b|bn\b))?"
)
# Blank lines in front of a mark are counted: each line begins a search of its own.
_LIST_MARK = re.compile(r"(?m)^(?:[^\S\n]*\n){0,9}[^\S\n]*(?:\d{1,2}[.)]\s|[-*•]\s)|\[\d{1,3}\]")
_LARGE_WORDS = ("hundred", "thousand", "million", "billion")


def _any_of(known: Iterable[str]) -> re.Pattern[str]:
    return re.compile(f"(?<![a-z])(?:{'|'.join(known)})(?![a-z])")


_MONTH = _any_of(MONTHS)
_NUMBER_WORD = _any_of((*SMALL_NUMBERS, *UNITS_OF_TEN, *_LARGE_WORDS))
_SUFFIX_FACTORS = {"k": 1e3, "bn": 1e9, "m": 1e6}
_NO_FACTOR = 1.0
_FIRST_YEAR, _LAST_YEAR = 1000, 2100
_FEWEST_DIGITS = 2
_LARGE = 1_000


class NumberKind(StrEnum):
    """What a number counts."""

    PLAIN = "number"
    YEAR = "year"
    PERCENT = "percentage"
    MONEY = "amount"
    ORDINAL = "ordinal"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Number:
    """A number stated in a text: ``value`` in plain units, and the text as written."""

    value: float
    kind: NumberKind
    text: str


@kept(texts=256, longest=8_000)
def numbers(text: str) -> tuple[Number, ...]:
    """Return the numbers of ``text``, figures first.

    *One* and months that are also words (*may*, *march*) count only beside a figure; list marks
    and citation marks such as ``[1]`` are no numbers. Identifiers (*F-22*, *A4*) are words.
    """
    folded = _LIST_MARK.sub(" ", fold(text))
    return (*_figures(folded), *_months(folded), *_written(folded))


class NumberIndex:
    """The numbers of texts, which tells whether a number is stated there."""

    def __init__(self, texts: Iterable[str]) -> None:
        found = tuple(number for text in texts for number in numbers(text))
        self._months = {n.value for n in found if n.kind is NumberKind.MONTH}
        self._values = {n.value for n in found if n.kind is not NumberKind.MONTH}
        self._roundings: dict[int, set[float]] = {}

    def holds(self, number: Number) -> bool:
        """Whether the number is stated; in any kind, since units are often left out."""
        if number.kind is NumberKind.MONTH:
            # ISO dates hold the month as a figure.
            return number.value in self._months or number.value in self._values
        return number.value in self._values

    def holds_about(self, number: Number) -> bool:
        """Whether the number, or a more exact one that it rounds, is stated.

        Rounding keeps two digits or more, or one of a number from 1,000 on: 18 million rounds
        17,786,419, but 30 does not round 25. Years, months and ordinals are exact.
        """
        if self.holds(number):
            return True
        exact = {NumberKind.YEAR, NumberKind.MONTH, NumberKind.ORDINAL}
        digits = _significant_digits(number.value)
        if number.kind in exact or (digits < _FEWEST_DIGITS and abs(number.value) < _LARGE):
            return False
        if digits not in self._roundings:
            self._roundings[digits] = {
                _rounded(value, digits)
                for value in self._values
                if _significant_digits(value) > digits
            }
        return number.value in self._roundings[digits]


def _significant_digits(value: float) -> int:
    mantissa = f"{abs(value):.15g}".partition("e")[0].replace(".", "").strip("0")
    return max(1, len(mantissa))


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


def _figures(folded: str) -> Iterator[Number]:
    for match in _FIGURE.finditer(folded):
        digits, fraction = match["digits"], match["fraction"] or ""
        suffix, unit = match["suffix"] or "", (match["unit"] or "").strip()
        factor = _SUFFIX_FACTORS.get(suffix, _NO_FACTOR) * MULTIPLIERS.get(unit, _NO_FACTOR)
        plain = digits.replace(",", "") + fraction
        # As floats 8.2 times a million is not 8,200,000.
        value = float(plain) if factor == _NO_FACTOR else float(Decimal(plain) * Decimal(factor))
        yield Number(value, _kind(match, value, unit), match.group().strip())


def _kind(match: re.Match[str], value: float, unit: str) -> NumberKind:
    if unit in {"%", "percent", "per cent"}:
        return NumberKind.PERCENT
    if match["currency"]:
        return NumberKind.MONEY
    if match["suffix"] in {"st", "nd", "rd", "th"}:
        return NumberKind.ORDINAL
    plain_figure = len(match["digits"]) == len("2011") and not match["fraction"] and not unit
    if plain_figure and _FIRST_YEAR <= value <= _LAST_YEAR:
        return NumberKind.YEAR
    return NumberKind.PLAIN


def _months(folded: str) -> Iterator[Number]:
    ambiguous = {"may", "march", "mar", "jan", "jun", "sep", "dec"}
    for match in _MONTH.finditer(folded):
        around = folded[max(0, match.start() - 8) : match.end() + 6]
        if match.group() in ambiguous and not any(c.isdigit() for c in around):
            continue
        yield Number(float(MONTHS[match.group()]), NumberKind.MONTH, match.group())


def _written(folded: str) -> Iterator[Number]:
    """Yield numbers written in words: *two*, *twenty-five*, *three hundred*, *two million*."""
    pending: float | None = None
    said: list[str] = []
    end = -2
    for match in _NUMBER_WORD.finditer(folded):
        word = match.group()
        joined = pending is not None and match.start() - end <= 1
        if pending is not None and not joined:
            yield from _stated(pending, said)
            pending = None
        small = SMALL_NUMBERS.get(word)
        tens = UNITS_OF_TEN.get(word)
        if small is not None or tens is not None:
            value = float(small if small is not None else (tens or 0) * 10)
            if not pending:
                pending, said = 0.0, []
            pending += value
            said.append(word)
        elif pending:
            pending *= MULTIPLIERS[word]
            said.append(word)
        elif pending is not None:
            yield from _stated(pending, said)
            pending = None
        end = match.end()
    if pending is not None:
        yield from _stated(pending, said)


def _stated(value: float, said: Sequence[str]) -> Iterator[Number]:
    # "one" is more often a pronoun than a number.
    if list(said) != ["one"]:
        yield Number(value, NumberKind.PLAIN, " ".join(said))
