"""The answer states another name."""

from __future__ import annotations

from random import Random

from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.words import content_words
from otel_raglog.lab.inject.edits import on_answer, other_entity, replaced
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage

_FEW = 5


class NameSwapped:
    """Another name of the prompt, or one of the corpus."""

    name = "name_swapped"
    stage = Stage.GENERATOR
    types = ("unsupported_claim",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Swap one, first of all one that the question does not hold."""
        answer = run.reply.text
        asked = set(content_words(run.asked.standalone))
        # A capital says nothing at the beginning of a sentence, but in an answer of a few words.
        few = len(answer.split()) <= _FEW
        own = [name.text for name in names(f"It was {answer}" if few else answer)]
        new = [name for name in own if not set(content_words(name)) & asked]
        if not new:
            return None
        old = rng.choice(new)
        told = [
            name.text
            for slot in run.slots
            for name in names(slot.text)
            if not set(content_words(name.text)) & {*content_words(answer), *asked}
        ]
        other = (
            rng.choice(told)
            if told and rng.random() < 0.5  # noqa: PLR2004  half of them
            else other_entity(setting, old, rng)
        )
        if other is None:
            return None
        return on_answer(run, replaced(answer, old, other), old, other)
