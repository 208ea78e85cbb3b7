"""The retriever searches the index of another collection."""

from __future__ import annotations

from random import Random

from otel_raglog.lab.inject.edits import with_retrieved
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage


class WrongIndex:
    """All hits are of another corpus, the nearest ones there."""

    name = "wrong_index"
    stage = Stage.RETRIEVER
    types = ("no_relevant_chunk",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Search elsewhere; not where the lab was given one corpus alone."""
        if setting.elsewhere is None:
            return None
        return with_retrieved(run, setting.search(run, bench=setting.elsewhere))
