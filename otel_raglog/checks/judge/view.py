"""Turns a run into what an LLM is shown of it, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

from otel_raglog.checks.judge.budget import Excerpt, estimated_tokens, excerpt, fair_shares
from otel_raglog.checks.judge.material import Material, Text, Texts, ungraded
from otel_raglog.checks.phrases import counted
from otel_raglog.checks.text.coverage import coverage, question_weights
from otel_raglog.checks.text.words import WordIndex
from otel_raglog.model import Run, Stage

Ranker: TypeAlias = Callable[[str, Sequence[str]], Sequence[float]]
"""Question and texts in; how well each text answers the question out, the higher the better."""

FRAME_TOKENS = 500
"""What headings and the list of stages take, with the question that may follow."""
MARK_TOKENS = 64
"""What the two delimiters around a text take, with a note."""

_SINGLE = frozenset(["question", "answer", "finish reason"])
_FEWEST_TOKENS = 48
_MOST_TEXTS = 12
_MOST_TURNS = 6
_QUESTION, _ANSWER, _QUERIES, _TURNS = 0.25, 0.25, 0.15, 0.1
_FOR_EXCLUDED = 0.25


@dataclass(frozen=True, slots=True)
class Shown:
    """One text of a section; ``note`` is in our own words, never of the run."""

    excerpt: Excerpt
    note: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Texts of one kind. ``missing`` says why there are none, ``notes`` what is not shown."""

    label: str
    shown: tuple[Shown, ...] = ()
    missing: str = ""
    notes: tuple[str, ...] = ()

    def name_of(self, number: int) -> str:
        """Return how the text of that number, from 1, is called."""
        return self.label if self.label in _SINGLE else f"{self.label} {number}"


@dataclass(frozen=True, slots=True)
class JudgeView:
    """What an LLM is shown of a run.

    ``sections`` are in the order in which they are shown. ``stages`` are those that can be graded
    by what is shown; ``ungraded`` says of the other ones why not. ``left_out`` are short phrases
    on what was shortened or is not shown.
    """

    sections: tuple[Section, ...]
    stages: frozenset[Stage]
    ungraded: Mapping[Stage, str]
    left_out: tuple[str, ...] = ()


def by_words(question: str, texts: Sequence[str]) -> Sequence[float]:
    """Return how much of the question's words each text has."""
    weights = question_weights(question)
    return tuple(coverage(weights, WordIndex.of(text)) for text in texts)


def view_of(
    run: Run, *, max_prompt_tokens: int = 8_000, max_excluded: int = 8, rank: Ranker = by_words
) -> JudgeView:
    """Return what is shown of ``run`` in about ``max_prompt_tokens``, as they are estimated.

    The question, the answer, the rewrites and the earlier turns come first, each with a most of
    the budget. Then all passed chunks, of which too long ones keep their beginning and their end.
    When chunks were excluded, a quarter of what is left is kept for them; those shown are the
    ``max_excluded`` that ``rank`` puts first, in the run's order.
    """
    budget = max(0, max_prompt_tokens - FRAME_TOKENS)
    source = Material.of(run)
    first = (
        _within(source.question, int(budget * _QUESTION)),
        _within(source.turns, int(budget * _TURNS), _MOST_TURNS, last=True),
        *_queries(source, int(budget * _QUERIES)),
    )
    last = (
        _within(source.answer, int(budget * _ANSWER)),
        _within(source.finish, _FEWEST_TOKENS + MARK_TOKENS),
    )
    left = budget - sum(map(_tokens, (*first, *last)))
    kept = min(int(left * _FOR_EXCLUDED), sum(map(_need, source.excluded.texts[:max_excluded])))
    ranker = _Ranked(source.question.texts[0].text if source.question.texts else "", rank)
    context = _within(source.context, (left - kept) // (2 if source.passed.texts else 1))
    passed = ranker.best(source.passed, left - kept - _tokens(context), len(source.passed.texts))
    excluded = ranker.best(source.excluded, left - _tokens(passed) - _tokens(context), max_excluded)
    sections = (*first, passed, context, excluded, *last)
    why_not = ungraded(run, source)
    return JudgeView(
        sections,
        frozenset(stage for stage in Stage if stage not in why_not),
        why_not,
        tuple(phrase for section in sections for phrase in _left_out(section)),
    )


def _need(text: Text) -> int:
    return estimated_tokens(text.text) + MARK_TOKENS


def _tokens(section: Section) -> int:
    return sum(estimated_tokens(item.excerpt.text) + MARK_TOKENS for item in section.shown)


def _queries(source: Material, tokens: int) -> tuple[Section, Section]:
    """Return rewrites and embedded texts; what the ones leave over is for the others."""
    needs = [sum(map(_need, texts.texts)) for texts in (source.rewrites, source.embedded)]
    shares = fair_shares(needs, tokens)
    return (
        _within(source.rewrites, shares[0], _MOST_TEXTS),
        _within(source.embedded, shares[1], _MOST_TEXTS),
    )


def _within(source: Texts, tokens: int, most: int = _MOST_TEXTS, *, last: bool = False) -> Section:
    """Return the first (or last) texts that fit, at most ``most``, too long ones shortened."""
    if last:
        fitting = _how_many(source.texts[::-1], tokens, most)
        return _section(source, source.texts[len(source.texts) - fitting :], tokens)
    return _section(source, source.texts[: _how_many(source.texts, tokens, most)], tokens)


def _how_many(texts: Sequence[Text], tokens: int, most: int) -> int:
    """Return how many of ``texts`` fit when they are shortened as far as may be."""
    least = (min(_need(text), _FEWEST_TOKENS + MARK_TOKENS) for text in texts[:most])
    return sum(1 for used in accumulate(least) if used <= tokens)


def _section(source: Texts, chosen: Sequence[Text], tokens: int) -> Section:
    needs = [estimated_tokens(text.text) for text in chosen]
    shares = fair_shares(needs, tokens - MARK_TOKENS * len(chosen))
    shown = tuple(
        Shown(excerpt(text.text, share), text.note)
        for text, share in zip(chosen, shares, strict=True)
    )
    hidden = len(source.texts) - len(chosen)
    notes = (f"{counted(hidden, f'further {source.label}')} not shown",) if hidden else ()
    return Section(source.label, shown, source.missing, (*notes, *source.notes))


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Chooses chunks by how well they answer the question."""

    question: str
    rank: Ranker

    def best(self, source: Texts, tokens: int, most: int) -> Section:
        """Return as many chunks as fit, at most ``most``, in order; the rest is told by number."""
        if _how_many(source.texts, tokens, most) == len(source.texts):
            return _section(source, source.texts, tokens)
        scores = self.rank(self.question, tuple(text.text for text in source.texts))
        ranked = sorted(range(len(source.texts)), key=lambda index: -scores[index])
        fitting = _how_many([source.texts[index] for index in ranked], tokens, most)
        return _section(source, [source.texts[i] for i in sorted(ranked[:fitting])], tokens)


def _left_out(section: Section) -> Iterable[str]:
    yield from section.notes
    cut = [item.excerpt.left_out for item in section.shown if item.excerpt.left_out]
    if cut:
        what = section.label if section.label in _SINGLE else counted(len(cut), section.label)
        yield f"{what} shortened by {sum(cut):,} characters"
