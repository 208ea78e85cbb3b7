"""The retriever filters by metadata that exclude the right documents."""

from __future__ import annotations

from random import Random

from otel_raglog.lab.inject.edits import holding, with_retrieved
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.lab.stores import SHELVES, Scope, shelf_of
from otel_raglog.model import Stage


class OverTightFilter:
    """Only one shelf in twelve is searched, or, in one of four runs, hardly anything passes."""

    name = "over_tight_filter"
    stage = Stage.RETRIEVER
    types = ("no_relevant_chunk", "empty_result")
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Search one shelf; a right one too, which then is no fault."""
        shelf = rng.randrange(SHELVES)
        found = [shelf_of(hit.passage.document) for hit in holding(setting, run.retrieved)]
        if shelf in found and rng.random() < 0.8:  # noqa: PLR2004  mostly a wrong one
            shelf = (shelf + 1) % SHELVES
        hits = setting.search(run, Scope(shelf=shelf))
        if rng.random() < 0.25:  # noqa: PLR2004  one of four
            hits = hits[: rng.choice((0, 0, 1))]
        return with_retrieved(run, hits)
