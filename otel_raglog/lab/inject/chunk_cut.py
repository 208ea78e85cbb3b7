"""The assembly cuts passages short."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from otel_raglog.lab.evidence import Holds
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.lab.pipelines.templates import Slot
from otel_raglog.model import Stage


class ChunkCut:
    """The passages with evidence lose their end, or all passages do; what they needed may stay."""

    name = "chunk_cut"
    stage = Stage.ASSEMBLY
    types = ("evidence_truncated",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Keep the first words of each."""
        every = rng.random() < 0.4  # noqa: PLR2004  two of five
        share = rng.uniform(0.1, 0.6)

        def cut(slot: Slot) -> Slot:
            needed = setting.evidence.holds(slot.text) is not Holds.NO
            found = slot.text.split()
            kept = " ".join(found[: max(4, round(share * len(found)))])
            return replace(slot, text=kept) if every or needed else slot

        slots = tuple(map(cut, run.slots))
        if slots == run.slots:
            return None
        lengths = [
            " + ".join(str(len(s.text.split())) for s in some) for some in (run.slots, slots)
        ]
        return Injection(replace(run, slots=slots), f"{lengths[0]} words", f"{lengths[1]} words")
