"""The batches of the training: pairs of similar length, drawn from the kinds of examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple, TypeAlias, TypeVar

from tokenizers import Tokenizer

from training.reader.pairs import Pair, encode

_Row = TypeVar("_Row")
Row: TypeAlias = list[str | int | None]
Rows: TypeAlias = list[Row]
Examples: TypeAlias = dict[str, Rows]
Contrast: TypeAlias = tuple[Pair, Pair]
"""A right pair and a wrong one."""

CLAIM_KINDS = "BDFBDFBE"
REWRITE_KINDS = "CGCGCG"
SPANS, CLAIMS, REWRITES = 12, len(CLAIM_KINDS), len(REWRITE_KINDS)
"""Examples of a batch; of claims and rewrites, in which proportion the kinds are drawn."""

_POOL = 20
"""Batches drawn at once, so that each can hold pairs of similar length."""

_WITHOUT_QUESTION_SHARE = 0.4
_MIN_CLAIM_WORDS = 6


class Batch(NamedTuple):
    """What one step of the training sees."""

    spans: list[Pair]
    claims: list[Contrast]
    rewrites: list[Contrast]


def batches(examples: Examples, tokenizer: Tokenizer, rng: Random) -> Iterator[Batch]:
    """Yield batches without end; the rows are shuffled in place at each turn."""
    drawn = {kind: _endlessly(rows, rng) for kind, rows in examples.items()}
    while True:
        spans = [encode(tokenizer, *next(drawn["A"])) for _ in range(SPANS * _POOL)]
        claims = [
            _claim_contrast(next(drawn[kind]), tokenizer, rng) for kind in CLAIM_KINDS * _POOL
        ]
        rewrites = [
            rewrite_contrast(next(drawn[kind]), tokenizer) for kind in REWRITE_KINDS * _POOL
        ]
        spans.sort(key=lambda pair: len(pair.ids))
        claims.sort(key=_longer)
        rewrites.sort(key=_longer)
        order = list(range(_POOL))
        rng.shuffle(order)
        for place in order:
            yield Batch(
                _part(spans, place, SPANS),
                _part(claims, place, CLAIMS),
                _part(rewrites, place, REWRITES),
            )


def claim_contrast(row: Row, tokenizer: Tokenizer) -> Contrast:
    """Return the supported claim and the unsupported one, each behind the question, if any."""
    question, supported, unsupported, passage, other_passage = row
    lead = "" if question is None else f"{question} "
    return (
        encode(tokenizer, lead + supported, passage),
        encode(tokenizer, lead + unsupported, other_passage),
    )


def rewrite_contrast(row: Row, tokenizer: Tokenizer) -> Contrast:
    """Return the question with the rewrite of the same meaning, and with the other."""
    question, same, other = row
    return encode(tokenizer, question, same), encode(tokenizer, question, other)


def _endlessly(rows: list[_Row], rng: Random) -> Iterator[_Row]:
    while True:
        rng.shuffle(rows)
        yield from rows


def _part(rows: Sequence[_Row], place: int, size: int) -> list[_Row]:
    return list(rows[place * size : (place + 1) * size])


def _longer(contrast: Contrast) -> int:
    return max(len(pair.ids) for pair in contrast)


def _claim_contrast(row: Row, tokenizer: Tokenizer, rng: Random) -> Contrast:
    """Return the claims, of longer ones many without the question that they answer."""
    question, supported, *rest = row
    alone = rng.random() < _WITHOUT_QUESTION_SHARE and len(supported.split()) > _MIN_CLAIM_WORDS
    return claim_contrast([None if alone else question, supported, *rest], tokenizer)
