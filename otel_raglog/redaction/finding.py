"""Texts to the places in them that look like personal data: by forms and checksums, no dictionaries.

Each finder takes a time in proportion to the text: its expressions never go back over what they
have read, and what they read at one place is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

Place: TypeAlias = tuple[int, int]
"""Start and end in a text."""

Finder: TypeAlias = Callable[[str], Iterator[Place]]

_EMAIL = re.compile(r"(?<![\w.+'-])[\w.+'-]++(?:[@\ufe6b\uff20]|%40)[\w-]++(?:\.[\w-]++)+")

_AT = ("@", "%40", "\ufe6b", "\uff20")

_PHONE = re.compile(
    r"(?<![\w+])(?<!\d\.)(?:"
    r"\+[1-9](?:[ ().\u00a0/-]{0,3}\d){6,14}+(?!\d)"  # +49 (0)30 1234-567
    r"|00[1-9]\d{8,12}+(?!\w)"  # 0049301234567
    r"|\(?0\d{1,4}\)?(?:[ .\u00a0/-]{1,3}\d{2,8}+){1,4}+(?![\w-])"  # 030 / 123 45 67
    r"|\(?\d{3}\)?[ .-]{1,2}\d{3}[ .-]\d{4}(?![\w-])"  # (555) 123-4567
    r")"
)
_FEWEST_DIGITS, _MOST_DIGITS = 9, 15
_FEWEST_INTERNATIONAL = 7

_DIGITS = re.compile(r"(?<!\d)(?<!\d[ \u00a0-])\d(?:[ \u00a0-]?\d){12,}+")
_GROUP = re.compile(r"\d+")
_CARD = re.compile(
    r"4\d{12}(?:\d{3}(?:\d{3})?)?"  # Visa
    r"|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}"  # Mastercard
    r"|3[47]\d{13}|3(?:0[0-5]|[689]\d)\d{11}|35\d{14}"  # American Express, Diners Club, JCB
    r"|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17}|(?:50|5[6-9]|6[379])\d{11,17}"
)
_SHORTEST_CARD, _LONGEST_CARD = 13, 19

_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ \u00a0-]?[A-Za-z0-9]){11,30}+")
_IBAN_LENGTHS: Mapping[str, int] = {
    country: int(length)
    for length, countries in (
        (15, "NO"),
        (16, "BE"),
        (18, "DK FI FK FO GL NL"),
        (19, "MK SI"),
        (20, "AT BA EE KZ LT LU MN XK"),
        (21, "CH HR LI LV"),
        (22, "BG BH CR DE GB GE IE ME RS VA"),
        (23, "AE GI IL IQ OM SO TL"),
        (24, "AD CZ ES MD PK RO SA SE SK TN VG"),
        (25, "LY PT ST"),
        (26, "IS TR"),
        (27, "BI DJ FR GR IT MC MR SM"),
        (28, "AL AZ BY CY DO GT HN HU LB NI PL SV"),
        (29, "BR EG PS QA UA"),
        (30, "JO KW MU YE"),
        (31, "MT SC"),
        (32, "LC"),
        (33, "RU"),
    )
    for country in countries.split()
}


def find_emails(text: str) -> Iterator[Place]:
    """Yield addresses with a dot in their domain, with ``@`` (of any width) or ``%40``."""
    if any(sign in text for sign in _AT):
        for match in _EMAIL.finditer(text):
            quotes = len(match.group()) - len(match.group().lstrip("'"))  # around the address
            yield match.start() + quotes, match.end()


def find_phones(text: str) -> Iterator[Place]:
    """Yield numbers with a country code, and national ones that are written in groups."""
    for match in _PHONE.finditer(text):
        digits = sum(map(str.isdigit, match.group()))
        international = match.group().startswith("+")
        if (_FEWEST_INTERNATIONAL if international else _FEWEST_DIGITS) <= digits <= _MOST_DIGITS:
            yield match.span()


def find_cards(text: str) -> Iterator[Place]:
    """Yield card numbers: an issuer's first digits and length, and Luhn's checksum.

    In one block, or in groups of digits, with other groups before or after them.
    """
    for match in _DIGITS.finditer(text):
        groups = [(start + match.start(), end + match.start()) for start, end in _groups(match)]
        first = 0
        while first < len(groups):
            last = _card_from(text, groups, first)
            if last is None:
                first += 1
            else:
                yield groups[first][0], groups[last][1]
                first = last + 1


def find_ibans(text: str) -> Iterator[Place]:
    """Yield account numbers of the length of their country, and with the right checksum."""
    position = 0
    while match := _IBAN.search(text, position):
        end = _iban_end(match)
        if end is not None:
            yield match.start(), end
        position = match.start() + 4 if end is None else end


FINDERS: Mapping[str, Finder] = {
    "email": find_emails,
    "phone": find_phones,
    "card": find_cards,
    "iban": find_ibans,
}
"""The finders by the name that the option has for them."""


def _groups(match: re.Match[str]) -> Iterator[Place]:
    for group in _GROUP.finditer(match.group()):
        yield group.span()


def _card_from(text: str, groups: list[Place], first: int) -> int | None:
    """Return the number of the last group of the longest card number that begins at ``first``."""
    digits = ""
    found = None
    for number in range(first, len(groups)):
        start, end = groups[number]
        if len(digits) + end - start > _LONGEST_CARD:
            break
        digits += text[start:end]
        if len(digits) >= _SHORTEST_CARD and _CARD.fullmatch(digits) and _luhn(digits):
            found = number
    return found


def _luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) << (place & 1)
        total += value - 9 if value > 9 else value  # noqa: PLR2004  the sum of its two digits
    return total % 10 == 0


def _iban_end(match: re.Match[str]) -> int | None:
    length = _IBAN_LENGTHS.get(match.group()[:2].upper())
    if length is None:
        return None
    characters = ""
    for place, character in enumerate(match.group()):
        if character.isalnum():
            characters += character
        if len(characters) == length:
            moved = characters[4:] + characters[:4]
            number = "".join(str(int(each, 36)) for each in moved)
            return match.start() + place + 1 if int(number) % 97 == 1 else None
    return None
