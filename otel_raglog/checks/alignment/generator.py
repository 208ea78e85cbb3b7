"""Measures how the answer's words are held by single sentences of the context, and which ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from otel_raglog.checks.alignment.fit import TOP, Fit, asked_of, fit_of
from otel_raglog.checks.alignment.kinds import spans_of
from otel_raglog.checks.alignment.tokens import (
    Matrix,
    Sentences,
    TextTokens,
    sentences_of,
    text_tokens,
)
from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.phrases import listing
from otel_raglog.checks.reading import claims_of, context_of, question_forms
from otel_raglog.checks.similarity.encoder import TokenEncoder
from otel_raglog.checks.text.claims import claimed
from otel_raglog.checks.text.coverage import question_weights
from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.numbers import NumberIndex, numbers
from otel_raglog.checks.text.refusals import refuses
from otel_raglog.checks.text.sentences import sentence_spans, sentences
from otel_raglog.checks.text.words import WordIndex, content_words, stem, words
from otel_raglog.model import Measurement, Run, Stage

_MAX_WORDS = 300
_MAX_PLACES = 60
_LOW = 0.5
_FAR = 0.1
_LEAST = 1e-6
_FEWEST_WORDS = 2


@dataclass(frozen=True, slots=True)
class _Case:
    """A question, what the answer claims, and the sentences of context it is held against."""

    forms: tuple[str, ...]
    answer: str
    tokens: TextTokens
    asked: WordIndex
    found: Sentences
    fit: Fit
    matches: Matrix
    """Of all tokens of the answer, in each sentence."""

    def is_own(self, word: str) -> bool:
        """Whether a word is the answer's own: none that the question has in some form."""
        return not self.asked.holds_related(word)


def _low(name: str, unit: Unit, meaning: str) -> Declaration:
    return Declaration(f"generator.{name}", unit, Suspect.LOW, meaning)


def _high(name: str, unit: Unit, meaning: str) -> Declaration:
    return Declaration(f"generator.{name}", unit, Suspect.HIGH, meaning)


