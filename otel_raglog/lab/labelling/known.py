"""What is known of the evidence at each stage of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from otel_raglog.checks.text.survival import PromptText
from otel_raglog.checks.text.words import words
from otel_raglog.lab.evidence import Evidence, Holds, states

Record = Mapping[str, Any]

GONE = 0.15
"""Share of a passage below which nothing of it is in a prompt."""
_INTACT = 0.97


class Known:
    """What is known of the evidence at each stage of one run."""

    def __init__(self, record: Record, evidence: Evidence) -> None:
        self.record = record
        self.evidence = evidence
        self.retrieved: Sequence[Mapping[str, Any]] = record.get("retrieved") or ()
        self.holds = {hit["id"]: evidence.holds(hit["text"]) for hit in self.retrieved}
        texts = {hit["id"]: str(hit["text"]) for hit in self.retrieved}
        self.passed: list[str] = list(record.get("passed") or [h["id"] for h in self.retrieved])
        self.prompt = str(record.get("prompt") or "")
        shown = PromptText(self.prompt)
        self.seen = {name: _seen(shown, texts[name], evidence) for name in self.passed}
        self.in_prompt = [min_holds(self.holds[name], seen) for name, seen in self.seen.items()]

    def of(self, names_: Sequence[str], holds: Holds) -> list[str]:
        """Return those of ``names_`` whose passages hold evidence as surely as ``holds``."""
        return [name for name in names_ if self.holds[name] is holds]

    @property
    def context(self) -> Holds:
        """Whether the prompt holds what the question needs."""
        if Holds.YES in self.in_prompt:
            return Holds.YES
        return Holds.MAYBE if Holds.MAYBE in self.in_prompt else Holds.NO


def min_holds(held: Holds, seen: Holds) -> Holds:
    """Return the less certain of two."""
    order = (Holds.NO, Holds.MAYBE, Holds.YES)
    return min(held, seen, key=order.index)


def _seen(prompt: PromptText, text: str, evidence: Evidence) -> Holds:
    """Return whether what a passage holds is in the prompt: yes, no, or a part of it."""
    fate = prompt.survival(text)
    if fate.kept >= _INTACT:
        return Holds.YES
    if fate.kept < GONE:
        return Holds.NO
    lost = fate.lost_text.split()
    all_words = words(text)
    kept = " ".join(all_words[: len(all_words) - len(lost)])
    if not evidence.stated or not lost:
        return Holds.MAYBE
    # Words around an answer may be needed as well: it counts as seen with a few behind it.
    return Holds.YES if states(kept, evidence.question.answers) else Holds.NO
