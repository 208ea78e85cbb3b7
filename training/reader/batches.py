"""The batches of the training: pairs of similar length, drawn from the four kinds of examples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple, TypeAlias, TypeVar

from tokenizers import Tokenizer

from training.reader.pairs import Pair, encode

_Row = TypeVar("_Row")
Rows: TypeAlias = list[list[str | None]]
Examples: TypeAlias = dict[str, Rows]
Contrast: TypeAlias = tuple[Pair, Pair]
"""A right pair and a wrong one."""

SPANS, CLAIMS, REWRITES = 12, 7, 5
"""Examples of a batch."""

_POOL = 20
"""Batches drawn at once, so that each can hold pairs of similar length."""

_CLAIMS_OF_QUESTIONS = 4
"""Of the seven claims of a batch; the others are sentence pairs."""

_WITHOUT_QUESTION_SHARE = 0.4
_MIN_CLAIM_WORDS = 6
_CROPPED_WORDS = (30, 60)
_WHOLE_SHARE = 0.5


class Batch(NamedTuple):
    """What one step of the training sees."""

    spans: list[Pair]
    claims: list[Contrast]
    rewrites: list[Contrast]


def batches(examples: Examples, tokenizer: Tokenizer, rng: Random) -> Iterator[Batch]:
    """Yield batches without end; the rows are shuffled in place at each turn."""
    drawn = {kind: _endlessly(rows, rng) for kind, rows in examples.items()}
    while True:
        spans = _draw_spans(drawn["A"], tokenizer, rng)
        claims = [
            _claim_contrast(
                next(drawn["B" if i % CLAIMS < _CLAIMS_OF_QUESTIONS else "D"]), tokenizer, rng
            )
            for i in range(CLAIMS * _POOL)
        ]
        rewrites = [rewrite_contrast(next(drawn["C"]), tokenizer) for _ in range(REWRITES * _POOL)]
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


def claim_contrast(row: Sequence[str | None], tokenizer: Tokenizer) -> Contrast:
    """Return the supported claim and the unsupported one, each behind the question, if any."""
    question, supported, unsupported, passage, other_passage = row
    lead = "" if question is None else f"{question} "
    return (
        encode(tokenizer, lead + supported, passage),
        encode(tokenizer, lead + unsupported, other_passage),
    )


def rewrite_contrast(row: Sequence[str | None], tokenizer: Tokenizer) -> Contrast:
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


def _draw_spans(rows: Iterator[list[str | None]], tokenizer: Tokenizer, rng: Random) -> list[Pair]:
    found: list[Pair] = []
    while len(found) < SPANS * _POOL:
        question, passage, answer = next(rows)
        pair = encode(tokenizer, question, _cropped(passage, answer, rng), answer)
        if pair:
            found.append(pair)
    return found


def _claim_contrast(row: list[str | None], tokenizer: Tokenizer, rng: Random) -> Contrast:
    """Return the claims, of longer ones many without the question that they answer."""
    question, supported, *rest = row
    alone = rng.random() < _WITHOUT_QUESTION_SHARE and len(supported.split()) > _MIN_CLAIM_WORDS
    return claim_contrast([None if alone else question, supported, *rest], tokenizer)


def _cropped(passage: str, answer: str | None, rng: Random) -> str:
    """Return the passage or, of half of the longer ones, 30 to 60 words that hold the answer."""
    all_words = passage.split()
    length = rng.randint(*_CROPPED_WORDS)
    if len(all_words) <= length or rng.random() < _WHOLE_SHARE:
        return passage
    last = len(all_words) - length
    if answer is None:
        begin = rng.randrange(last + 1)
        return " ".join(all_words[begin : begin + length])
    place = passage.lower().find(answer.lower())
    answer_words = len(answer.split()) + 1
    if place < 0 or answer_words >= length:
        return passage
    before = len(passage[:place].split())
    begin = rng.randint(
        max(0, min(before + answer_words - length, last)), max(0, min(before, last))
    )
    cropped = " ".join(all_words[begin : begin + length])
    return cropped if answer.lower() in cropped.lower() else passage
