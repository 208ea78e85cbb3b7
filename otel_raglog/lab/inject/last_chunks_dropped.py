"""The assembly drops the last passages to keep within a budget."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage


class LastChunksDropped:
    """At least one passage stays. Passages without evidence are no loss."""

    name = "last_chunks_dropped"
    stage = Stage.ASSEMBLY
    types = ("evidence_dropped",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Keep the passages in front of the first with evidence, or any number."""
        if len(run.slots) <= 1:
            return None
        states = [setting.evidence.holds(slot.text).value != "no" for slot in run.slots]
        first = states.index(True) if True in states else 0
        if first == 0 and rng.random() < 0.7:  # noqa: PLR2004  few of those that do no harm
            return None
        harmful = first if first > 0 and rng.random() < 0.8 else 0  # noqa: PLR2004  mostly
        keep = harmful or rng.randrange(1, len(run.slots))
        slots = run.slots[:keep]
        return Injection(
            replace(run, slots=slots), f"{len(run.slots)} passages", f"{len(slots)} passages"
        )
