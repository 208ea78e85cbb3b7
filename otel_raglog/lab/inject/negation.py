"""The rewriter negates the question, or loses its negation."""

from __future__ import annotations

import re
from random import Random

from otel_raglog.lab.inject.edits import on_rewrites, tidy
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage

_NEGATION = re.compile(r"\b(?:not|never|no longer|without|n't)\b", re.IGNORECASE)
_VERB = re.compile(
    r"\b(is|are|was|were|does|do|did|can|could|has|have|had|should|will)\b", re.IGNORECASE
)


class Negation:
    """*Which team was relegated* becomes *which team was not relegated*."""

    name = "negation"
    stage = Stage.REWRITER
    types = ("changes_intent",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Change every query."""

        def edit(text: str) -> str:
            if _NEGATION.search(text):
                return tidy(_NEGATION.sub("", text))
            if _VERB.search(text):
                return _VERB.sub(r"\1 not", text, count=1)
            return f"not {text}" if rng.random() < 0.5 else f"{text} except"  # noqa: PLR2004

        return on_rewrites(run, edit, all_of_them=True)
