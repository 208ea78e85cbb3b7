"""Examples D: a sentence of a passage in other words, and the same with one fact damaged."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random
from typing import TypeAlias

from training.reader.answers import ClaimPair
from training.reader.corpora import DocumentKey, Library
from training.reader.texts import (
    NAME,
    NUMBER,
    YEAR,
    capitalised,
    names_in,
    sentences,
    uncapitalised,
    window,
    words,
)

_DOCUMENTS, _PAIRS = 30_000, 16_000
_MIN_WORDS, _MAX_WORDS = 8, 40
_MAX_CLAUSE_WORDS = 25
_YEAR_STEPS = (-12, -4, -1, 1, 3, 9)
_SHUFFLED_SHARE = 0.6
_LEAD_SHARE = 0.3
_NEGATE = (r"\b(is|are|was|were|has|have|had|can|could|will|would)\b(?! not)", r"\1 not")
_AFFIRM = (r"\bnot\b ?", "")
_OPPOSITES = dict(
    pair.split("-")
    for pair in (
        "first-last last-first before-after after-before increase-decrease increased-decreased"
        " higher-lower lower-higher more-less less-more north-south south-north east-west west-east"
        " northern-southern southern-northern eastern-western western-eastern largest-smallest"
        " smallest-largest won-lost lost-won most-least early-late late-early began-ended"
        " ended-began all-none many-few male-female brother-sister father-mother mother-father"
        " son-daughter daughter-son major-minor older-younger younger-older American-British"
        " British-American French-German German-French good-bad left-right above-below always-never"
        " never-always often-rarely allowed-forbidden up-down rise-fall rose-fell fell-rose"
        " opened-closed founded-dissolved highest-lowest lowest-highest best-worst long-short"
        " large-small small-large"
    ).split()
)
_OPPOSITE = re.compile(rf"\b({'|'.join(_OPPOSITES)})\b")
_LEADS = (
    "According to the context, ",
    "According to the passage, ",
    "The context states that ",
    "The document says that ",
    "",
)
_FRONTED = re.compile(r"^((?:In|On|At|After|During|Since|By|For) [^,]{3,50}), (.+?)([.!?]?)$")
_TWO_CLAUSES = re.compile(r"^(.{20,}?), (?:and|but|while) (.{25,})$")

Change: TypeAlias = Callable[[], str]


def sentence_pairs(library: Library, rng: Random) -> list[ClaimPair]:
    """Return up to 16,000 pairs, each of one sentence of a document, with no question."""
    keys = [key for key in library.documents if key not in library.excluded]
    rng.shuffle(keys)
    pairs: list[ClaimPair] = []
    for key in keys[:_DOCUMENTS]:
        pairs += _pair_of(key, keys, library, rng)
        if len(pairs) >= _PAIRS:
            break
    rng.shuffle(pairs)
    return pairs


def _pair_of(
    key: DocumentKey, keys: list[DocumentKey], library: Library, rng: Random
) -> list[ClaimPair]:
    """Return at most one pair of the document."""
    document = library.documents[key]
    fitting = [
        sentence
        for sentence in sentences(document)
        if _MIN_WORDS <= len(sentence.split()) <= _MAX_WORDS and sentence[0].isalnum()
    ]
    if len(fitting) < 2:  # alone, a sentence would be the whole passage
        return []
    sentence = rng.choice(fitting)
    passage = window(document, sentence, rng)
    if sentence not in passage:
        return []
    other = _other_document(sentence, key, keys, library, rng)
    supported = reworded(sentence, rng)
    unsupported = damaged(supported, passage, other, rng)
    if not unsupported or unsupported == supported or unsupported in passage:
        return []
    return [ClaimPair(None, supported, unsupported, passage, passage)]


def _other_document(
    sentence: str, key: DocumentKey, keys: list[DocumentKey], library: Library, rng: Random
) -> str:
    """Return a document that shares the sentence's first name, if any, to take names from."""
    names = names_in(sentence)
    if names:
        alike = [
            other
            for other in library.with_word.get(words(names[0])[0], [])
            if other != key and other not in library.excluded
        ]
        if alike:
            return library.documents[rng.choice(alike)]
    return library.documents[rng.choice(keys)]


def reworded(sentence: str, rng: Random) -> str:
    """Return the sentence in other words of the same meaning: shortened, turned, introduced."""
    text = _turned(_shortened(sentence, rng), rng)
    lead = rng.choice(_LEADS)
    if lead and rng.random() < _LEAD_SHARE:
        name = NAME.match(text)
        begins_with_name = name is not None and len(name.group(0).split()) > 1
        text = lead + (text if begins_with_name else uncapitalised(text))
    return " ".join(text.split())