_COVERED = (
    _low(
        "best_sentence_coverage",
        Unit.SHARE,
        "share of the answer's content words in the context sentence that has most of them",
    ),
    _low(
        "top_sentences_coverage",
        Unit.SHARE,
        "the same in the three sentences that have most of them, together",
    ),
    _low(
        "window_coverage",
        Unit.SHARE,
        "the same in three neighbouring sentences, of which the best",
    ),
    _low(
        "rare_words_coverage",
        Unit.SHARE,
        "the same in the best sentence, words weighted by their rarity in the context",
    ),
    _low(
        "worst_sentence_coverage",
        Unit.SHARE,
        "window_coverage of the answer's sentence where it is least",
    ),
    _low("verbatim_pairs", Unit.SHARE, "share of the answer's pairs of words that the context has"),
    _low(
        "verbatim_runs",
        Unit.SHARE,
        "squared lengths of the runs of words taken from the context, as a share of the answer's "
        "squared length (density: Grusky et al. 2018)",
    ),
    _high(
        "numbers_missing_near",
        Unit.COUNT,
        "numbers of the answer that neither the question nor the best three neighbouring "
        "sentences state",
    ),
    _high("names_missing_near", Unit.COUNT, "the same of names"),
)
_MATCHED = (
    _low(
        "token_best_mean",
        Unit.COSINE,
        "mean match of the answer's content tokens in the best single sentence",
    ),
    _low("token_best_least", Unit.COSINE, "its worst matched token in that sentence"),
    _low("token_best_quarter", Unit.COSINE, "the lower quartile of the matches in that sentence"),
    _low("token_window_mean", Unit.COSINE, "mean match in the best three neighbouring sentences"),
    _low(
        "token_window_least",
        Unit.COSINE,
        "the worst matched token in the three neighbouring sentences where that is best",
    ),
    _low("token_context_mean", Unit.COSINE, "mean match of the tokens in the whole context"),
    _low("token_context_least", Unit.COSINE, "the worst matched token in the whole context"),
    _low("token_context_tenth", Unit.COSINE, "the lowest tenth of the matches in the context"),
    _low(
        "worst_sentence_tokens",
        Unit.COSINE,
        "token_best_mean of the answer's sentence where it is least",
    ),
    _low(
        "answer_sentence_similarity",
        Unit.COSINE,
        "cosine of the answer and the most similar sentence of context",
    ),
    _low(
        "statement_similarity",
        Unit.COSINE,
        "cosine of question and answer together and the most similar sentence of context",
    ),
)
_OWN = (
    _low(
        "own_token_best_mean",
        Unit.COSINE,
        "token_best_mean of the words alone that are not in the question",
    ),
    _low("own_token_best_least", Unit.COSINE, "the worst matched of them in the best sentence"),
    _low("own_token_context_least", Unit.COSINE, "the worst matched of them in the context"),
    _low(
        "statement_token_best_mean",
        Unit.COSINE,
        "own_token_best_mean, the answer being read as what follows the question",
    ),
    _low("statement_token_best_least", Unit.COSINE, "own_token_best_least, read so"),
)
_PLACED = (
    _low(
        "joint_words",
        Unit.SHARE,
        "the share of the answer's own words times the question's coverage, of the three "
        "neighbouring sentences where that is most",
    ),
    _low(
        "joint_tokens",
        Unit.COSINE,
        "the mean match of the answer's own tokens times that of the question's, of the three "
        "neighbouring sentences where that is most",
    ),
    _low(
        "own_words_at_best_fit",
        Unit.SHARE,
        "share of the answer's own words in and beside the sentence that fits the question best",
    ),
    _low(
        "own_words_near_best_fit",
        Unit.SHARE,
        "the same of the best of the three sentences that fit it best",
    ),
    _low(
        "own_tokens_at_best_fit",
        Unit.COSINE,
        "mean match of the answer's own tokens in and beside the sentence that fits best",
    ),
    _low(
        "answer_place_fit",
        Unit.COSINE,
        "how well the place that holds most of the answer's own words fits the question; 0 without",
    ),
    _high(
        "answer_place_gap",
        Unit.DIFFERENCE,
        "the fit of the best sentence minus that of the place that holds the answer",
    ),
    _high(
        "answer_place_rank",
        Unit.SHARE,
        "share of the context's sentences that fit the question better than that place",
    ),
)
_KIND = (
    _low(
        "asked_kind_fit",
        Unit.COSINE,
        "fit of the best sentence that holds what the answer says of the asked kind (a person, a "
        "place, a time, a number, a reason); 0 when none does",
    ),
    _high(
        "asked_kind_gap",
        Unit.DIFFERENCE,
        "the best fit of a sentence that holds only others of the kind minus asked_kind_fit",
    ),
    _low(
        "asked_kind_near",
        Unit.FLAG,
        "1 when one of the three sentences that fit best holds what the answer says of the kind",
    ),
)


