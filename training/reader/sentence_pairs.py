"""Examples D: a sentence of a passage in other words, and the same with one fact damaged."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import TypeAlias

from training.reader.answers import ClaimPair, is_read_whole
from training.reader.corpora import DocumentKey, Library
from training.reader.limits import Limits
from training.reader.texts import (
    NAME,
    Span,
    capitalised,
    names_in,
    places,
    replaced,
    sentence_spans,
    sentences,
    share_known,
    uncapitalised,
    words,
)
from training.reader.values import ValueKind, values_in, with_another

_DOCUMENTS, _PAIRS = 30_000, 16_000
_MIN_WORDS, _MAX_WORDS = 8, 40
_MAX_CLAUSE_WORDS = 25
_SHUFFLED_SHARE = 0.6
_LEAD_SHARE = 0.3
_KNOWN_SHARE = 0.6
"""A clause of which more of the words stand in a passage may be supported there."""

_NEGATE = (r"\b(is|are|was|were|has|have|had|can|could|will|would)\b(?! not)", r"\1 not")
_AFFIRM = (r"\b(?<!or )not\b(?! only| necessarily| to mention) ?", "")
_OPPOSITES = dict(
    pair.split("-")
    for pair in (
        "first-last last-first before-after after-before increase-decrease increased-decreased"
        " higher-lower lower-higher more-less less-more north-south south-north east-west west-east"
        " northern-southern southern-northern eastern-western western-eastern largest-smallest"
        " smallest-largest won-lost lost-won most-least early-late late-early began-ended"
        " ended-began all-none many-few male-female brother-sister father-mother mother-father"
        " son-daughter daughter-son major-minor older-younger younger-older American-British"
        " British-American French-German German-French good-bad above-below always-never"
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
_TWO_CLAUSES = re.compile(
    r"^([^,]{20,}), (?:and|but|while) ((?:he|she|it|they|the|this|these|his|her|its|their|[A-Z]).{20,})$"
)
_ASIDE = re.compile(r",\s*(which|who|including|such as)[^,.]*,")
_FILLING = re.compile(
    r"\b(also|however|then|therefore|furthermore|moreover|thus)\b,? ?", re.IGNORECASE
)
_LIST_WORDS = frozenset("and or of the de von van with married between versus vs".split())
_LIKELY: Mapping[ValueKind, int] = {
    "year": 2,
    "month": 1,
    "number": 2,
    "number word": 1,
    "nationality": 1,
    "name": 3,
}
"""How much likelier than most changes another value is."""

Change: TypeAlias = Callable[[], str | None]


def sentence_pairs(library: Library, limits: Limits, rng: Random) -> list[ClaimPair]:
    """Return up to 16,000 pairs, each of one sentence of a document, with no question."""
    keys = list(library.documents)
    rng.shuffle(keys)
    pairs: list[ClaimPair] = []
    for key in keys[:_DOCUMENTS]:
        pairs += _pair_of(key, keys, library, limits, rng)
        if len(pairs) >= _PAIRS:
            break
    rng.shuffle(pairs)
    return pairs


def _pair_of(
    key: DocumentKey, keys: Sequence[DocumentKey], library: Library, limits: Limits, rng: Random
) -> list[ClaimPair]:
    """Return at most one pair of the document."""
    document = library.documents[key]
    fitting = [span for span in sentence_spans(document) if _is_statement(document, span)]
    if not fitting:
        return []
    span = rng.choice(fitting)
    sentence = document[span.begin : span.end]
    other = other_document(sentence, key, keys, library, rng)
    supported = reworded(sentence, rng)
    passage = limits.passage(document, span, limits.room_beside(supported), rng)
    if passage is None:
        return []
    if len(passage.text) == len(sentence):
        limits.dropped["no room for another sentence in the passage"] += 1
        return []
    unsupported = damaged(supported, passage.text, other, rng)
    if not unsupported or unsupported == supported or unsupported in passage.text:
        limits.dropped["nothing to damage"] += 1
        return []
    pair = ClaimPair(None, supported, unsupported, passage.text, passage.text)
    return [pair] if is_read_whole(pair, limits) else []


def _is_statement(document: str, span: Span) -> bool:
    """Return whether a sentence is whole, and neither short nor long."""
    sentence = document[span.begin : span.end]
    return (
        _MIN_WORDS <= len(sentence.split()) <= _MAX_WORDS
        and sentence[0].isalnum()
        and sentence.rstrip('"\u201d)')[-1:] in {".", "!"}
    )


def other_document(
    sentence: str,
    key: DocumentKey | None,
    keys: Sequence[DocumentKey],
    library: Library,
    rng: Random,
) -> str:
    """Return a document that shares the sentence's first name, if any, to take names from."""
    names = names_in(sentence)
    if names:
        alike = [other for other in library.with_word.get(words(names[0])[0], []) if other != key]
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
    """Return the text less brackets, asides or filling words, as drawn.

    Words that limit what is said, such as "about" or "mainly", stay.
    """
    form = rng.random()
    if form < 0.3:  # shares of the rules, which overlap
        text = re.sub(r"\s*\([^()]*\)", "", text)
    if form < 0.5:
        text = _ASIDE.sub(" ", text)
    if 0.3 < form < 0.6:
        text = _FILLING.sub("", text)
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
    changes = [
        *_value_changes(text, passage, other, rng),
        *_swapped_names(text, names_in(text), rng),
        *_opposite_changes(text),
        *_added_clauses(text, passage, other, rng),
    ]
    return rng.choice(changes)() if changes else None


def _value_changes(text: str, passage: str, other: str, rng: Random) -> list[Change]:
    """Another value of each kind that the text has."""
    changes: list[Change] = []
    values = values_in(text)
    for kind, times in _LIKELY.items():
        found = [value for value in values if value.kind == kind]
        if found:
            value = rng.choice(found)
            changes += [
                lambda value=value: with_another(text, value, passage, rng, elsewhere=other)
            ] * times
    return changes


def _swapped_names(text: str, names: Sequence[str], rng: Random) -> list[Change]:
    """Two names in each other's place, unless they stand in one list."""
    distinct = list(dict.fromkeys(names))
    if len(distinct) < 2:
        return []
    one, two = rng.sample(distinct, 2)
    if one in two or two in one or _are_listed(text, one, two):
        return []
    return [lambda: replaced(replaced(replaced(text, one, "\0"), two, one), "\0", two)]


def _are_listed(text: str, one: str, two: str) -> bool:
    """Return whether only names, commas and such words stand between the two."""
    found = sorted(place for name in (one, two) for place in places(text, name)[:1])
    if len(found) < 2:
        return True
    between = re.findall(r"\b[a-z]\w*", text[found[0].end : found[1].begin])
    return not set(between) - _LIST_WORDS


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


def _added_clauses(text: str, passage: str, other: str, rng: Random) -> list[Change]:
    """A sentence of the other document behind the text, or in its place."""
    fitting = [
        sentence
        for sentence in sentences(other)
        if _MIN_WORDS < len(sentence.split()) < _MAX_CLAUSE_WORDS
        and share_known(sentence, passage) < _KNOWN_SHARE
    ]
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
