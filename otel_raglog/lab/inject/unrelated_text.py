"""The embedder is given the query together with text that does not belong to it."""

from __future__ import annotations

from random import Random

from otel_raglog.checks.text.sentences import sentences
from otel_raglog.lab.inject.edits import on_embedded
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage


class UnrelatedText:
    """A sentence of a random document in front or behind: a template filled with the wrong thing."""

    name = "unrelated_text"
    stage = Stage.EMBEDDER
    types = ("altered_input",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Add the same sentence to every text."""
        found = sentences(rng.choice(setting.bench.passages).text)
        extra = " ".join(rng.choice(found).split()[: rng.randint(6, 25)]) if found else ""
        if not extra:
            return None
        behind = rng.random() < 0.5  # noqa: PLR2004  half of them
        return on_embedded(run, lambda text: f"{text} {extra}" if behind else f"{extra} {text}")
