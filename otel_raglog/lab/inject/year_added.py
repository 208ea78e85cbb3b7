"""The rewriter adds a year that nobody mentioned."""

from __future__ import annotations

import re
from random import Random

from otel_raglog.lab.inject.edits import on_rewrites
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage

_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_ENDINGS = (" in {}", " {}", " as of {}", " since {}")


class YearAdded:
    """*Who owns the company* becomes *who owns the company in 2009*."""

    name = "year_added"
    stage = Stage.REWRITER
    types = ("adds_constraint",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Add a year to the first query, or to all, where the question has none."""
        if _YEAR.search(run.asked.standalone):
            return None
        ending = rng.choice(_ENDINGS).format(rng.randint(1985, 2024))
        every = rng.random() < 0.5  # noqa: PLR2004  half of them

        def edit(text: str) -> str:
            bare = text.rstrip("?")
            return f"{bare}{ending}{'?' if bare != text else ''}"

        return on_rewrites(run, edit, all_of_them=every)
