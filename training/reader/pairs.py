"""A text and a passage as the tokens that the reader reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer

from training.reader.base import BUNDLED_MODEL, TOKENIZER_FILE

MAX_TOKENS = 128
MAX_TEXT_TOKENS = 56
_MARKS = 3
_CLS, _SEP = 101, 102


class Pair(NamedTuple):
    """The tokens of a text and a passage; ``start`` and ``end`` are the answer's, or 0 for none."""

    ids: list[int]
    types: list[int]
    start: int
    end: int
    answered: float


def load_tokenizer(folder: Path = BUNDLED_MODEL) -> Tokenizer:
    """Return the folder's tokenizer, which neither pads nor cuts."""
    tokenizer = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def encode(tokenizer: Tokenizer, text: str, passage: str, answer: str | None = None) -> Pair | None:
    """Return the pair, its passage cut around the answer if need be; None if that is not there."""
    text_ids = tokenizer.encode(text, add_special_tokens=False).ids[:MAX_TEXT_TOKENS]
    encoded = tokenizer.encode(passage, add_special_tokens=False)
    room = MAX_TOKENS - _MARKS - len(text_ids)
    begin = len(text_ids) + 2
    cut = start = end = 0
    if answer is not None:
        found = _tokens_of(answer, passage, encoded.offsets)
        if found is None:
            return None
        first, last = found
        if last >= room:
            cut = min(len(encoded.ids) - room, max(0, last - room // 2))
        start, end = begin + first - cut, begin + last - cut
    passage_ids = encoded.ids[cut : cut + room]
    if answer is not None and (start < begin or end >= begin + len(passage_ids)):
        return None
    return Pair(
        [_CLS, *text_ids, _SEP, *passage_ids, _SEP],
        [0] * begin + [1] * (len(passage_ids) + 1),
        start,
        end,
        float(answer is not None),
    )


def _tokens_of(
    answer: str, passage: str, offsets: Sequence[tuple[int, int]]
) -> tuple[int, int] | None:
    """Return the first and the last token of the answer's first place in the passage."""
    place = passage.lower().find(answer.lower())
    if place < 0:
        return None
    stop = place + len(answer)
    tokens = [i for i, (start, end) in enumerate(offsets) if end > place and start < stop]
    return (tokens[0], tokens[-1]) if tokens else None


def padded(pairs: Sequence[Pair]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return ids, mask and types of all pairs, each of shape (pairs, tokens of the longest)."""
    longest = max(len(pair.ids) for pair in pairs)
    ids = torch.zeros(len(pairs), longest, dtype=torch.long)
    mask, types = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, pair in enumerate(pairs):
        ids[row, : len(pair.ids)] = torch.tensor(pair.ids)
        mask[row, : len(pair.ids)] = 1
        types[row, : len(pair.ids)] = torch.tensor(pair.types)
    return ids, mask, types
