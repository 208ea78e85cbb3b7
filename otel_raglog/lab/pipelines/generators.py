"""Generators: a prompt to an answer, by an LLM or, offline, by picking sentences of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from otel_raglog.checks.text.coverage import coverage, question_weights
from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.numbers import NumberKind, numbers
from otel_raglog.checks.text.questions import AnswerKind, answer_kind
from otel_raglog.checks.text.sentences import sentences
from otel_raglog.checks.text.words import WordIndex, words
from otel_raglog.lab.bench import Bench
from otel_raglog.lab.llm import ChatModel, Reply
from otel_raglog.lab.pipelines.templates import Slot

REFUSALS = (
    "I don't know.",
    "I do not know the answer to that based on the context.",
    "The context does not contain the answer to this question.",
    "I'm sorry, but the provided passages do not mention this.",
    "The provided context does not say.",
    "There is no information about this in the sources.",
    "Sorry, I could not find an answer in the documents.",
    "Based on the context, this cannot be determined.",
    "None of the passages answers this question.",
    "I'm unable to answer this from the information provided.",
    "The documents don't specify that.",
    "I don't have enough information to answer.",
)
_LEADS = (
    "Based on the context, ", "According to the passages, ", "The context says that ",
    "According to the context, ", "From the information provided, ", "",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a generator is given; ``question`` is the one that has to be answered, standalone."""

    system: str
    text: str
    question: str
    slots: tuple[Slot, ...]


class Generator(Protocol):
    """Answers a prompt."""

    def answer(self, prompt: Prompt, bench: Bench, rng: Random) -> Reply:
        """Return the answer."""
        ...


@dataclass(frozen=True, slots=True)
class ModelGenerator:
    """An LLM behind an OpenAI-compatible endpoint."""

    model: ChatModel

    def answer(self, prompt: Prompt, bench: Bench, rng: Random) -> Reply:  # noqa: ARG002
        """Return the model's reply to the prompt."""
        return self.model.chat(prompt.system, prompt.text)


@dataclass(frozen=True, slots=True)
class Extractive:
    """Answers with sentences, or a name or number of a sentence, that stand in the prompt.

    Sentences are ranked by cosine and shared words with the question, and whether they hold what
    it asks for. It refuses where none reaches ``refuse_below``. ``noise`` is the standard
    deviation of the slips: real faults, for the wrong sentence gets picked. ``shapes`` weigh
    whole sentence, two sentences, sentence with a lead-in, and span.
    """

    refuse_below: float = 0.5
    noise: float = 0.03
    shapes: tuple[float, float, float, float] = (3, 2, 2, 3)

    def answer(self, prompt: Prompt, bench: Bench, rng: Random) -> Reply:
        """Return an answer out of the prompt's slots, or a refusal."""
        refusal = rng.choice(REFUSALS)
        shape = rng.choices(("sentence", "two", "lead", "span"), self.shapes)[0]
        lead = rng.choice(_LEADS)
        slip = rng.random()
        ranked = self._ranked(prompt, bench, rng)
        if not ranked or ranked[0][0] < self.refuse_below:
            return _reply(prompt, refusal)
        best = ranked[0][1]
        text = best
        if shape == "two" and len(ranked) > 1:
            text = f"{_closed(best)} {_closed(ranked[1][1])}"
        elif shape == "lead":
            text = f"{lead}{_after_lead(best) if lead else best}"
        elif shape == "span":
            text = span_answer(prompt.question, best, slip) or best
        return _reply(prompt, _closed(text) if len(text.split()) > _SHORT else text)

    def _ranked(self, prompt: Prompt, bench: Bench, rng: Random) -> list[tuple[float, str]]:
        """Return the sentences of the prompt, best first; the likeliest by words are encoded."""
        weights = question_weights(prompt.question)
        pool = [
            (coverage(weights, WordIndex([sentence, slot.title])), slot.title, sentence)
            for slot in prompt.slots
            for sentence in sentences(slot.text)
            if len(sentence.split()) >= _SHORT and not sentence.endswith("?")
        ]
        pool = sorted(pool, key=lambda item: -item[0])[:_ENCODED]
        cosines = bench.cosines(prompt.question, [_headed(title, s) for _, title, s in pool])
        kind = answer_kind(prompt.question)
        scored = [
            (
                0.6 * float(cosine) + 0.4 * share + 0.1 * _has(kind, sentence, prompt.question)
                + rng.gauss(0, self.noise),
                sentence,
            )
            for (share, _, sentence), cosine in zip(pool, cosines, strict=True)
        ]  # fmt: skip
        return sorted(scored, key=lambda item: -item[0])


