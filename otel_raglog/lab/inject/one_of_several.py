"""The reranker excludes one of several passages that hold evidence."""

from __future__ import annotations

from random import Random

from otel_raglog.lab.inject.edits import holding
from otel_raglog.lab.inject.evidence_below_cutoff import moved_below
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage


class OneOfSeveral:
    """Mostly absorbed: another passage still says it."""

    name = "one_of_several"
    stage = Stage.RERANKER
    types = ("evidence_excluded",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Move one of them below the cut-off, where there are two or more."""
        found = holding(setting, run.passed)
        return moved_below(run, [rng.choice(found)]) if len(found) > 1 else None
