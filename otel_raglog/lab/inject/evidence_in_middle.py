"""The evidence stands in the middle, among passages about similar things."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from otel_raglog.lab.evidence import Holds
from otel_raglog.lab.inject.edits import holding
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.lab.pipelines.templates import Slot
from otel_raglog.model import Stage

_AROUND = 4


class EvidenceInMiddle:
    """Eight neighbours around the evidence; the generator answers anew, often still rightly.

    After "Lost in the Middle" (Liu et al., 2023).
    """

    name = "evidence_in_middle"
    stage = Stage.GENERATOR
    types = ("unsupported_claim", "off_question")
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Retrieve, pass on and render the neighbours too, and generate again."""
        needed = holding(setting, run.passed)
        if not needed:
            return None
        near = [
            hit
            for hit in setting.bench.dense.search(needed[0].passage.headed, 4 * _AROUND)
            if setting.evidence.holds(hit.passage.text) is Holds.NO
        ][: 2 * _AROUND]
        hits = (*near[:_AROUND], *needed, *near[_AROUND:])
        known = {hit.passage.id for hit in run.retrieved}
        extra = tuple(hit for hit in near if hit.passage.id not in known)
        # Neighbours are ranked behind what was found, with lower scores than those have.
        lowest = min((hit.score for hit in run.retrieved), default=0.0)
        ranked = tuple(
            replace(hit, score=round(lowest * 0.98**n, 4)) for n, hit in enumerate(extra, 1)
        )
        changed = replace(
            run,
            retrieved=(*run.retrieved, *ranked),
            reranked=(*run.reranked, *ranked) if run.reranked is not None else None,
            passed=hits,
            slots=tuple(Slot(h.passage.id, h.passage.title, h.passage.text) for h in hits),
        )
        changed = replace(changed, prompt=setting.render(changed))
        changed = replace(changed, reply=setting.generate(changed))
        return Injection(changed, run.reply.text, changed.reply.text)