class GeneratorAlignment:
    """The answer's words and tokens against single sentences, windows of three, and all context.

    An answer is supported where one place holds its words together; words that are scattered over
    the context prove little. Words of the question are in any context about it, so that the
    answer's own words are also measured alone, and where they stand: at a place that fits the
    question, or at another one. Refusals claim nothing and are not measured.
    """

    name = "alignment.generator"
    stage = Stage.GENERATOR
    declarations = (*_COVERED, *_MATCHED, *_OWN, *_PLACED, *_KIND)
    measures = names_of(declarations)

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` once, if the run has a generator."""
        if not run.generators:
            return
        forms, claims, context = question_forms(run), claims_of(run), context_of(run)
        if not forms or not claims or not claims.strip() or context is None:
            yield from all_not_applicable(self.measures, "no question, answer or prompt")
            return
        if refuses(claims):
            yield from all_not_applicable(self.measures, "the answer declines")
            return
        pieces = [piece for piece in context.pieces if piece.strip()]
        answer = claimed(claims)
        found = sentences_of(pieces, self._encoder)
        tokens = text_tokens(answer, self._encoder)
        if found is None or not content_words(answer) or not tokens.words:
            yield from all_not_applicable(self.measures, "no context, or no words in the answer")
            return
        fit = fit_of(forms, found, self._encoder)
        matches = found.matches(tokens.vectors)
        case = _Case(forms, answer, tokens, WordIndex(forms), found, fit, matches)
        yield from _covered(case)
        yield from self._matched(case)
        yield from self._own(case)
        yield from _kind(case)

    def _matched(self, case: _Case) -> Iterator[Measurement]:
        found, tokens = case.found, case.tokens
        each = case.matches[[row for word in tokens.words for row in word.rows]]
        best = np.take(each, int(np.argmax(each.mean(axis=0))), axis=1)
        windows = found.windows(each)
        anywhere = each.max(axis=1)
        worst, place = _worst_sentence(case)
        statement = f"{case.forms[0]} {case.answer}"
        vectors = self._encoder.encode((case.answer, statement))
        to_answer, to_statement = np.clip(found.means @ vectors.T, -1.0, 1.0).max(axis=0).tolist()
        lowest = min(tokens.words, key=lambda word: float(np.max(windows[_at(word, case)])))
        values = {
            "token_best_mean": best.mean(),
            "token_best_least": np.min(best),
            "token_best_quarter": np.quantile(best, 0.25),
            "token_window_mean": np.max(windows.mean(axis=0)),
            "token_window_least": np.max(windows.min(axis=0)),
            "token_context_mean": anywhere.mean(),
            "token_context_least": np.min(anywhere),
            "token_context_tenth": np.quantile(anywhere, 0.1),
            "worst_sentence_tokens": worst,
            "answer_sentence_similarity": to_answer,
            "statement_similarity": to_statement,
        }
        says = {
            "token_window_least": f'nothing in the context comes near "{lowest.folded}" of the '
            "answer"
            if float(np.max(windows[_at(lowest, case)])) < _LOW
            else "",
            "worst_sentence_tokens": f"no sentence of the context says what sentence {place + 1} "
            "of the answer does"
            if worst < _LOW
            else "",
        }
        for name, value in values.items():
            yield measured(f"generator.{name}", float(value), says.get(name, ""))

    def _own(self, case: _Case) -> Iterator[Measurement]:
        own = case.tokens.rows(case.is_own)
        words_own = [w for w in content_words(case.answer) if case.is_own(w)][:_MAX_WORDS]
        if not own or not words_own:
            reason = "the answer has no words but the question's"
            yield from all_not_applicable(names_of((*_OWN, *_PLACED)), reason)
            return
        found = case.found
        each = case.matches[own]
        best = np.take(each, int(np.argmax(each.mean(axis=0))), axis=1)
        asked = case.forms[0]
        read = text_tokens(f"{asked} {case.answer}", self._encoder, start=len(asked) + 1)
        # A long question may leave no room for the answer behind it.
        following = read.of(case.is_own)
        behind = found.matches(following) if len(following) else each
        best_behind = np.take(behind, int(np.argmax(behind.mean(axis=0))), axis=1)
        values = {
            "own_token_best_mean": best.mean(),
            "own_token_best_least": np.min(best),
            "own_token_context_least": np.min(each.max(axis=1)),
            "statement_token_best_mean": best_behind.mean(),
            "statement_token_best_least": np.min(best_behind),
        }
        for name, value in values.items():
            yield measured(f"generator.{name}", float(value))
        yield from _placed(case, words_own, found.windows(each).mean(axis=0))


def _at(word: object, case: _Case) -> int:
    """Return the place of a word's first token among the content tokens."""
    at = 0
    for other in case.tokens.words:
        if other is word:
            return at
        at += len(other.rows)
    return 0


def _covered(case: _Case) -> Iterator[Measurement]:
    found = case.found
    stated = content_words(case.answer)[:_MAX_WORDS]
    held = found.held(stated)
    share = held.mean(axis=0)
    top = np.argsort(-share, kind="stable")[:TOP]
    near = found.windows(held).mean(axis=0)
    place = int(np.argmax(near))
    rarity = np.log1p(1.0 / (held.mean(axis=1) + 1.0 / len(found.texts)))
    rare = (rarity[:, None] * held).sum(axis=0) / rarity.sum()
    missing = [w for w, row in zip(stated, found.windows(held), strict=True) if not row[place]]
    values: dict[str, float] = {
        "best_sentence_coverage": float(np.max(share)),
        "top_sentences_coverage": float(held[:, top].max(axis=1).mean()),
        "window_coverage": float(np.max(near)),
        "rare_words_coverage": float(np.max(rare)),
        "worst_sentence_coverage": _worst_coverage(case),
        "verbatim_pairs": _pairs(case),
        "verbatim_runs": _runs(case),
    }
    says = {
        "window_coverage": f"no place in the context has more than {np.max(near):.0%} of the answer's "
        f"words; the best lacks {listing(missing)}"
        if np.max(near) < _LOW
        else "",
    }
    for name, value in values.items():
        yield measured(f"generator.{name}", min(1.0, value), says.get(name, ""))
    yield from _missing_near(case, place)


def _missing_near(case: _Case, place: int) -> Iterator[Measurement]:
    """Yield the numbers and names that stand elsewhere than beside the answer's other words."""
    pieces = case.found.pieces
    around = [
        i
        for i in (place - 1, place, place + 1)
        if 0 <= i < len(pieces) and pieces[i] == pieces[place]
    ]
    known = (*(case.found.texts[i] for i in around), *case.forms)
    index, stated = WordIndex(known), NumberIndex(known)
    strange = [n.text for n in numbers(case.answer) if not stated.holds_about(n)]
    unknown = [
        name.text
        for name in names(case.answer)
        if name.words and not any(index.holds_name(word) for word in name.words)
    ]
    yield measured(
        "generator.numbers_missing_near",
        len(strange),
        f"the answer states {listing(strange)}, which does not stand beside its other words"
        if strange
        else "",
    )
    yield measured(
        "generator.names_missing_near",
        len(unknown),
        f"the answer names {listing(unknown)}, not beside its other words in the context"
        if unknown
        else "",
    )


def _worst_coverage(case: _Case) -> float:
    shares = []
    for sentence in sentences(case.answer):
        stated = content_words(sentence)[:_MAX_WORDS]
        if len(stated) >= _FEWEST_WORDS:
            shares.append(float(np.max(case.found.windows(case.found.held(stated)).mean(axis=0))))
    if shares:
        return min(shares)
    stated = content_words(case.answer)[:_MAX_WORDS]
    return float(np.max(case.found.windows(case.found.held(stated)).mean(axis=0)))


def _worst_sentence(case: _Case) -> tuple[float, int]:
    """Return the lowest mean match of a sentence of the answer in its best sentence, and which."""
    lowest, place = 1.0, 0
    for number, span in enumerate(sentence_spans(case.answer)):
        rows = [
            row
            for word in case.tokens.words
            for row in word.rows
            if span.start <= case.tokens.starts[row] < span.end
        ]
        if len(rows) >= _FEWEST_WORDS or (number == 0 and rows):
            value = float(np.max(case.matches[rows].mean(axis=0)))
            if value < lowest:
                lowest, place = value, number
    return lowest, place


def _pairs(case: _Case) -> float:
    said = [stem(word) for word in words(case.answer)]
    pairs = list(pairwise(said))
    if not pairs:
        return float(bool(said) and any(i.holds(words(case.answer)[0]) for i in case.found.indices))
    known: set[tuple[str, str]] = set()
    for text in case.found.texts:
        stems = [stem(word) for word in words(text)]
        known.update(pairwise(stems))
    return sum(pair in known for pair in pairs) / len(pairs)


def _runs(case: _Case) -> float:
    said = [stem(word) for word in words(case.answer)][:_MAX_WORDS]
    text = [stem(word) for sentence in case.found.texts for word in words(sentence)]
    places: dict[str, list[int]] = {}
    wanted = set(said)
    for at, word in enumerate(text):
        if word in wanted and len(places.setdefault(word, [])) < _MAX_PLACES:
            places[word].append(at)
    total, at = 0, 0
    while at < len(said):
        longest = max(
            (_run(said, at, text, place) for place in places.get(said[at], ())), default=0
        )
        total += longest * longest
        at += max(1, longest)
    return total / max(1, len(said)) ** 2


def _run(said: Sequence[str], at: int, text: Sequence[str], place: int) -> int:
    length = 0
    while (
        at + length < len(said)
        and place + length < len(text)
        and said[at + length] == text[place + length]
    ):
        length += 1
    return length


def _placed(case: _Case, own: Sequence[str], token_windows: Matrix) -> Iterator[Measurement]:
    found, fit = case.found, case.fit
    held = found.windows(found.held(own)).mean(axis=0)
    weights = dict(islice(question_weights(fit.question).items(), _MAX_WORDS))
    asked = found.windows(found.held(list(weights)))
    total = sum(weights.values())
    weight = np.asarray(list(weights.values()), dtype=np.float32)
    covered = (weight[:, None] * asked).sum(axis=0) / total if total else np.ones(len(found.texts))
    # Where no sentence has any of the answer's own words, it stands nowhere.
    where = np.flatnonzero(held >= max(float(np.max(held)), _LEAST))
    place = float(np.max(fit.mean[where])) if len(where) else 0.0
    gap = float(np.max(fit.mean)) - place
    near = [float(held[i]) for i in fit.top]
    values = {
        "joint_words": float(np.max(held * covered)),
        "joint_tokens": float(np.max(token_windows * fit.mean)),
        "own_words_at_best_fit": near[0],
        "own_words_near_best_fit": max(near),
        "own_tokens_at_best_fit": float(token_windows[fit.best]),
        "answer_place_fit": place,
        "answer_place_gap": gap,
        "answer_place_rank": float((fit.mean > place).mean()) if len(where) else 1.0,
    }
    says = {
        "joint_words": "no three neighbouring sentences hold both what was asked and what was "
        "answered"
        if values["joint_words"] < _LOW
        else "",
        "answer_place_gap": "the answer stands at a place that is less about the question than "
        "another one"
        if gap > _FAR
        else "",
        "own_words_near_best_fit": "the sentences that fit the question best do not hold what was "
        "answered"
        if max(near) == 0
        else "",
    }
    for name, value in values.items():
        yield measured(f"generator.{name}", value, says.get(name, ""))


def _kind(case: _Case) -> Iterator[Measurement]:
    names_ = names_of(_KIND)
    asked = asked_of(case.fit.question, case.found)
    said = spans_of(case.answer, asked.kind) - asked.own if asked is not None else frozenset()
    if asked is None or not said or not asked.holding:
        reason = "the question asks for nothing that is told by its form, or nothing has it"
        yield from all_not_applicable(names_, reason)
        return
    fits = case.fit.mean.tolist()
    hit = {i for i in asked.holding if asked.spans[i] & said}
    others = [fits[i] for i in asked.holding if i not in hit]
    best = max((fits[i] for i in hit), default=0.0)
    gap = max(others, default=0.0) - best
    yield measured("generator.asked_kind_fit", best)
    yield measured(
        "generator.asked_kind_gap",
        gap,
        f"the question asks for {asked.kind}, and a sentence that fits it better holds another one "
        "than the answer's"
        if gap > _FAR
        else "",
    )
    yield measured("generator.asked_kind_near", float(bool(hit & set(case.fit.top))))
