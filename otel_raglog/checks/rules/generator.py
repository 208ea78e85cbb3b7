"""Measures the answer against the prompt's context, by words, numbers and names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
    not_applicable,
)
from otel_raglog.checks.phrases import listing, number_listing
from otel_raglog.checks.reading import (
    Context,
    answer_of,
    answering_step,
    cited_in,
    claims_of,
    context_of,
    history_of,
    question_of,
    restated,
    retrieved_of,
)
from otel_raglog.checks.text.citations import names_source, without_citations
from otel_raglog.checks.text.claims import LEAD_IN
from otel_raglog.checks.text.coverage import coverage, question_weights
from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.numbers import NumberIndex, NumberKind, numbers
from otel_raglog.checks.text.questions import AnswerKind, answer_kind
from otel_raglog.checks.text.refusals import refusal_share, refuses
from otel_raglog.checks.text.sentences import sentences
from otel_raglog.checks.text.words import WordIndex, content_words, fold, words
from otel_raglog.model import Measurement, Run, Stage

_CUT_REASONS = frozenset(
    {"length", "max_tokens", "max_output_tokens", "model_length", "token_limit"}
)
_BLOCKED_REASONS = frozenset({"content_filter", "safety", "recitation"})
_ENDS = re.compile(r"[.!?:)\]}\"'”’`*|]\s*$")  # noqa: RUF001
_LONG_ANSWER_WORDS = 25
_READ_CHARACTERS = 40_000
_LOW_SUPPORT = 0.4
_PLAIN_NO = re.compile(r"^\W*no\W*(?=[.,;:!]|$)")
_ABOUT_THE_TEXT = frozenset(
    [
        "context",
        "passage",
        "passages",
        "document",
        "documents",
        "text",
        "information",
        "provided",
        "mentioned",
        "stated",
        "according",
        "answer",
        "question",
    ]
)


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer with what may be known to the model without being invented."""

    text: str
    question: str | None
    context: Context
    known: tuple[str, ...]
    """All texts whose words, names and numbers the answer may use."""
    restated: str = ""
    """The answer in the words of a later call, whose numbers count too."""
    labels: str = ""
    """Titles and metadata of chunks: an answer may name its sources by them."""


