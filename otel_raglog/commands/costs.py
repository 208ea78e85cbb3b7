"""What asking an LLM took, in words."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from otel_raglog.judge.client import Usage


@dataclass(slots=True)
class Cost:
    """USD so far; ``None`` when a price is not known."""

    usd: float | None = 0.0

    def add(self, usd: float | None) -> None:
        """Count what something cost."""
        self.usd = None if self.usd is None or usd is None else self.usd + usd

    def words(self, share: float = 1.0, before: str = "") -> str:
        """Return a ``share`` of it in words."""
        if self.usd is None:
            return "cost unknown (judge.prices)"
        return f"{before}{self.usd * share:.4f} USD"


def counts_in_words(counts: Counter[str]) -> str:
    """Return how often there was what, the most frequent first."""
    return ", ".join(f"{number} {what}" for what, number in counts.most_common())


def tokens_in_words(usage: Usage) -> str:
    """Return the tokens of the prompts and those of the answers."""
    prompt = usage.prompt_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return f"{prompt:,} + {usage.completion_tokens:,} tokens"
