"""The rewriter puts another name in place of the one that was asked about."""

from __future__ import annotations

from functools import partial
from random import Random

from otel_raglog.lab.inject.edits import entities, on_rewrites, other_entity, replaced
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage


class EntityReplaced:
    """The other name is one of the corpus."""

    name = "entity_replaced"
    stage = Stage.REWRITER
    types = ("changes_entity",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Replace it in all queries."""
        for entity in entities(" ".join((run.rewrites or ())[:1]), setting.bench.vocabulary):
            other = other_entity(setting, entity, rng)
            if other is not None:
                edit = partial(replaced, old=entity, new=other)
                return on_rewrites(run, edit, all_of_them=True)
        return None
