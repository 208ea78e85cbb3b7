"""Plain text work that all examples share: whole words, sentences, names, kinds of answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["date", "year", "number", "number word", "nationality", "name", "phrase"]

MONTHS = tuple(
    "January February March April May June July August September October November December".split()
)
_MONTH = "|".join(MONTHS)
_SENTENCE_END = re.compile(r'[.!?]["\u201d\u2019)\]]*\s+(?=[A-Z0-9"\u201c(])')
_ABBREVIATION = re.compile(
    r"(?:\b[A-Z]|\b(?:Dr|Mr|Mrs|Ms|St|Jr|Sr|No|vs|Mt|Lt|Col|Gen|Prof|Inc|Co|Ltd|Capt|Sgt|Rev|Gov"
    r"|Sen|Rep|Ft|ca|approx|Op|Vol|al|feat|Bros))\.$"
)
DATE = re.compile(
    rf"\b(?:(?:{_MONTH}) \d{{1,2}}, \d{{4}}|\d{{1,2}} (?:{_MONTH}) \d{{4}}|(?:{_MONTH}) \d{{4}})\b"
)
YEAR = re.compile(r"\b1[0-9]{3}\b|\b20[0-9]{2}\b")
NUMBER = re.compile(r"\b\d[\d,.]*\d\b|\b\d\b")
NAME = re.compile(
    r"\b[A-Z][\w'\u2019-]+(?:\s+(?:(?:of the|of|the|de la|de|von|van)\s+)?[A-Z][\w'\u2019-]+)*"
)
NATIONALITIES = tuple(
    "American British English Scottish Irish Welsh French German Italian Spanish Portuguese Dutch"
    " Belgian Swiss Austrian Danish Swedish Norwegian Finnish Polish Czech Hungarian Romanian"
    " Russian Ukrainian Greek Turkish Israeli Iranian Indian Pakistani Chinese Japanese Korean"
    " Australian Canadian Mexican Brazilian Argentine Cuban Egyptian Nigerian".split()
)
NATIONALITY = re.compile(rf"\b(?:{'|'.join(NATIONALITIES)})\b")
QUESTION_WORD = re.compile(
    r"^\s*(who|what|which|when|where|how many|how much|how long|how old|whose|why|how"
    r"|in what year|in which year)\b",
    re.IGNORECASE,
)
LEADING_AUXILIARY = re.compile(
    r"^(is|are|was|were|did|does|do|has|have|had|can|could|will|would)\b\s*", re.IGNORECASE
)
STOP_WORDS = frozenset(
    "a an the of in on at is are was were did does do who what which when where how many much to"
    " for and by with from it its that this as be has have had".split()
)
NUMBER_WORDS = tuple(
    "one two three four five six seven eight nine ten eleven twelve twenty thirty hundred".split()
)
_ARTICLES = frozenset(("The", "A", "An"))
_OPENERS = frozenset(
    "The A An In It He She This On At As For However After When While During Since By From With"
    " Although Though Despite Because There These Those They Their His Her Its If But And Or Of To"
    " Some Many Most Several Other Both One Two Three First Under Before Between Until Unlike"
    " According Also Then Here Where Who Whose What Which Why How Are Is Was Were Do Does Did Has"
    " Have Had Can Could Will Would Yes No Not".split()
)
"""Words with a capital because a sentence begins with them."""

_NO_NAMES = frozenset(
    (
        *MONTHS,
        *NATIONALITIES,
        *"Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    )
)
_SECOND_NAME = re.compile(
    r"\([^()]*\)|\b(?:known|called|nicknamed|styled|stylized|born|n\u00e9e|alias|aka|formerly|renamed"
    r"|abbreviated|names?|named)\b[^.;]{0,30}"
)
_MIN_CANDIDATE_LETTERS = 4
_BETWEEN_PHRASES = re.compile(
    rf"\W*[.,;:()\"\u201c\u201d]\W*|\W*\b(?:{'|'.join(sorted(STOP_WORDS))}|he|she|they|his|her|their|or|but"
    r"|not|into|than|then|also|only|may|can|will|would|could|been|being|after|before|during|such)\b\W*",
    re.IGNORECASE,
)


class Span(NamedTuple):
    """A piece of a text, in characters; ``end`` is behind it."""

    begin: int
    end: int


def words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return re.findall(r"\w+", text.lower())


def normalised(text: str) -> str:
    """Return the words of a text alone: equal for texts that differ in case and punctuation."""
    return " ".join(words(text))


@lru_cache(maxsize=50_000)
def sentence_spans(text: str) -> tuple[Span, ...]:
    """Return where the sentences of a text are, in order.

    A sentence ends where a capital or a number follows a full stop, but not behind an abbreviation.
    """
    found, begin = [], 0
    for match in _SENTENCE_END.finditer(text):
        if not _ABBREVIATION.search(text[begin : match.start() + 1]):
            found.append(Span(begin, len(text[: match.end()].rstrip())))
            begin = match.end()
    return (*found, Span(begin, len(text))) if text[begin:].strip() else tuple(found)


def sentences(text: str) -> list[str]:
    """Return the sentences of a text."""
    return [text[span.begin : span.end] for span in sentence_spans(text)]


def capitalised(text: str) -> str:
    """Return the text with its first letter in upper case."""
    return text[:1].upper() + text[1:]


def uncapitalised(text: str) -> str:
    """Return the text with its first letter in lower case."""
    return text[:1].lower() + text[1:]


@lru_cache(maxsize=50_000)
def _pattern(part: str, *, whole: bool) -> re.Pattern[str]:
    behind = r"(?!\w)" if whole or part[-1:].isdigit() else ""
    return re.compile(rf"(?<!\w){re.escape(part)}{behind}", re.IGNORECASE)


def places(text: str, part: str) -> list[Span]:
    """Return where ``part`` stands in the text as whole words, in any case."""
    if part.lower() not in text.lower():
        return []
    return [Span(*match.span()) for match in _pattern(part, whole=True).finditer(text)]


def holds(text: str, part: str) -> bool:
    """Return whether ``part`` stands in the text, in any case, perhaps with an ending."""
    return part.lower() in text.lower() and _pattern(part, whole=False).search(text) is not None


def knows(text: str, part: str) -> bool:
    """Return whether the words of ``part`` stand in the text one behind the other."""
    return f" {normalised(part)} " in f" {normalised(text)} "


def overlap(one: str, other: str) -> bool:
    """Return whether one of the two stands in the other, in any case."""
    return holds(one, other) or holds(other, one)


def replaced(text: str, part: str, other: str) -> str:
    """Return the text with ``other`` wherever ``part`` stands as whole words of the same case."""
    return re.sub(rf"(?<!\w)(?<!\d[.,]){re.escape(part)}(?!\w)(?![.,]\d)", lambda _: other, text)


def share_known(text: str, passage: str) -> float:
    """Return the share of the text's content words that stand in the passage."""
    content = set(words(text)) - STOP_WORDS
    return len(content & set(words(passage))) / max(1, len(content))


