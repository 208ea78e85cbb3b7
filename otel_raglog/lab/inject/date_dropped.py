"""The rewriter drops a year, date or other number."""

from __future__ import annotations

import re
from random import Random

from otel_raglog.lab.inject.edits import on_rewrites, without
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage

_FIGURE = re.compile(r"\b\d[\d,.]*(?:st|nd|rd|th|s)?\b")


class DateDropped:
    """*Who won the cup in 1998* becomes *who won the cup*."""

    name = "date_dropped"
    stage = Stage.REWRITER
    types = ("drops_constraint",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Drop one figure from all queries."""
        found = _FIGURE.findall(" ".join(run.rewrites or ()))
        if not found:
            return None
        lost = rng.choice(found)
        return on_rewrites(run, lambda text: without(text, lost), all_of_them=True)
