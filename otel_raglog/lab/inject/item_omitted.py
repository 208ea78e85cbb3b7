"""The answer leaves out what was asked for."""

from __future__ import annotations

import re
from random import Random

from otel_raglog.checks.text.sentences import sentences
from otel_raglog.lab.evidence import states
from otel_raglog.lab.inject.edits import on_answer
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage

_CLAUSE = re.compile(r"(?:,|;|\band\b|\bwhich\b|\bwhere\b|\bbecause\b|\bin\b|\bby\b)\s*")
_LEAST_WORDS = 4


class ItemOmitted:
    """The sentence, or the clause of the sentence, that states the answer is missing."""

    name = "item_omitted"
    stage = Stage.GENERATOR
    types = ("incomplete",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Leave it out; where nothing of the answer would stay, there is nothing to do."""
        answers = setting.evidence.question.answers
        told = sentences(run.reply.text)
        left = [sentence for sentence in told if not states(sentence, answers)]
        if not answers or len(left) == len(told):
            return None
        text = " ".join(left) or self._without_clause(run.reply.text, answers)
        return on_answer(run, text)

    @staticmethod
    def _without_clause(text: str, answers: tuple[str, ...]) -> str | None:
        ends = [match.start() for match in _CLAUSE.finditer(text)]
        for end in reversed(ends):
            kept = text[:end].rstrip(" ,;")
            if len(kept.split()) >= _LEAST_WORDS and not states(kept, answers):
                return f"{kept}."
        return None