_SHORT = 3
_ENCODED = 10
_TIMES = frozenset({NumberKind.YEAR, NumberKind.MONTH})
_WHO_DID = re.compile(
    r"^who ((?!is\b|was\b|are\b|were\b|did\b|does\b)[a-z]+ .+?)\??$", re.IGNORECASE
)
_DATE = re.compile(
    r"\b(?:(?:\d{1,2} )?(?:January|February|March|April|May|June|July|August|September|October|"
    r"November|December)(?: \d{1,2},?)?(?: \d{4})?|\d{4}s?)\b"
)


def span_answer(question: str, sentence: str, slip: float = 0.0) -> str | None:
    """Return the name, date or number of ``sentence`` that ``question`` may ask for, as an answer.

    Candidates are ranked by their distance to the question's words in the sentence; ``slip`` (0
    to 1) chooses among them, mostly the first. ``None`` where there is none.
    """
    found = [span for span in _spans(question, sentence) if not _told(span, question)]
    if not found:
        return None
    span = found[1] if len(found) > 1 and slip > _FIRST else found[0]
    did = _WHO_DID.match(question.strip())
    if did and slip < _RESTATED:
        return f"{span} {did.group(1)}."
    return f"The answer is {span}." if slip < _FORMAL else span


_FIRST, _RESTATED, _FORMAL = 0.85, 0.5, 0.6


def _spans(question: str, sentence: str) -> list[str]:
    kind = answer_kind(question)
    if kind is AnswerKind.TIME:
        found = [match.group() for match in _DATE.finditer(sentence) if _digit(match.group())]
    elif kind is AnswerKind.COUNT:
        found = [n.text for n in numbers(sentence) if n.kind not in _TIMES]
    elif kind in {AnswerKind.PERSON, AnswerKind.PLACE, AnswerKind.THING}:
        found = [name.text for name in names(sentence)]
    else:
        return []
    asked = [match.start() for match in _words_of(question, sentence)]
    return sorted(found, key=lambda span: _distance(span, sentence, asked))


def _words_of(question: str, sentence: str) -> list[re.Match[str]]:
    index = WordIndex([question])
    return [match for match in re.finditer(r"\w+", sentence) if index.holds(match.group().lower())]


def _distance(span: str, sentence: str, asked: Sequence[int]) -> int:
    at = sentence.lower().find(span.lower())
    return min((abs(at - place) for place in asked), default=at)


def _told(span: str, question: str) -> bool:
    index = WordIndex([question])
    return all(index.holds(word) for word in words(span))


def _digit(text: str) -> bool:
    return any(c.isdigit() for c in text)


def _has(kind: AnswerKind | None, sentence: str, question: str) -> float:
    """Return 1.0 when the sentence holds something of the kind that is asked for."""
    if kind is AnswerKind.TIME:
        return float(bool(_DATE.search(sentence)))
    if kind in {AnswerKind.COUNT, AnswerKind.PERSON, AnswerKind.PLACE}:
        return float(any(not _told(span, question) for span in _spans(question, sentence)))
    return 0.5


def _headed(title: str, sentence: str) -> str:
    return f"{title}: {sentence}" if title else sentence


def _closed(text: str) -> str:
    return text if text.endswith((".", "!", "?", '"', "”")) else f"{text.rstrip(' ,;:')}."


def _after_lead(sentence: str) -> str:
    first = sentence.split(maxsplit=1)[0].lower()
    small = {"the", "a", "an", "it", "in", "on", "this", "these", "he", "she", "they", "its", "as",
             "there", "by", "at", "for", "from", "some", "many", "when", "while", "after"}  # fmt: skip
    return sentence[:1].lower() + sentence[1:] if first in small else sentence


def _reply(prompt: Prompt, text: str) -> Reply:
    # Tokens of English are about three quarters of a word.
    size = len(prompt.system.split()) + len(prompt.text.split())
    return Reply(text, "stop", round(size * 4 / 3), round(len(text.split()) * 4 / 3))
