"""The index holds one passage many times over, and its copies crowd out the others."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from otel_raglog.lab.evidence import Holds
from otel_raglog.lab.inject.edits import with_retrieved
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.lab.stores import Hit
from otel_raglog.model import Stage


class NearDuplicates:
    """Copies of a hit, each with small differences. Copies of the evidence are no fault."""

    name = "near_duplicates"
    stage = Stage.RETRIEVER
    types = ("no_relevant_chunk",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Fill the list with copies of one hit, mostly of the best that holds no evidence."""
        few = 2
        if len(run.retrieved) < few:
            return None
        plain = [h for h in run.retrieved if setting.evidence.holds(h.passage.text) is Holds.NO]
        copied = plain[0] if plain and rng.random() < 0.8 else run.retrieved[0]  # noqa: PLR2004
        hits = [copied]
        for number in range(1, len(run.retrieved)):
            passage = copied.passage
            twin = replace(passage, id=f"{passage.id}-v{number}", text=varied(passage.text, rng))
            hits.append(Hit(twin, round(copied.score - 0.0007 * number, 4)))
        return with_retrieved(run, tuple(hits))


def varied(text: str, rng: Random) -> str:
    """Return ``text`` with a few of its words left out."""
    found = text.split()
    for _ in range(min(2, len(found) // 12)):
        del found[rng.randrange(len(found))]
    return " ".join(found)
