"""Shares a budget of tokens among texts, and shortens those that need more than their share."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_CHARACTERS_PER_TOKEN = 4
"""Of ASCII text."""
_BYTES_PER_TOKEN = 3
"""Of other text in UTF-8: a token for each ideograph, two for three Cyrillic letters."""
_BEGINNING = 2 / 3
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A text as it is shown: whole in ``head``, or its beginning, its end, and how much between."""

    head: str
    left_out: int = 0
    """Characters."""
    tail: str = ""

    @property
    def text(self) -> str:
        """All that is shown."""
        return f"{self.head}\n{self.tail}" if self.left_out else self.head


def estimated_tokens(text: str) -> int:
    """Return how many tokens ``text`` takes at most with the usual tokenizers, by its characters.

    A token for four ASCII characters, for three bytes of other text, for each control character.
    Text without words (long numbers, keys) may take up to twice as many.
    """
    size = len(text.encode("utf-8", "replace"))
    plain = size if text.isascii() else len(text.encode("ascii", "ignore"))
    controls = sum(1 for _ in _CONTROLS.finditer(text))
    return math.ceil(plain / _CHARACTERS_PER_TOKEN + (size - plain) / _BYTES_PER_TOKEN) + controls


def fair_shares(needs: Sequence[int], budget: int) -> tuple[int, ...]:
    """Return how much of ``budget`` each need gets: what it needs, or else an equal share.

    What small needs leave over goes to the great ones.
    """
    shares = [0] * len(needs)
    left = max(0, budget)
    for done, index in enumerate(sorted(range(len(needs)), key=needs.__getitem__)):
        shares[index] = min(needs[index], left // (len(needs) - done))
        left -= shares[index]
    return tuple(shares)


def excerpt(text: str, tokens: int) -> Excerpt:
    """Return ``text``, or two thirds of ``tokens`` from its beginning and the rest from its end."""
    if estimated_tokens(text) <= tokens:
        return Excerpt(text)
    tokens = max(0, tokens - 1)  # for what is said between the two parts
    # No text has fewer tokens than this many characters: what is beyond cannot be shown.
    reach = tokens * _CHARACTERS_PER_TOKEN
    beginning, end = text[:reach], text[-reach:] if reach else ""
    head_tokens = int(tokens * _BEGINNING)
    head = beginning[: _longest(len(beginning), head_tokens, lambda n: beginning[:n])]
    longest_tail = _longest(
        min(len(end), len(text) - len(head)), tokens - head_tokens, lambda n: end[len(end) - n :]
    )
    tail = end[len(end) - longest_tail :]
    return Excerpt(head, len(text) - len(head) - len(tail), tail)


def _longest(length: int, tokens: int, part: Callable[[int], str]) -> int:
    """Return how many characters a part may have, by bisection."""
    return bisect_right(range(length + 1), tokens, key=lambda n: estimated_tokens(part(n))) - 1