def kind_of(answer: str) -> Kind:
    """Return what an answer is, so that a wrong one of the same kind can be found."""
    answer = answer.strip()
    if DATE.search(answer):
        return "date"
    if YEAR.fullmatch(answer):
        return "year"
    if NUMBER.search(answer):
        return "number"
    if answer.lower() in NUMBER_WORDS:
        return "number word"
    if answer in NATIONALITIES:
        return "nationality"
    return "name" if NAME.search(answer) else "phrase"


def names_in(text: str) -> list[str]:
    """Return the names of a text: capitalised words, as far as they stand together.

    A single word that begins a sentence is a name only if it has a capital elsewhere, too.
    """
    found: list[str] = []
    unsure: dict[int, str] = {}
    inside: set[str] = set()
    for match in NAME.finditer(text):
        begins = _begins_sentence(text, match.start())
        name = _without_openers(match.group(0), _OPENERS if begins else _ARTICLES)
        if len(name) < _MIN_CANDIDATE_LETTERS or name in _NO_NAMES | _OPENERS:
            continue
        if begins and name == match.group(0) and " " not in name:
            unsure[len(found)] = name
        else:
            inside.update(name.split())
        found.append(name)
    return [
        name for place, name in enumerate(found) if place not in unsure or unsure[place] in inside
    ]


def other_names_in(text: str) -> list[str]:
    """Return the names of a text but those that may be second names of what the text is about."""
    return names_in(_SECOND_NAME.sub(" , ", text))


def shares_word(one: str, other: str) -> bool:
    """Return whether both have a word in common, other than the shortest ones."""
    common = set(words(one)) & set(words(other))
    return any(len(word) >= _MIN_CANDIDATE_LETTERS for word in common)


def _begins_sentence(text: str, place: int) -> bool:
    before = text[max(0, place - 12) : place].rstrip('"\u201c( ')
    return not before or (before[-1] in ".!?:" and not _ABBREVIATION.search(before))


def _without_openers(name: str, openers: frozenset[str]) -> str:
    parts = name.split()
    while parts and (parts[0] in openers or parts[0] in {"of", "the", "and", "&"}):
        del parts[0]
    return re.sub(r"['\u2019](s)?$", "", " ".join(parts))


def candidates(text: str, kind: Kind) -> list[str]:
    """Return what stands in a text and could be an answer of that kind."""
    return _CANDIDATES[kind](text)


def _phrases(text: str) -> list[str]:
    """Return the words between stop words and punctuation, up to three together."""
    runs = _BETWEEN_PHRASES.split(text)
    return [run for run in runs if len(run) >= _MIN_CANDIDATE_LETTERS and run.count(" ") <= 2]


_CANDIDATES: dict[Kind, Callable[[str], list[str]]] = {
    "date": DATE.findall,
    "year": YEAR.findall,
    "number": lambda text: [n for n in NUMBER.findall(text) if not YEAR.fullmatch(n)],
    "number word": lambda text: [w for w in words(text) if w in NUMBER_WORDS],
    "nationality": NATIONALITY.findall,
    "name": other_names_in,
    "phrase": _phrases,
}
