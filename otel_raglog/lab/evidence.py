"""Turns a question's known answers and documents into which passages hold what it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from otel_raglog.checks.text.coverage import coverage, question_weights
from otel_raglog.checks.text.words import WordIndex, content_words, words
from otel_raglog.lab.corpus import Document, Question

_NEARLY_ALL = 0.8
_ON_THE_POINT = 0.6
_BESIDE_AN_ANSWER = 0.5
_OF_A_GOLD_DOCUMENT = 0.3
_SHORT = 3


class Holds(StrEnum):
    """Whether a passage holds information that the question needs.

    ``MAYBE`` is for passages that nobody marked and that could: labels which hang on them are
    left out.
    """

    YES = "yes"
    MAYBE = "maybe"
    NO = "no"


def plain(text: str) -> str:
    """Return the folded words of ``text`` with one space between and around them."""
    return f" {' '.join(words(text))} "


def states(text: str, answers: Iterable[str]) -> bool:
    """Whether ``text`` states one of ``answers`` word for word; case and marks never matter."""
    inside = plain(text)
    return any(plain(answer) in inside for answer in answers if words(answer))


class Evidence:
    """Which passages hold what ``question`` needs.

    A passage of a gold document that states an answer does. Where no passage of the gold
    documents states one (yes and no, comparisons, answers across two chunks), those with four
    fifths of an answer's words do, else all of them. A copy of such a passage holds the same.
    Other passages that state an answer and half of the question's words may hold it; so may,
    where answers are no words to look for, passages with most of the question's words.
    """

    def __init__(self, question: Question, documents: Mapping[str, Document]) -> None:
        self.question = question
        self._gold = {
            name: plain(documents[name].text)
            for name in question.gold_docs
            if name in documents and documents[name].text
        }
        self._weights = question_weights(question.text)
        self.stated = any(states(text, question.answers) for text in self._gold.values())

    @property
    def answerable(self) -> bool:
        """Whether the corpus holds the answer."""
        return bool(self._gold)

    def holds(self, text: str) -> Holds:
        """Return whether a passage of this text does; by its text, for ids differ by chunking."""
        folded = plain(text)
        if any(folded.strip() in gold for gold in self._gold.values()):
            return self._of_gold(text)
        covered = self.covered(text)
        if self.stated:
            near = states(text, self.question.answers) and covered >= _BESIDE_AN_ANSWER
            return Holds.MAYBE if near else Holds.NO
        return Holds.MAYBE if covered >= _ON_THE_POINT else Holds.NO

    def covered(self, text: str) -> float:
        """Return the weighted share of the question's words in ``text``."""
        return coverage(self._weights, WordIndex([text]))

    def _of_gold(self, text: str) -> Holds:
        if self.stated:
            if states(text, self.question.answers):
                return Holds.YES
            # A neighbour may repeat the fact in other words, or hold the first hop.
            return Holds.MAYBE if self.covered(text) >= _OF_A_GOLD_DOCUMENT else Holds.NO
        whole = any(len(gold.split()) <= _SHORT * len(text.split()) for gold in self._gold.values())
        if not self._words_to_find():
            return Holds.YES if whole else Holds.MAYBE
        index = WordIndex([text])
        if any(_share(answer, index) >= _NEARLY_ALL for answer in self.question.answers):
            return Holds.YES
        return Holds.YES if whole else Holds.MAYBE

    def _words_to_find(self) -> bool:
        return any(content_words(answer) for answer in self.question.answers)


def _share(answer: str, index: WordIndex) -> float:
    wanted = content_words(answer)
    return sum(map(index.holds, wanted)) / len(wanted) if wanted else 0.0
