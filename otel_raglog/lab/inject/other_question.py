"""The generator answers another question than the one that was asked."""

from __future__ import annotations

from random import Random

from otel_raglog.checks.text.sentences import sentences
from otel_raglog.checks.text.words import content_words
from otel_raglog.lab.evidence import states
from otel_raglog.lab.inject.edits import on_answer
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage

_LEAST_WORDS = 6


class OtherQuestion:
    """A sentence of the prompt that states something else: true, and no answer."""

    name = "other_question"
    stage = Stage.GENERATOR
    types = ("off_question",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Take one without the answer, with few of the question's words."""
        answers = setting.evidence.question.answers
        asked = set(content_words(run.asked.standalone))
        found = [
            (len(asked & set(content_words(sentence))), sentence)
            for slot in run.slots
            for sentence in sentences(slot.text)
            if len(sentence.split()) >= _LEAST_WORDS
            and not states(sentence, answers)
            and sentence not in run.reply.text
        ]
        found.sort(key=lambda item: item[0])
        return on_answer(run, rng.choice(found[:4])[1]) if answers and found else None