def _shortened(text: str, rng: Random) -> str:
    """Return the text less brackets, asides or filling words, as drawn."""
    form = rng.random()
    if form < 0.3:  # shares of the rules, which overlap
        text = re.sub(r"\s*\([^)]*\)", "", text)
    if form < 0.5:
        text = re.sub(r",\s*(which|who|including|such as)[^,.]*,", " ", text)
    if 0.3 < form < 0.6:
        text = re.sub(
            r"\b(also|however|then|therefore|furthermore|moreover|thus|mainly|approximately|about)"
            r"\b,? ?",
            "",
            text,
            flags=re.IGNORECASE,
        )
    return text


def _turned(text: str, rng: Random) -> str:
    """Return the text with its opening phrase at the end, or one of its two clauses, as drawn."""
    fronted = _FRONTED.match(text)
    if fronted and rng.random() < _SHUFFLED_SHARE:
        opening, rest, stop = fronted.groups()
        text = f"{capitalised(rest)} {uncapitalised(opening)}{stop or '.'}"
    clauses = _TWO_CLAUSES.match(text)
    if clauses and rng.random() < _SHUFFLED_SHARE:
        text = rng.choice([f"{clauses.group(1)}.", capitalised(clauses.group(2))])
    return text


def damaged(text: str, passage: str, other: str, rng: Random) -> str | None:
    """Return the text with one thing that the passage does not state, or None.

    Values that stand elsewhere in the passage are preferred: what is wrong must not be seen from
    the words alone. ``other`` is a document that gives names and clauses.
    """
    years, names = YEAR.findall(text), names_in(text)
    numbers = [number for number in NUMBER.findall(text) if number not in years]
    year, number, name = (rng.choice(found) if found else None for found in (years, numbers, names))
    near = _near_values(passage, year, number, name)
    changes = [
        *_year_changes(text, year, near, rng),
        *_number_changes(text, number, near, rng),
        *_name_changes(text, name, near, other, rng),
        *_swapped_names(text, names, rng),
        *_opposite_changes(text),
        *_added_clauses(text, other, rng),
    ]
    return rng.choice(changes)() if changes else None


def _near_values(passage: str, year: str | None, number: str | None, name: str | None) -> list[str]:
    """Return what may stand in for a value of the text: names, or else numbers, or else years.

    One list for all three, so a number of a text with a name may become a name of the passage.
    """
    if name:
        return [found for found in names_in(passage) if found not in name and name not in found]
    if number:
        return [found for found in NUMBER.findall(passage) if found != number]
    return [found for found in YEAR.findall(passage) if found != year]


def _year_changes(text: str, year: str | None, near: list[str], rng: Random) -> list[Change]:
    """Another year (twice as likely as most changes)."""
    if not year:
        return []

    def change() -> str:
        if near and rng.random() < 0.6:
            return text.replace(year, rng.choice(near))
        return text.replace(year, str(int(year) + rng.choice(_YEAR_STEPS)))

    return [change] * 2


def _number_changes(text: str, number: str | None, near: list[str], rng: Random) -> list[Change]:
    """Another number (twice as likely as most changes)."""
    if not number:
        return []

    def change() -> str:
        if near and rng.random() < 0.5:
            return text.replace(number, rng.choice(near), 1)
        return text.replace(number, str(rng.randint(2, 99)), 1)

    return [change] * 2


def _name_changes(
    text: str, name: str | None, near: list[str], other: str, rng: Random
) -> list[Change]:
    """Another name in its place (three times as likely as most changes)."""
    if not name:
        return []
    pool = near if near and rng.random() < 0.7 else names_in(other)
    pool = [found for found in pool if found != name]
    return [lambda: text.replace(name, rng.choice(pool))] * 3 if pool else []


def _swapped_names(text: str, names: list[str], rng: Random) -> list[Change]:
    """Two names in each other's place."""
    if len(names) < 2:
        return []
    one, two = rng.sample(names, 2)
    if one in two or two in one:
        return []
    return [lambda: text.replace(one, "\0").replace(two, one).replace("\0", two)]


def _opposite_changes(text: str) -> list[Change]:
    """The opposite of a word (twice as likely), a "not" more or less."""
    changes: list[Change] = []
    found = _OPPOSITE.search(text)
    if found:
        opposite = _OPPOSITES[found.group(1)]
        changes += [lambda: text[: found.start()] + opposite + text[found.end() :]] * 2
    pattern, replacement = _AFFIRM if re.search(r"\bnot\b", text) else _NEGATE
    if re.search(pattern, text):
        changes.append(lambda: re.sub(pattern, replacement, text, count=1))
    return changes


def _added_clauses(text: str, other: str, rng: Random) -> list[Change]:
    """A sentence of the other document behind the text, or in its place."""
    fitting = [s for s in sentences(other) if _MIN_WORDS < len(s.split()) < _MAX_CLAUSE_WORDS]
    if not fitting:
        return []
    clause = rng.choice(fitting).rstrip(".")
    return [
        lambda: (
            text.rstrip(".")
            + rng.choice([", and ", ", because ", ", although "])
            + uncapitalised(clause)
            + "."
        ),
        lambda: f"{clause}.",
    ]
