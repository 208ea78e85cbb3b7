"""A question and sentences to how well each sentence fits the question, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from otel_raglog.checks.alignment.kinds import has_form, spans_of
from otel_raglog.checks.alignment.tokens import Matrix, Sentences, text_tokens
from otel_raglog.checks.similarity.encoder import TokenEncoder
from otel_raglog.checks.text.coverage import question_weights
from otel_raglog.checks.text.questions import AnswerKind, answer_kind

TOP = 3
"""Sentences that count as those which fit a question best."""


@dataclass(frozen=True, slots=True)
class Fit:
    """How the sentences (with the two around each) fit a question.

    ``mean`` and ``least`` are the mean and the lowest match of the question's content tokens,
    ``weighted`` the mean over its words by weight (names and numbers double): one number for
    each sentence, in [-1, 1]. ``similarity`` is the cosine of the sentence alone.
    """

    question: str
    mean: Matrix
    least: Matrix
    weighted: Matrix
    similarity: Matrix

    @property
    def best(self) -> int:
        """The sentence that fits best."""
        return int(np.argmax(self.mean))

    @property
    def top(self) -> tuple[int, ...]:
        """The three sentences that fit best, best first."""
        return tuple(int(i) for i in np.argsort(-self.mean, kind="stable")[:TOP])


def fit_of(forms: Sequence[str], found: Sentences, encoder: TokenEncoder) -> Fit:
    """Return the fit of the sentences to the form of the question that one of them fits best."""
    return max(
        (_fit(form, found, encoder) for form in forms), key=lambda fit: float(np.max(fit.mean))
    )


def _fit(question: str, found: Sentences, encoder: TokenEncoder) -> Fit:
    tokens = text_tokens(question, encoder)
    weights = question_weights(question)
    (vector,) = encoder.encode((question,))
    similarity = np.clip(found.means @ vector, -1.0, 1.0)
    matches = found.windows(found.matches(tokens.vectors))
    if not len(matches):
        nothing = np.zeros(len(found.texts), dtype=np.float32)
        return Fit(question, nothing, nothing, nothing, similarity)
    if not tokens.words:
        mean = matches.mean(axis=0)
        return Fit(question, mean, matches.min(axis=0), mean, similarity)
    content = matches[[row for word in tokens.words for row in word.rows]]
    of_words = np.stack([matches[list(word.rows)].mean(axis=0) for word in tokens.words])
    weight = np.asarray([weights.get(word.folded, 1.0) for word in tokens.words], np.float32)
    weighted = (weight[:, None] * of_words).sum(axis=0) / weight.sum()
    return Fit(question, content.mean(axis=0), content.min(axis=0), weighted, similarity)


@dataclass(frozen=True, slots=True)
class Asked:
    """The spans of the asked kind in each sentence, without those of the question itself."""

    kind: AnswerKind
    own: frozenset[str]
    """Those of the question."""
    spans: tuple[frozenset[str], ...]

    @property
    def holding(self) -> tuple[int, ...]:
        """The sentences that hold a span of the kind."""
        return tuple(i for i, spans in enumerate(self.spans) if spans)


def asked_of(question: str, found: Sentences) -> Asked | None:
    """Return where spans of the asked kind stand; ``None`` when the kind has no form of its own."""
    kind = answer_kind(question)
    if kind is None or not has_form(kind):
        return None
    own = spans_of(question, kind)
    return Asked(kind, own, tuple(spans_of(text, kind) - own for text in found.texts))
