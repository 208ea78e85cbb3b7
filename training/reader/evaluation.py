"""What a reader gets right of examples that were held back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import torch
from tokenizers import Tokenizer

from training.reader.batches import (
    CLAIM_KINDS,
    REWRITE_KINDS,
    Contrast,
    Examples,
    Row,
    Rows,
    claim_contrast,
    rewrite_contrast,
)
from training.reader.model import ANSWERED, SAME_MEANING, SUPPORTED, Reader
from training.reader.pairs import Pair, encode, padded

_Row = TypeVar("_Row")
_BATCH = 20
_NEVER = -99.0


@torch.no_grad()
def figures(model: Reader, examples: Examples, tokenizer: Tokenizer) -> dict[str, float]:
    """Return how well the model does on each kind of example; leaves it in training mode.

    ``A_auc``: answered or not. ``A_span``: share of answers whose first and last token are found,
    give or take one. Other kinds: share of pairs whose right one scores higher.
    """
    model.eval()
    auc, exact = _span_figures(model, [encode(tokenizer, *row) for row in examples["A"]])
    found = {"A_auc": auc, "A_span": exact}
    for kind in sorted(set(CLAIM_KINDS)):
        rows = examples[kind]
        found[f"{kind}_pair"] = _preferred(model, rows, claim_contrast, SUPPORTED, tokenizer)
    for kind in sorted(set(REWRITE_KINDS)):
        rows = examples[kind]
        found[f"{kind}_pair"] = _preferred(model, rows, rewrite_contrast, SAME_MEANING, tokenizer)
    model.train()
    return {name: round(figure, 3) for name, figure in found.items()}


def _span_figures(model: Reader, pairs: Sequence[Pair]) -> tuple[float, float]:
    scores: list[float] = []
    hits = []
    for batch in _batched(pairs):
        bounds, classes = model(*padded(batch))
        scores += classes[:, ANSWERED].tolist()
        hits += [_is_found(pair, bounds[row]) for row, pair in enumerate(batch) if pair.answered]
    answered = np.array([pair.answered for pair in pairs])
    return _auc(answered, np.array(scores)), float(np.mean(hits))


def _is_found(pair: Pair, bounds: torch.Tensor) -> bool:
    """Return whether start and end are where they should be, give or take a token."""
    passage = bounds[: len(pair.ids)].clone()
    passage[: pair.types.index(1)] = _NEVER
    start, end = passage.argmax(dim=0).tolist()
    return abs(start - pair.start) <= 1 and abs(end - pair.end) <= 1


def _auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Return the share of pairs of a positive and a negative that are in order."""
    ranks = scores.argsort().argsort()
    positives = (labels == 1).sum()
    below = ranks[labels == 1].mean() - positives / 2 + 0.5
    return float(below / (labels == 0).sum())


def _preferred(
    model: Reader,
    rows: Rows,
    contrast_of: Callable[[Row, Tokenizer], Contrast],
    label: int,
    tokenizer: Tokenizer,
) -> float:
    """Return the share of rows whose right pair scores higher than the wrong one."""
    good = 0
    for batch in _batched(rows):
        contrasts = [contrast_of(row, tokenizer) for row in batch]
        right, wrong = (model(*padded(side))[1][:, label] for side in zip(*contrasts, strict=True))
        good += int((right > wrong).sum())
    return good / len(rows)


def _batched(rows: Sequence[_Row]) -> Iterator[Sequence[_Row]]:
    for begin in range(0, len(rows), _BATCH):
        yield rows[begin : begin + _BATCH]
