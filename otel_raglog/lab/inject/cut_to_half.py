"""The embedder is given half of the query."""

from __future__ import annotations

from random import Random

from otel_raglog.lab.inject.edits import on_embedded
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage


class CutToHalf:
    """The first half, or in one of four runs the second."""

    name = "cut_to_half"
    stage = Stage.EMBEDDER
    types = ("truncated_input",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Cut every embedded text, at a word."""
        first = rng.random() < 0.75  # noqa: PLR2004  three of four
        share = rng.uniform(0.4, 0.65)

        def edit(text: str) -> str:
            found = text.split()
            at = max(1, round(len(found) * share))
            return " ".join(found[:at] if first else found[-at:])

        return on_embedded(run, edit)
