"""The answer breaks off."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from otel_raglog.lab.inject.edits import on_answer
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage

_LEAST_WORDS = 6


class CutOff:
    """In the middle of a sentence; three of four providers say so in the finish reason."""

    name = "cut_off"
    stage = Stage.GENERATOR
    types = ("output_truncated",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Keep the first words of the answer."""
        found = run.reply.text.split()
        if len(found) < _LEAST_WORDS:
            return None
        kept = " ".join(found[: rng.randint(3, max(3, round(0.7 * len(found))))]).rstrip(".,;:!?")
        injected = on_answer(run, kept)
        if injected is None or rng.random() < 0.25:  # noqa: PLR2004  one of four
            return injected
        reply = replace(injected.execution.reply, finish_reason="length")
        return replace(injected, execution=replace(injected.execution, reply=reply))
