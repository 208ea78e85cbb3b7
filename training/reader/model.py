"""The reader: a MiniLM that reads a text and a passage beside each other, with two heads."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

from training.reader.base import BUNDLED_MODEL, load_base

ANSWERED, SUPPORTED, SAME_MEANING = range(3)
"""The classes, each with log-odds of its own."""


class Reader(nn.Module):
    """Gives ``bounds`` (batch, tokens, 2) and ``classes`` (batch, 3), both in log-odds.

    ``bounds`` says of each token whether an answer starts and ends there; the first token stands
    for no answer. ``classes``: the passage holds the answer, it supports the text, both texts mean
    the same.
    """

    def __init__(self, base: Path = BUNDLED_MODEL) -> None:
        super().__init__()
        self.bert = load_base(base)
        width = self.bert.config.hidden_size
        self.span = nn.Linear(width, 2)
        self.cls = nn.Linear(width, 3)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, token_type_ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return bounds and classes."""
        hidden = self.bert(
            input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state
        return self.span(hidden), self.cls(hidden[:, 0])
