"""The rewriter drops a word that narrows the question."""

from __future__ import annotations

from random import Random

from otel_raglog.checks.text.lexicon import QUALIFIERS
from otel_raglog.checks.text.words import words
from otel_raglog.lab.inject.edits import entities, on_rewrites, without
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage


class QualifierDropped:
    """*First*, *current*, or where there is none, one name of several."""

    name = "qualifier_dropped"
    stage = Stage.REWRITER
    types = ("drops_constraint",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Drop it from all queries."""
        found = [word for word in words(run.asked.standalone) if word in QUALIFIERS]
        if not found:
            several = entities(run.asked.standalone, setting.bench.vocabulary)
            found = several if len(several) > 1 else []
        if not found:
            return None
        lost = rng.choice(found)
        return on_rewrites(run, lambda text: without(text, lost), all_of_them=True)
