"""The generator answers although the prompt does not hold the answer."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from otel_raglog.lab.inject.edits import on_answer
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.lab.pipelines.generators import Extractive, Prompt
from otel_raglog.model import Stage


class AnswerWithoutEvidence:
    """A clean run that rightly refuses is answered all the same, with the likeliest sentence."""

    name = "answer_without_evidence"
    stage = Stage.GENERATOR
    types = ("should_abstain", "unsupported_claim")
    twin = Twin.RIGHT_REFUSAL

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Let an extractive generator answer that never refuses."""
        generator = replace(Extractive(), refuse_below=-1.0)
        prompt = Prompt(setting.pipeline.system, run.prompt, run.asked.standalone, run.slots)
        reply = generator.answer(prompt, setting.bench, rng)
        return on_answer(run, reply.text) if run.slots else None