class GeneratorRules:
    """Finish reason, refusal, and the answer's words, numbers and names that the prompt lacks.

    The context is what the prompt holds. Refusals have no claims, so that grounding is not
    measured on them.
    """

    name = "rules.generator"
    stage = Stage.GENERATOR
    _of_answer = (
        "generator.answer_empty",
        "generator.refusal_share",
        "generator.refuses",
        "generator.unfinished",
    )
    _of_grounding = (
        "generator.numbers_unsupported",
        "generator.names_unsupported",
        "generator.citations_unknown",
        "generator.words_unsupported_share",
        "generator.novel_words",
        "generator.joint_support",
        "generator.answer_kind_missing",
    )
    declarations = (
        Declaration(
            "generator.cut_off",
            Unit.FLAG,
            Suspect.HIGH,
            "1 when the finish reason says that the answer was cut off",
        ),
        Declaration(
            "generator.blocked",
            Unit.FLAG,
            Suspect.HIGH,
            "1 when the finish reason says that a filter stopped the answer",
        ),
        Declaration(
            "generator.answer_empty", Unit.FLAG, Suspect.HIGH, "1 when the answer is empty"
        ),
        Declaration(
            "generator.refusal_share",
            Unit.SHARE,
            Suspect.NEITHER,
            "share of the answer's sentences that decline",
        ),
        Declaration(
            "generator.refuses", Unit.FLAG, Suspect.NEITHER, "1 when the answer as a whole declines"
        ),
        Declaration(
            "generator.unfinished",
            Unit.FLAG,
            Suspect.HIGH,
            "1 when a long answer stops without an end",
        ),
        Declaration(
            "generator.context_empty", Unit.FLAG, Suspect.HIGH, "1 when the prompt holds no context"
        ),
        Declaration(
            "generator.numbers_unsupported",
            Unit.COUNT,
            Suspect.HIGH,
            "numbers of the answer that neither prompt, question nor history has; roundings and small counts are none",
        ),
        Declaration(
            "generator.names_unsupported",
            Unit.COUNT,
            Suspect.HIGH,
            "the same of names; abbreviations of the answer's own words are none",
        ),
        Declaration(
            "generator.words_unsupported_share",
            Unit.SHARE,
            Suspect.HIGH,
            "share of the answer's own words that the prompt lacks",
        ),
        Declaration(
            "generator.novel_words",
            Unit.COUNT,
            Suspect.NEITHER,
            "content words of the answer that the question does not have",
        ),
        Declaration(
            "generator.joint_support",
            Unit.SHARE,
            Suspect.LOW,
            "the best chunk's share of the answer's own words times its coverage of the question",
        ),
        Declaration(
            "generator.citations_unknown",
            Unit.COUNT,
            Suspect.HIGH,
            "sources that the answer cites (a file, a link, a title, a number) of which neither a chunk nor the prompt has any",
        ),
        Declaration(
            "generator.answer_kind_missing",
            Unit.FLAG,
            Suspect.HIGH,
            "1 when a number or time was asked for and none is stated, or a long answer only echoes the question",
        ),
    )
    measures = names_of(declarations)

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has a generator."""
        if not run.generators:
            return
        yield from _finish(run)
        answer, told = claims_of(run), answer_of(run)
        context = context_of(run)
        if answer is None or told is None:
            yield from all_not_applicable(self._of_answer, "answer not recorded")
        else:
            yield from _form(told, answer, cut=_reason(run) in _CUT_REASONS)
        if context is None:
            yield not_applicable("generator.context_empty", "prompt not recorded")
        else:
            empty = not any(piece.strip() for piece in context.pieces)
            yield measured(
                "generator.context_empty",
                float(empty),
                "the prompt holds no context" if empty else "",
            )
        if answer is None or context is None or not answer.strip() or refuses(answer):
            reason = "no claims: the answer is empty, declines, or was not recorded with a prompt"
            yield from all_not_applicable(self._of_grounding, reason)
            return
        question = question_of(run)
        known = (context.known, *((question,) if question else ()), *history_of(run))
        read = LEAD_IN.sub(" ", _claims(answer[:_READ_CHARACTERS]))
        again = without_citations(restated(run)[:_READ_CHARACTERS]).text
        found = _Answer(read, question, context, known, again, _labels(run))
        index = WordIndex((*found.known, found.labels))
        yield from _unsupported(found, index)
        yield _unknown_citations(run, found)
        yield from _support(found, index)


def _claims(answer: str) -> str:
    """Return an answer without the sentences that decline: of these nothing is to be grounded.

    An answer that is accumulated from several chunks says of most that they do not tell.
    """
    kept = [sentence for sentence in sentences(answer) if not refuses(sentence)]
    return answer if not kept or len(kept) == len(sentences(answer)) else "\n".join(kept)


def _labels(run: Run) -> str:
    """Return what the retrieved chunks are called: their titles, ids and other metadata in words."""
    chunks = retrieved_of(run) or ()
    told = (
        str(value)
        for chunk in chunks
        for value in (chunk.title, chunk.id, *chunk.metadata.values())
        if value is not None
    )
    return "\n".join(told)


def _unknown_citations(run: Run, answer: _Answer) -> Measurement:
    """Return how many of the sources that an answer cites were neither retrieved nor shown to it.

    A name can be told only where the chunks have titles or metadata, a number where there are
    fewer chunks and the prompt does not have it either.
    """
    name = "generator.citations_unknown"
    chunks = retrieved_of(run)
    if chunks is None:
        return not_applicable(name, "chunks not recorded")
    cited = cited_in(run)
    shown = "\n".join(answer.known)
    named = any(chunk.title or chunk.metadata for chunk in chunks)
    unknown = [s for s in cited.sources if named and not names_source(s, answer.labels, shown)]
    unknown += [
        f"[{number}]"
        for number in cited.numbers
        if number > len(chunks) and f"[{number}" not in shown
    ]
    return measured(
        name,
        len(unknown),
        f"the answer cites {listing(unknown)}, which was not retrieved" if unknown else "",
    )


def _reason(run: Run) -> str:
    step = answering_step(run)
    return (step.finish_reason or "").casefold().rpartition(".")[2] if step else ""


def _finish(run: Run) -> Iterator[Measurement]:
    reason = _reason(run)
    if not reason:
        yield from all_not_applicable(
            ("generator.cut_off", "generator.blocked"), "finish reason not recorded"
        )
        return
    cut, blocked = reason in _CUT_REASONS, reason in _BLOCKED_REASONS
    yield measured(
        "generator.cut_off",
        float(cut),
        f'the answer was cut off at the token limit (finish reason "{reason}")' if cut else "",
    )
    yield measured(
        "generator.blocked",
        float(blocked),
        f'the answer was stopped by a filter (finish reason "{reason}")' if blocked else "",
    )


def _form(answer: str, claims: str, *, cut: bool) -> Iterator[Measurement]:
    empty = not answer.strip()
    yield measured("generator.answer_empty", float(empty), "the answer is empty" if empty else "")
    share = refusal_share(claims)
    declines = refuses(claims)
    yield measured("generator.refusal_share", share, "part of the answer declines" if share else "")
    yield measured(
        "generator.refuses",
        float(declines),
        "the answer says that it cannot be given" if declines else "",
    )
    long = len(answer.split()) >= _LONG_ANSWER_WORDS
    open_end = long and not _ENDS.search(answer[-20:]) and not cut
    yield measured(
        "generator.unfinished",
        float(open_end),
        "the answer stops inside a sentence" if open_end else "",
    )


def _unsupported(answer: _Answer, index: WordIndex) -> Iterator[Measurement]:
    stated = NumberIndex(answer.known)
    told = (*numbers(answer.text), *numbers(answer.restated))
    missing = {n.value: n for n in told if not stated.holds_about(n)}
    # Small counts are often the answer's own ("two reasons: ...").
    counting = 3
    strange = [
        n
        for n in missing.values()
        if n.value > counting or n.kind in {NumberKind.PERCENT, NumberKind.MONEY}
    ]
    yield measured(
        "generator.numbers_unsupported",
        len(strange),
        f"the answer states {number_listing(strange)}, which the prompt does not have"
        if strange
        else "",
    )
    more = [name for name in names(answer.restated) if name.text not in answer.text]
    unknown = [
        name.text
        for name in (*names(answer.text), *more)
        if name.words
        and sum(not index.holds_name(w) for w in name.words) * 2 > len(name.words)
        and not _abbreviates(name.text, f"{answer.text}\n{answer.restated}")
    ]
    yield measured(
        "generator.names_unsupported",
        len(unknown),
        f"the answer names {listing(unknown)}, which the prompt does not mention"
        if unknown
        else "",
    )


def _abbreviates(name: str, text: str) -> bool:
    """Whether a name is made of the first letters of words in a row, as in *head-up display (HUD)*."""
    initials = "".join(word[0] for word in words(text))
    return name.isupper() and fold(name) in initials


def _support(answer: _Answer, known: WordIndex) -> Iterator[Measurement]:
    asked = WordIndex.of(answer.question or "")
    novel = [
        word
        for word in content_words(answer.text)
        if not asked.holds_related(word) and word not in _ABOUT_THE_TEXT
    ]
    unknown = [word for word in novel if not known.holds_related(word)]
    yield measured("generator.novel_words", len(novel))
    yield measured(
        "generator.words_unsupported_share",
        len(unknown) / max(1, len(novel)),
        f"{len(unknown)} of the answer's {len(novel)} own words are not in the prompt"
        if unknown
        else "",
    )
    yield _joint_support(answer, novel)
    yield _kind_missing(answer, novel)


def _joint_support(answer: _Answer, novel: list[str]) -> Measurement:
    """Return how well one piece of context holds both the question's and the answer's words.

    The product of both shares, of the best piece: an answer whose words stand only in a piece
    that is not about the question is likely taken from another matter.
    """
    name = "generator.joint_support"
    if answer.question is None or not answer.context.pieces or not novel:
        return not_applicable(name, "no question, no context, or no words of the answer's own")
    weights = question_weights(answer.question)
    best = 0.0
    for piece in answer.context.pieces:
        index = WordIndex.of(piece)
        held = sum(index.holds_related(word) for word in novel) / len(novel)
        best = max(best, held * coverage(weights, index))
    return measured(
        name,
        best,
        "no single chunk holds both what was asked and what was answered"
        if best < _LOW_SUPPORT
        else "",
    )


def _kind_missing(answer: _Answer, novel: list[str]) -> Measurement:
    """Return 1.0 when the answer lacks what the question asks for: a number, a time, anything."""
    name = "generator.answer_kind_missing"
    if answer.question is None:
        return not_applicable(name, "no question")
    kind = answer_kind(answer.question)
    digits = any(c.isdigit() for c in answer.text) or bool(numbers(answer.text))
    vague = {"none", "no", "few", "several", "many", "one", "single", "once", "twice", "never"}
    if kind in {AnswerKind.COUNT, AnswerKind.TIME}:
        # No cars is a number of them; a plain no is none.
        stated = set(_PLAIN_NO.sub(" ", fold(answer.text)).split())
        said = digits or bool(vague & stated)
        later = kind is AnswerKind.TIME and bool(
            {"when", "after", "before", "until", "during", "once"} & stated
        )
        missing = not said and not later
        evidence = f"the question asks for {kind}, and the answer states none"
    elif kind in {None, AnswerKind.YES_NO}:
        missing, evidence = False, ""
    else:
        # Wholly the question's own words: an echo. Short answers pick from the question.
        echo_words = 6
        choice = "or" in words(answer.question)
        missing = not novel and not choice and len(sentences(answer.text)[0].split()) > echo_words
        evidence = "the answer only repeats the question's words"
    return measured(name, float(missing), evidence if missing else "")
