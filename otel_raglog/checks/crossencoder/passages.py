"""Texts to passages that the cross-encoder reads whole, and what it finds in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_raglog.checks.crossencoder.reader import CrossEncoder, Reading, Span
from otel_raglog.checks.text.sentences import sentences

WINDOW_WORDS = 75
"""Words of English that fit beside a question."""

MAX_WINDOWS = 6
"""Passages of one chunk."""

MAX_TEXTS = 12
"""Chunks read of one list, the first ones."""


def windows_of(text: str) -> tuple[str, ...]:
    """Return the text in passages of at most 75 words: its sentences, packed in order.

    At most six (six long sentences at worst, about 400 words as a rule); of a longer text the first
    five and the last are kept.
    """
    if len(text.split()) <= WINDOW_WORDS:
        return (text,)
    found: list[str] = []
    pending: list[str] = []
    for sentence in sentences(text):
        words = sentence.split()
        for begin in range(0, len(words), WINDOW_WORDS):
            part = words[begin : begin + WINDOW_WORDS]
            if pending and len(pending) + len(part) > WINDOW_WORDS:
                found.append(" ".join(pending))
                pending = []
            pending += part
    found.append(" ".join(pending))
    return tuple(found if len(found) <= MAX_WINDOWS else [*found[: MAX_WINDOWS - 1], found[-1]])


_CLEARLY = 1.0
"""Log-odds from which on (about three to one) an explanation says what the model found."""


def clearly(log_odds: float) -> bool:
    """Tell whether the model takes something to be so, by three to one."""
    return log_odds >= _CLEARLY


def clearly_not(log_odds: float) -> bool:
    """Tell whether the model takes something not to be so, by three to one."""
    return log_odds <= -_CLEARLY


@dataclass(frozen=True, slots=True)
class Read:
    """A passage as the model read it beside a form of the question."""

    passage: str
    reading: Reading


@dataclass(frozen=True, slots=True)
class Answered:
    """How well one text answers a question: of its passages, what the best one gives.

    ``answers`` is in log-odds; ``span`` is the likeliest answer, if the model tells any.
    """

    answers: float
    span: Span | None
    passages: tuple[Read, ...]


def answered_by(
    forms: Sequence[str], texts: Sequence[str], model: CrossEncoder
) -> tuple[Answered, ...]:
    """Return how well each text (the first twelve) answers the question, in order.

    ``forms`` are those of the question, at least one; a text answers it as well as the form that
    it answers best.
    """
    return tuple(
        max(each, key=lambda answered: answered.answers)
        for each in zip(*(_answered_by(form, texts, model) for form in forms), strict=True)
    )


def likeliest(found: Sequence[Answered]) -> Span | None:
    """Return the likeliest answer in any of the texts, ``None`` when the model tells none."""
    spans = [each.span for each in found if each.span is not None]
    return max(spans, key=lambda span: span.score, default=None)


def _answered_by(question: str, texts: Sequence[str], model: CrossEncoder) -> tuple[Answered, ...]:
    split = [windows_of(text) for text in texts[:MAX_TEXTS]]
    readings = iter(model.read([(question, window) for windows in split for window in windows]))
    return tuple(
        _best(tuple(Read(window, next(readings)) for window in windows)) for windows in split
    )


def _best(read: tuple[Read, ...]) -> Answered:
    spans = [each.reading.spans[0] for each in read if each.reading.spans]
    return Answered(
        max(each.reading.answers for each in read),
        max(spans, key=lambda span: span.score, default=None),
        read,
    )
