"""The answer claims something that stands in a document which is not in the prompt."""

from __future__ import annotations

from random import Random

from otel_raglog.checks.text.sentences import sentences
from otel_raglog.lab.evidence import Holds
from otel_raglog.lab.inject.edits import on_answer
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage

_LEAST_WORDS = 6


class ClaimFromOtherDocument:
    """A sentence of a similar document, behind the answer or in its place."""

    name = "claim_from_other_document"
    stage = Stage.GENERATOR
    types = ("unsupported_claim",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Take a sentence of one of the twenty nearest passages."""
        shown = {slot.id for slot in run.slots}
        near = [
            hit.passage
            for hit in setting.bench.dense.search(run.asked.standalone, 20)
            if hit.passage.id not in shown and setting.evidence.holds(hit.passage.text) is Holds.NO
        ]
        found = [s for p in near[:6] for s in sentences(p.text) if len(s.split()) >= _LEAST_WORDS]
        found = [sentence for sentence in found if sentence not in run.prompt]
        if not found:
            return None
        claim = rng.choice(found)
        old = run.reply.text
        text = claim if rng.random() < 0.5 else f"{old.rstrip('.')}. {claim}"  # noqa: PLR2004
        return on_answer(run, text, after=claim)
