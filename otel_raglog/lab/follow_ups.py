"""Turns a question of a corpus into the second turn of a conversation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.sentences import sentences
from otel_raglog.checks.text.words import words
from otel_raglog.lab.corpus import Document, Question

Turns = tuple[tuple[str, str], ...]

_OPENERS = (
    "Tell me about {}.",
    "I have some questions about {}.",
    "What do you know about {}?",
    "Do you have anything on {}?",
    "I'd like to read up on {}.",
)
_WITHOUT_TEXT = "Yes, I have documents about {}. What would you like to know?"
_LONGEST_NAME = 6


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is put: with its history, and as it reads ``standalone``."""

    text: str
    standalone: str
    history: Turns = ()


def as_asked(question: Question) -> Asked:
    """Return the question as the first turn."""
    return Asked(question.text, question.text)


def follow_up(question: Question, documents: Mapping[str, Document], rng: Random) -> Asked | None:
    """Return the question as a follow-up, its entity only named in the turn before.

    The entity is the longest name in the question, or the title of a gold document that stands
    in it. ``None`` when the question names nothing, or nothing would be left of it.
    """
    entity = _entity(question, documents)
    if entity is None:
        return None
    pattern = re.compile(rf"(?<!\w)(?:the )?{re.escape(entity)}('s|’s)?(?!\w)", re.IGNORECASE)  # noqa: RUF001
    text = pattern.sub(lambda match: "its" if match[1] else "it", question.text, count=1)
    left = [word for word in words(text) if word not in {"it", "its"}]
    if text == question.text or len(left) <= _LEAST_LEFT or pattern.search(text):
        return None
    reply = _WITHOUT_TEXT.format(entity)
    for name in question.gold_docs:
        told = [s for s in sentences(documents[name].text) if entity.lower() in s.lower()]
        # What answers the question already would make it needless.
        plain = [s for s in told if not any(a.lower() in s.lower() for a in question.answers)]
        if plain:
            reply = plain[0]
            break
    opener = rng.choice(_OPENERS).format(entity)
    return Asked(text, question.text, (("user", opener), ("assistant", reply)))


_LEAST_LEFT = 2


def _entity(question: Question, documents: Mapping[str, Document]) -> str | None:
    titles = (documents[name].title for name in question.gold_docs if name in documents)
    for title in titles:
        if title and re.search(rf"(?<!\w){re.escape(title)}(?!\w)", question.text, re.IGNORECASE):
            return title
    found = [name.text for name in names(question.text) if len(name.words) <= _LONGEST_NAME]
    return max(found, key=len) if found else None
