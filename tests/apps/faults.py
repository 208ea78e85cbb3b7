"""The seams at which an application can be given a fault: what it embeds, where it searches, what it renders."""

from __future__ import annotations

import base64
import random
import re
from typing import Any

HANDBOOK = "handbook"
NOTICES = "notices"
EMPTY = "handbook-next"


class Faults:
    """The plan of the run at hand; without a fault every method hands back what it was given."""

    def __init__(self) -> None:
        self._plan: dict[str, Any] = {}

    def use(self, plan: dict[str, Any]) -> None:
        """Start a run."""
        self._plan = plan

    def embed_text(self, text: str) -> str:
        """What is given to the embedding model instead of `text`."""
        fault = self._plan.get("embedder")
        if fault is None:
            return text
        return EMBEDDER_FAULTS[fault](text, random.Random(self._plan["salt"]))

    def collection(self) -> str:
        """The collection that is searched."""
        return self._plan.get("collection") or HANDBOOK

    def department(self) -> str | None:
        """The department that the search is narrowed to."""
        return self._plan.get("department")

    def render(self, blocks: list[str]) -> list[str]:
        """The blocks that reach the prompt."""
        fault = self._plan.get("assembly")
        quotes = [need["quote"] for need in self._plan.get("needs", ())]
        if fault == "evidence_dropped":
            return [block for block in blocks if not any(quote in block for quote in quotes)]
        if fault == "evidence_truncated":
            ends = [
                block.index(quote) + len(quote) // 3
                for block in blocks
                for quote in quotes
                if quote in block
            ]
            return [block[: min(ends, default=None)] for block in blocks]
        if fault == "blank_context":
            return []
        return blocks


def truncate(text: str, _: random.Random) -> str:
    """A limit on characters that is far too low."""
    words = text.split()
    return " ".join(words[: max(2, round(len(words) * 0.4))])


def misspell(text: str, rng: random.Random) -> str:
    """Two letters of each of the three longest words change places."""
    words = re.findall(r"[A-Za-z]{5,}", text)
    for word in sorted(set(words), key=lambda word: (-len(word), word))[:3]:
        at = rng.randrange(1, len(word) - 2)
        changed = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        if changed == word:
            changed = word[:at] + word[at + 1 :]
        text = text.replace(word, changed)
    return text


def add_unrelated(text: str, rng: random.Random) -> str:
    """The signature of a mail gets into the text."""
    return f"{text} {rng.choice(UNRELATED)}"


def corrupt(text: str, rng: random.Random) -> str:
    """Bytes read in the wrong encoding, lost bytes, or an encoding that was never undone."""
    kind = rng.randrange(3)
    if kind == 0:
        return base64.b64encode(text.encode()).decode()
    if kind == 1:
        return "".join("\ufffd" if rng.random() < 0.45 else letter for letter in text)
    return text.encode("utf-16-be").decode("utf-16-le")


EMBEDDER_FAULTS = {
    "truncated_input": truncate,
    "misspelled_input": misspell,
    "altered_input": add_unrelated,
    "corrupted_input": corrupt,
}
UNRELATED = (
    "Kind regards, the booking team. Our garden centre has twenty percent off on roses this weekend.",
    "Sent from my phone. Recipe of the week: leek and potato soup with nutmeg and a spoon of cream.",
    "Cookie settings: accept all, reject all. Subscribe to our podcast about vintage motorcycles.",
)
