"""Measures whether the context supports the answer, as a cross-encoder reads both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.crossencoder.generator import (
    MAX_WORDS,
    Case,
    likely_answers,
    low,
    read_case,
)
from otel_raglog.checks.crossencoder.passages import Read, clearly_not
from otel_raglog.checks.crossencoder.reader import CrossEncoder
from otel_raglog.checks.text.sentences import sentences
from otel_raglog.checks.text.words import WordIndex, content_words, words
from otel_raglog.model import Measurement, Run, Stage

_MAX_SENTENCES = 6
_HELD_AGAINST = 2
"""Passages that hold most of a claim's words, against which it is read."""

_SUPPORT = (
    low(
        "supported",
        Unit.LOG_ODDS,
        "that a passage supports the answer's sentence, of the one that is supported least",
    ),
    low("supported_asked", Unit.LOG_ODDS, "the same, the sentence being read behind the question"),
    low("supported_whole", Unit.LOG_ODDS, "the same of question and whole answer"),
)
_BESIDE = (
    Declaration(
        "generator.likeliest_supported_gap",
        Unit.LOG_ODDS,
        Suspect.LOW,
        "supported_whole minus the same of the likeliest answer in the answer's place",
    ),
)


class SupportReading:
    """Each sentence of the answer beside the context: two passages with its words, and the best.

    No bundled detector reads this: on labelled sources that the model had not seen, it told
    supported from unsupported answers no better than words do (docs/checks.md). Refusals claim
    nothing and are not measured.
    """

    name = "support.generator"
    stage = Stage.GENERATOR
    declarations = (*_SUPPORT, *_BESIDE)
    measures = names_of(declarations)

    def __init__(self, model: CrossEncoder) -> None:
        self._model = model

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has a generator."""
        if not run.generators:
            return
        case = read_case(run, self._model)
        if not isinstance(case, Case):
            yield from all_not_applicable(self.measures, case)
            return
        yield from self._supported(case)

    def _supported(self, case: Case) -> Iterator[Measurement]:
        question, answer, passages = case.forms[0], case.answer, case.passages
        said = [each for each in sentences(answer) if words(each)][:_MAX_SENTENCES]
        near = [_near(each, passages) for each in said]
        plain = [self._support(each, held) for each, held in zip(said, near, strict=True)]
        if not plain or plain[0] is None:
            reason = "this model does not tell what is supported"
            yield from all_not_applicable(names_of((*_SUPPORT, *_BESIDE)), reason)
            return
        least = [value for value in plain if value is not None]
        weakest = min(least)
        yield measured(
            "generator.supported",
            weakest,
            "no passage of the context seems to support "
            + ("one of the answer's sentences" if len(least) > 1 else "the answer")
            if clearly_not(weakest)
            else "",
        )
        asked = [
            self._support(f"{question} {each}", held) or 0.0
            for each, held in zip(said, near, strict=True)
        ]
        yield measured("generator.supported_asked", min(asked))
        held = _near(answer, passages)
        whole = self._support(f"{question} {answer}", held) or 0.0
        yield measured(
            "generator.supported_whole",
            whole,
            "the context does not seem to support this answer to the question"
            if clearly_not(whole)
            else "",
        )
        candidates = likely_answers(case)
        if not candidates:
            yield from all_not_applicable(names_of(_BESIDE), "the model tells no likely answer")
            return
        likeliest = candidates[0].span.text
        beside = self._support(f"{question} {likeliest}", _near(likeliest, passages)) or 0.0
        yield measured("generator.likeliest_supported_gap", whole - beside)

    def _support(self, claim: str, passages: Sequence[Read]) -> float | None:
        readings = self._model.read([(claim, each.passage) for each in passages])
        found = [each.supports for each in readings if each.supports is not None]
        return max(found, default=None)


def _near(claim: str, passages: Sequence[Read]) -> list[Read]:
    """Return the passages that hold most of a claim's words, and the one that answers best."""
    claimed_words = content_words(claim)[:MAX_WORDS] or words(claim)[:MAX_WORDS]

    def held(read: Read) -> int:
        index = WordIndex.of(read.passage)
        return sum(index.holds_related(word) for word in claimed_words)

    by_words = sorted(passages, key=held, reverse=True)[:_HELD_AGAINST]
    best = max(passages, key=lambda read: read.reading.answers)
    return by_words if best in by_words else [*by_words, best]
