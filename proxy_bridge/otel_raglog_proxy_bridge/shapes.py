"""JSON data of an unknown API to the places in it that look like queries, texts, scores, vectors."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from otel_raglog_proxy_bridge.formats.fields import at, number
from otel_raglog_proxy_bridge.path_templates import is_plain

_FEWEST_NUMBERS = 8
_MOST_NUMBERS = 64
_MOST_SPOTS = 400
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIRST_IDEOGRAPHIC = 0x2E80
_WHITE = " \t\r\n"

Keys = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Spot:
    """A value and the keys that lead to it."""

    keys: Keys
    value: object

    @property
    def key(self) -> str:
        """The last key that is a name, in small letters without marks."""
        return normal(next((key for key in reversed(self.keys) if isinstance(key, str)), ""))

    def below(self, root: str) -> str:
        """Return the JMESPath expression of this place below ``root``."""
        return joined(root, self.keys)


def joined(root: str, keys: Keys) -> str:
    """Return the JMESPath expression of ``keys`` below ``root``, which may be empty."""
    expression = root
    for key in keys:
        if isinstance(key, int):
            expression += f"[{key}]"
        else:
            quoted = key if _IDENTIFIER.fullmatch(key) else json.dumps(key)
            expression += f".{quoted}" if expression else quoted
    return expression or "@"


def normal(key: str) -> str:
    """Return a key in small letters without marks, since APIs write one name in many ways."""
    return re.sub(r"[^a-z0-9]", "", key.lower())


def spots(data: object, depth: int = 4, *, into_lists: bool = False) -> Iterator[Spot]:
    """Yield ``data`` and what is below it, the shallowest first.

    Keys that look like ids lead nowhere: no other call has them. Of lists, where they are looked
    into at all, the first item stands for the others.
    """
    waiting: deque[Spot] = deque([Spot((), data)])
    for _ in range(_MOST_SPOTS):
        if not waiting:
            return
        spot = waiting.popleft()
        yield spot
        if len(spot.keys) >= depth:
            continue
        if isinstance(spot.value, Mapping):
            waiting.extend(
                Spot((*spot.keys, key), value) for key, value in spot.value.items() if is_plain(key)
            )
        elif into_lists and isinstance(spot.value, list) and spot.value:
            waiting.append(Spot((*spot.keys, 0), spot.value[0]))


def words_in(text: str) -> int:
    """Return how many words a text has, roughly; of ideographs each pair counts."""
    dense = 0 if text.isascii() else sum(ord(mark) >= _FIRST_IDEOGRAPHIC for mark in text)
    return len(text.split()) + dense // 2


def is_text(value: object) -> bool:
    """Tell whether a value is a text that is not blank."""
    return isinstance(value, str) and bool(value.strip(_WHITE))


def texts_in(value: object) -> tuple[str, ...]:
    """Return the texts of a text, or of a list of nothing but texts."""
    if isinstance(value, str):
        return (value,) if is_text(value) else ()
    if isinstance(value, list) and value and all(map(is_text, value)):
        return tuple(value)
    return ()


def is_vector(value: object) -> bool:
    """Tell whether a value is a list of at least eight numbers with fractions: no token ids.

    Of a long list its beginning is looked at.
    """
    if not isinstance(value, list) or len(value) < _FEWEST_NUMBERS:
        return False
    first = value[:_MOST_NUMBERS]
    if any(number(item) is None for item in first):
        return False
    fractions = sum(isinstance(item, float) and not item.is_integer() for item in first)
    return fractions * 2 >= len(first)


def objects_in(value: object) -> tuple[Mapping[str, object], ...]:
    """Return the objects of a list of nothing but objects."""
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return tuple(value)
    return ()


@dataclass(frozen=True, slots=True)
class Column:
    """What the objects of a list have at the same keys; ``None`` where one has nothing."""

    keys: Keys
    values: Sequence[object]

    @property
    def key(self) -> str:
        """The last key, in small letters without marks."""
        return normal(str(self.keys[-1])) if self.keys else ""

    @property
    def expression(self) -> str:
        """The JMESPath expression below one object."""
        return joined("", self.keys)


def columns(objects: Sequence[Mapping[str, object]], depth: int = 3) -> Iterator[Column]:
    """Yield what the objects have in common, the shallowest keys first."""
    for spot in spots(objects[0] if objects else None, depth):
        if spot.keys:
            yield Column(spot.keys, [at(item, *spot.keys) for item in objects])


def are_numbers(values: Sequence[object]) -> bool:
    """Tell whether all values are finite numbers."""
    return bool(values) and all(number(value) is not None for value in values)


def are_ids(values: Sequence[object]) -> bool:
    """Tell whether values could be ids: short texts or whole numbers, no two the same."""
    plain = all(
        (isinstance(value, str) and bool(value) and len(value.split()) == 1)
        or (isinstance(value, int) and not isinstance(value, bool))
        for value in values
    )
    return plain and len(set(map(str, values))) == len(values)


def usual_words(values: Sequence[object]) -> float:
    """Return how many words the middle one of the texts has; 0 when half of them are none."""
    found = [words_in(value) for value in values if isinstance(value, str) and is_text(value)]
    return median(found) if len(found) * 2 > len(values) else 0.0
