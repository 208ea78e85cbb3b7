"""A text and a passage as the tokens that the reader reads."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from tokenizers import Tokenizer

from training.reader.base import BUNDLED_MODEL, TOKENIZER_FILE
from training.reader.limits import MARKS, MAX_TEXT_TOKENS, MAX_TOKENS

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


def encode(
    tokenizer: Tokenizer,
    text: str,
    passage: str,
    answer: str | None = None,
    place: int | None = None,
) -> Pair:
    """Return the pair as the service cuts it: the text's last tokens, the passage's first.

    ``place`` is where the answer stands in the passage, in characters.

    Raises:
        ValueError: the passage as read does not hold all of the answer.
    """
    text_ids = tokenizer.encode(text, add_special_tokens=False).ids[-MAX_TEXT_TOKENS:]
    encoded = tokenizer.encode(passage, add_special_tokens=False)
    passage_ids = encoded.ids[: MAX_TOKENS - MARKS - len(text_ids)]
    begin = len(text_ids) + 2
    start = end = 0
    if answer is not None and place is not None:
        first, last = _tokens_between(place, place + len(answer), encoded.offsets)
        if last >= len(passage_ids):
            raise ValueError(f"the answer {answer!r} stands behind what is read")
        start, end = begin + first, begin + last
    return Pair(
        [_CLS, *text_ids, _SEP, *passage_ids, _SEP],
        [0] * begin + [1] * (len(passage_ids) + 1),
        start,
        end,
        float(answer is not None),
    )


def _tokens_between(begin: int, end: int, offsets: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the first and the last token of a piece of the passage, in characters."""
    tokens = [i for i, (start, stop) in enumerate(offsets) if stop > begin and start < end]
    return tokens[0], tokens[-1]


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
