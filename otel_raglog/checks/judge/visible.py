"""Takes out of a text what nobody can see, so that an LLM reads no more than a person would."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

TAGS = range(0xE0000, 0xE0080)
"""Code points that mirror ASCII and are never shown."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]+")
_LINE_ENDS = re.compile(r"\r\n?|[\x85\u2028\u2029]")
_SUBDIVISIONS = ("gbeng", "gbsct", "gbwls")
_FLAG = "|".join(
    "\U0001f3f4" + "".join(chr(TAGS.start + ord(c)) for c in name) + "\U000e007f"
    for name in _SUBDIVISIONS
)
_UNSEEN = re.compile(
    f"(?P<flag>{_FLAG})|"
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ufe00-\ufe0f\U000e0000-\U000e0fff]+"
)
_JOINERS = "\u200c\u200d"
_JOINED = (range(0x0590, 0x2E80), range(0xA840, 0xAC00), range(0x10A00, 0x12000))
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_SELECTORS = range(0xFE00, 0xFE10)
_OF_IDEOGRAPHS = range(0xE0100, 0xE01F0)
_FIRST_IDEOGRAPH = 0x3400
_FIRST_SELECTING_SCRIPT = 0x1000


@dataclass(frozen=True, slots=True)
class Visible:
    """A text without invisible characters, and how many were taken out."""

    text: str
    removed: int = 0


def visible(text: str) -> Visible:
    r"""Return what can be seen of ``text``; its words keep their meaning.

    Line ends become ``\n``. Each run of other control characters, or of surrogates, becomes one
    replacement character (U+FFFD). Zero-width characters, marks of writing direction, soft
    hyphens, tag characters and variation selectors are taken out, except where they are part of
    a word or an emoji: one joiner or non-joiner after a letter of a script that joins (Arabic,
    Indic and others) or after an emoji, one variation selector after a symbol, a digit or an
    ideograph, and the flags of England, Scotland and Wales.
    """
    text = _LINE_ENDS.sub("\n", text)
    seen = text if text.isascii() else _UNSEEN.sub(_part_of_a_word, text)
    return Visible(_CONTROL.sub("\ufffd", seen), len(text) - len(seen))


def _part_of_a_word(match: re.Match[str]) -> str:
    """Return what stays of a run of invisible characters: at most a selector and a joiner."""
    if match["flag"]:
        return match.group()
    before = match.string[match.start() - 1] if match.start() else " "
    kept = ""
    for unseen in match.group()[:2]:
        if (not kept and _selects(before, unseen)) or (
            unseen in _JOINERS and not kept.endswith(tuple(_JOINERS)) and _joins(before)
        ):
            kept += unseen
    return kept


def _joins(before: str) -> bool:
    """Tell whether a (non-)joiner after ``before`` shapes a word or an emoji."""
    category = unicodedata.category(before)
    if category[0] in "LM":
        return any(ord(before) in script for script in _JOINED)
    return category == "So" or ord(before) in _SKIN_TONES


def _selects(before: str, unseen: str) -> bool:
    """Tell whether ``unseen`` chooses one of several forms of ``before``."""
    kind = unicodedata.category(before)[0]
    if ord(unseen) in _OF_IDEOGRAPHS:
        return kind == "L" and ord(before) >= _FIRST_IDEOGRAPH
    if ord(unseen) in _SELECTORS:
        return kind in "SNP" or (kind == "L" and ord(before) >= _FIRST_SELECTING_SCRIPT)
    return False
