"""The generator refuses although the prompt holds the answer."""

from __future__ import annotations

from random import Random

from otel_raglog.lab.inject.edits import on_answer
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.lab.pipelines.generators import REFUSALS
from otel_raglog.model import Stage


class WrongRefusal:
    """One of a dozen ways to say that one does not know."""

    name = "wrong_refusal"
    stage = Stage.GENERATOR
    types = ("wrong_refusal",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Put it in place of the answer."""
        return on_answer(run, rng.choice(REFUSALS))
