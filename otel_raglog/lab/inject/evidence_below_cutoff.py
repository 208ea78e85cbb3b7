"""The reranker ranks all evidence below the cut-off."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from otel_raglog.lab.inject.edits import holding, ids
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.lab.stores import Hit
from otel_raglog.model import Stage


class EvidenceBelowCutoff:
    """The passages that hold the answer, or might, move behind the last that is passed on."""

    name = "evidence_below_cutoff"
    stage = Stage.RERANKER
    types = ("evidence_excluded",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Move them, and give them the scores of their new places."""
        return moved_below(run, holding(setting, run.passed))


def moved_below(run: Execution, hits: list[Hit]) -> Injection | None:
    """Return the run with ``hits`` ranked behind all that is passed on."""
    order, keep = run.reranked or (), len(run.passed)
    away = {hit.passage.id for hit in hits}
    stay = [hit for hit in order if hit.passage.id not in away]
    if not hits or len(stay) < keep:
        return None
    new = [*stay[:keep], *hits, *stay[keep:]]
    scores = sorted((hit.score for hit in order), reverse=True)
    ranked = tuple(Hit(hit.passage, score) for hit, score in zip(new, scores, strict=True))
    passed = ranked[:keep]
    return Injection(replace(run, reranked=ranked, passed=passed), ids(run.passed), ids(passed))
