"""Trains the reader on its examples and writes its weights."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, softplus

from training.reader.base import BUNDLED_MODEL
from training.reader.batches import CLAIMS, REWRITES, SPANS, Batch, Examples, batches
from training.reader.evaluation import figures
from training.reader.model import ANSWERED, SAME_MEANING, SUPPORTED, Reader
from training.reader.pairs import load_tokenizer, padded

EXAMPLES = Path("build/reader/examples.json")
WEIGHTS = Path("build/reader/reader.pt")
STEPS = 3500
_WARM_UP_STEPS = 100
_LOWEST_RATE = 0.05
_BASE_RATE, _HEAD_RATE = 1e-4, 1e-3
_REWRITE_WEIGHT = 0.5
_SHOW_EVERY, _EVALUATE_EVERY = 20, 400
_SMOOTHING = 0.97
_IMPOSSIBLE = -1e4


class Trainer:
    """A reader in training; ``step`` changes it."""

    def __init__(self, model: Reader, steps: int) -> None:
        self.model = model
        # What words mean was learned from far more text than there is here.
        model.bert.embeddings.word_embeddings.weight.requires_grad_(requires_grad=False)
        self._trained = [p for p in model.parameters() if p.requires_grad]
        base = [p for p in model.bert.parameters() if p.requires_grad]
        heads = [*model.span.parameters(), *model.cls.parameters()]
        self._optimizer = torch.optim.AdamW(
            [{"params": base, "lr": _BASE_RATE}, {"params": heads, "lr": _HEAD_RATE}],
            weight_decay=0.01,
        )
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer,
            lambda step: min(1, (step + 1) / _WARM_UP_STEPS) * max(_LOWEST_RATE, 1 - step / steps),
        )

    def step(self, batch: Batch) -> tuple[float, float, float]:
        """Train on one batch; return the losses of spans, claims and rewrites before it."""
        spans, claims = self._span_and_claim_losses(batch)
        rewrites = self._rewrite_loss(batch)
        loss = spans + claims + _REWRITE_WEIGHT * rewrites
        self._optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self._trained, 1.0)
        self._optimizer.step()
        self._schedule.step()
        return float(spans.detach()), float(claims.detach()), float(rewrites.detach())

    def _span_and_claim_losses(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        supported, unsupported = zip(*batch.claims, strict=True)
        inputs = padded([*batch.spans, *supported, *unsupported])
        bounds, classes = self._read(inputs)
        outside = inputs[1][:SPANS, :, None] == 0
        bounds = bounds[:SPANS].masked_fill(outside, _IMPOSSIBLE)
        starts = cross_entropy(bounds[:, :, 0], torch.tensor([pair.start for pair in batch.spans]))
        ends = cross_entropy(bounds[:, :, 1], torch.tensor([pair.end for pair in batch.spans]))
        answered = binary_cross_entropy_with_logits(
            classes[:SPANS, ANSWERED], torch.tensor([pair.answered for pair in batch.spans])
        )
        support = classes[SPANS:, SUPPORTED]
        return (starts + ends) / 2 + answered, _contrast_loss(support[:CLAIMS], support[CLAIMS:])

    def _rewrite_loss(self, batch: Batch) -> torch.Tensor:
        same, other = zip(*batch.rewrites, strict=True)
        _, classes = self._read(padded([*same, *other]))
        meaning = classes[:, SAME_MEANING]
        return _contrast_loss(meaning[:REWRITES], meaning[REWRITES:])

    def _read(
        self, inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
    ) -> tuple[torch.Tensor, torch.Tensor]:
        with torch.autocast("cpu", torch.bfloat16):
            bounds, classes = self.model(*inputs)
        return bounds.float(), classes.float()


def _contrast_loss(right: torch.Tensor, wrong: torch.Tensor) -> torch.Tensor:
    """Return how far each side is from its label, and the right one from being above the wrong."""
    labels = binary_cross_entropy_with_logits(
        right, torch.ones_like(right)
    ) + binary_cross_entropy_with_logits(wrong, torch.zeros_like(wrong))
    return labels / 2 + softplus(wrong - right).mean()


def losses(
    trainer: Trainer, examples: Examples, tokenizer: Tokenizer, rng: Random
) -> Iterator[tuple[float, float, float]]:
    """Train without end; yield the losses of each step."""
    trainer.model.train()
    for batch in batches(examples, tokenizer, rng):
        yield trainer.step(batch)


def train(
    trainer: Trainer,
    examples: dict[str, Examples],
    tokenizer: Tokenizer,
    *,
    steps: int,
    seed: int,
    out: Path,
) -> None:
    """Train, show losses and figures on the way, and write the weights, also in between.

    The figures are of what was held back (``dev``): of other documents than it trains on.
    """
    begun = time.monotonic()
    shown: tuple[float, ...] = ()
    for step, now in enumerate(losses(trainer, examples["train"], tokenizer, Random(seed))):
        shown = tuple(
            _SMOOTHING * old + (1 - _SMOOTHING) * new
            for old, new in zip(shown or now, now, strict=True)
        )
        if step % _SHOW_EVERY == 0:
            values = " ".join(f"{value:.3f}" for value in shown)
            print(f"{step} {values} {time.monotonic() - begun:.0f}s", flush=True)
        if step + 1 == steps or (step and step % _EVALUATE_EVERY == 0):
            print(f"{step} {figures(trainer.model, examples['dev'], tokenizer)}", flush=True)
            torch.save(trainer.model.state_dict(), out)
        if step + 1 == steps:
            return


def main() -> None:
    """Train the reader as the options say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=Path, default=EXAMPLES, help="file of examples.py")
    parser.add_argument("--base", type=Path, default=BUNDLED_MODEL, help="folder of the MiniLM")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="file to write")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    examples = json.loads(options.examples.read_text("utf-8"))
    trainer = Trainer(Reader(options.base), options.steps)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    tokenizer = load_tokenizer(options.base)
    train(trainer, examples, tokenizer, steps=options.steps, seed=options.seed, out=options.out)


if __name__ == "__main__":
    main()
