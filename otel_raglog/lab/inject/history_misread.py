"""The rewriter takes the wrong thing of the conversation for what is meant."""

from __future__ import annotations

from random import Random

from otel_raglog.checks.text.names import names
from otel_raglog.checks.text.words import content_words
from otel_raglog.lab.inject.edits import entities, on_rewrites, other_entity, replaced
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage


class HistoryMisread:
    """The follow-up is condensed with a name of the reply, or with one of an earlier talk."""

    name = "history_misread"
    stage = Stage.REWRITER
    types = ("changes_entity",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Replace the name that the history gave the query."""
        if not run.asked.history:
            return None
        told = set(content_words(run.asked.text))
        given = [
            entity
            for entity in entities(" ".join(run.rewrites or ()), setting.bench.vocabulary)
            if not set(content_words(entity)) & told
        ]
        if not given:
            return None
        meant = given[0]
        reply = [
            name.text for role, text in run.asked.history if role != "user" for name in names(text)
        ]
        others = [
            name for name in reply if not set(content_words(name)) & set(content_words(meant))
        ]
        wrong = rng.choice(others) if others else other_entity(setting, meant, rng)
        if wrong is None:
            return None
        return on_rewrites(run, lambda text: replaced(text, meant, wrong), all_of_them=True)
