"""The index has lost the documents that hold the answer."""

from __future__ import annotations

from random import Random

from otel_raglog.lab.inject.edits import holding, with_retrieved
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.lab.stores import Scope
from otel_raglog.model import Stage

_TRIES = 4


class EvidenceRemoved:
    """The search is made again without the passages that hold, or might hold, the answer."""

    name = "evidence_removed"
    stage = Stage.RETRIEVER
    types = ("no_relevant_chunk",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Search until nothing of the kind is found, at most four times."""
        gone: frozenset[str] = frozenset()
        hits = run.retrieved
        for _ in range(_TRIES):
            found = holding(setting, hits)
            if not found:
                break
            gone |= {hit.passage.id for hit in found}
            hits = setting.search(run, Scope(without=gone))
        return with_retrieved(run, hits)
