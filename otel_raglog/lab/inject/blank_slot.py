"""The template leaves a place for a passage blank."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from otel_raglog.lab.evidence import Holds
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage


class BlankSlot:
    """The evidence's slot, or all of them."""

    name = "blank_slot"
    stage = Stage.ASSEMBLY
    types = ("blank_context",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Blank them, headings and all that the template writes around them stay."""
        every = rng.random() < 0.5  # noqa: PLR2004  half of them
        slots = tuple(
            replace(slot, text="", title="" if every else slot.title)
            if every or setting.evidence.holds(slot.text) is not Holds.NO
            else slot
            for slot in run.slots
        )
        blank = sum(not slot.text for slot in slots)
        if not blank:
            return None
        return Injection(replace(run, slots=slots), f"{len(slots)} slots", f"{blank} of them blank")
