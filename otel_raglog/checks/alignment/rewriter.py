"""Measures what a rewrite keeps of the question and what of it the question backs, by tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from otel_raglog.checks.alignment.tokens import TextTokens, text_tokens, word_matches
from otel_raglog.checks.check import (
    Declaration,
    Suspect,
    Unit,
    all_not_applicable,
    measured,
    names_of,
)
from otel_raglog.checks.reading import history_of, question_of, rewrites_of, text_of
from otel_raglog.checks.similarity.encoder import TokenEncoder
from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.words import words
from otel_raglog.model import Measurement, RewriteKind, RewriteStep, Run, Stage

_MAX_REWRITES = 16
_MAX_TURNS = 6
_LOST = 0.5


@dataclass(frozen=True, slots=True)
class _Match:
    """A content word with its match among the other side's tokens."""

    word: str
    value: float
    entity: bool


class RewriterAlignment:
    """Each word of the question in the rewrites, and each word of a rewrite in the question.

    A word is matched by its tokens' vectors, so that a synonym counts in part and another name
    hardly. What a rewrite may take from the chat history, or from its own input, is backed.
    Hypothetical passages (HyDE) are exempt.
    """

    name = "alignment.rewriter"
    stage = Stage.REWRITER
    declarations = (
        Declaration(
            "rewriter.token_kept",
            Unit.COSINE,
            Suspect.LOW,
            "mean match of the question's content words in the step's rewrites",
        ),
        Declaration(
            "rewriter.token_kept_least",
            Unit.COSINE,
            Suspect.LOW,
            "the match of the question's worst kept word",
        ),
        Declaration(
            "rewriter.entity_kept_least",
            Unit.COSINE,
            Suspect.LOW,
            "the same among words of names and words with a figure",
        ),
        Declaration(
            "rewriter.token_backed",
            Unit.COSINE,
            Suspect.LOW,
            "mean match of the rewrites' content words in the question, history and own input",
        ),
        Declaration(
            "rewriter.token_backed_least",
            Unit.COSINE,
            Suspect.LOW,
            "the match of the rewrites' worst backed word",
        ),
        Declaration(
            "rewriter.entity_backed_least",
            Unit.COSINE,
            Suspect.LOW,
            "the same among words of names and words with a figure",
        ),
        Declaration(
            "rewriter.token_backed_worst_rewrite",
            Unit.COSINE,
            Suspect.LOW,
            "the lowest mean match of one rewrite of the step",
        ),
        Declaration(
            "rewriter.token_agreement",
            Unit.COSINE,
            Suspect.LOW,
            "harmonic mean of token_kept and token_backed, 0 when one is not positive",
        ),
        Declaration(
            "rewriter.token_weakest",
            Unit.COSINE,
            Suspect.LOW,
            "the lower of token_kept_least and token_backed_least",
        ),
    )
    measures = names_of(declarations)
    _of_both = (
        "rewriter.token_backed_worst_rewrite",
        "rewriter.token_agreement",
        "rewriter.token_weakest",
    )

    def __init__(self, encoder: TokenEncoder) -> None:
        self._encoder = encoder

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield every measurement of ``measures`` for every rewriting step."""
        question = question_of(run)
        for index, step in enumerate(run.rewriters):
            rewrites = rewrites_of(step)[:_MAX_REWRITES]
            if question is None or not rewrites or step.kind is RewriteKind.HYDE:
                reason = "no question, no rewrite, or a hypothetical passage"
                yield from all_not_applicable(self.measures, reason, step=index)
                continue
            yield from self._measure_step(run, question, rewrites, step, index)

    def _measure_step(
        self, run: Run, question: str, rewrites: Sequence[str], step: RewriteStep, index: int
    ) -> Iterator[Measurement]:
        own = text_of(step.input) if step.kind is RewriteKind.CONDENSE else None
        sources = dict.fromkeys(
            (question, *history_of(run)[-_MAX_TURNS:], *((own,) if own is not None else ()))
        )
        asked = text_tokens(question, self._encoder)
        known = [asked, *(text_tokens(t, self._encoder) for t in sources if t != question)]
        written = [text_tokens(rewrite, self._encoder) for rewrite in rewrites]
        kept = _matches(question, asked, written)
        backed = [_matches(t, w, known) for t, w in zip(rewrites, written, strict=True)]
        every = [match for one in backed for match in one]
        yield from _one_side("kept", kept, index)
        yield from _one_side("backed", every, index)
        if not kept or not every:
            yield from all_not_applicable(self._of_both, "no content words", step=index)
            return
        means = [_mean(one) for one in backed if one]
        yield measured("rewriter.token_backed_worst_rewrite", min(means), step=index)
        a, b = _mean(kept), _mean(every)
        agreement = 2 * a * b / (a + b) if min(a, b) > 0 else 0.0
        yield measured(
            "rewriter.token_agreement",
            agreement,
            f"question and rewrite agree word by word by only {agreement:.2f}"
            if agreement < _LOST
            else "",
            step=index,
        )
        weakest = min((*kept, *every), key=lambda match: match.value)
        yield measured("rewriter.token_weakest", weakest.value, step=index)


def _matches(text: str, tokens: TextTokens, others: Sequence[TextTokens]) -> list[_Match]:
    entities = {word for name in names(text) for word in name.words}
    entities |= {word for word in words(text) if any(c.isdigit() for c in word)}
    vectors = np.concatenate([other.vectors for other in others])
    values = word_matches(tokens.words, tokens.vectors, vectors)
    return [
        _Match(word.folded, value, word.folded in entities)
        for word, value in zip(tokens.words, values, strict=True)
    ]


def _one_side(side: str, matches: Sequence[_Match], index: int) -> Iterator[Measurement]:
    whole, least, entity = (
        f"rewriter.token_{side}",
        f"rewriter.token_{side}_least",
        f"rewriter.entity_{side}_least",
    )
    if not matches:
        yield from all_not_applicable((whole, least, entity), "no content words", step=index)
        return
    yield measured(whole, _mean(matches), step=index)
    yield _least(least, side, matches, index)
    entities = [match for match in matches if match.entity]
    if entities:
        yield _least(entity, side, entities, index)
    else:
        yield from all_not_applicable((entity,), "no name and no figure", step=index)


def _least(name: str, side: str, matches: Sequence[_Match], index: int) -> Measurement:
    worst = min(matches, key=lambda match: match.value)
    says = (
        f'nothing in the rewrite comes near "{worst.word}"'
        if side == "kept"
        else f'nothing in the question comes near "{worst.word}" of the rewrite'
    )
    return measured(name, worst.value, says if worst.value < _LOST else "", step=index)


def _mean(matches: Sequence[_Match]) -> float:
    return sum(match.value for match in matches) / len(matches)
