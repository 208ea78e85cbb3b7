"""The embedder is given the query with its name misspelled."""

from __future__ import annotations

from random import Random

from otel_raglog.lab.inject.edits import entities, on_embedded, replaced
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LONG = 7


class MisspelledEntity:
    """A letter dropped, doubled, swapped with its neighbour or replaced; two in long words."""

    name = "misspelled_entity"
    stage = Stage.EMBEDDER
    types = ("misspelled_input",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Misspell one word of the longest name, the same way in every text."""
        long_enough = 4
        found = entities(" ".join(run.embedded or ()), setting.bench.vocabulary)
        words = [w for name in found for w in name.split() if len(w) >= long_enough and w.isalpha()]
        if not words:
            return None
        word = words[0]
        wrong = word
        for _ in range(2 if len(word) >= _LONG else 1):
            wrong = misspelled(wrong, rng)
        return on_embedded(run, lambda text: replaced(text, word, wrong)) if wrong != word else None


def misspelled(word: str, rng: Random) -> str:
    """Return ``word`` with one slip of the keyboard behind its first letter."""
    at = rng.randrange(1, len(word) - 1)
    kinds = (
        word[:at] + word[at + 1 :],
        word[:at] + word[at] + word[at:],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        word[:at] + rng.choice(_LETTERS) + word[at + 1 :],
    )
    return rng.choice(kinds)
