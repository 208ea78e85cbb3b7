"""The answer states another number."""

from __future__ import annotations

import re
from random import Random

from otel_raglog.lab.inject.edits import on_answer, replaced
from otel_raglog.lab.inject.fault import Twin
from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage

_FIGURE = re.compile(r"(?<![\w.,])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\w)")
_YEAR = re.compile(r"(?:1\d|20)\d\d")


class NumberSwapped:
    """Another number of the prompt, or one that stands nowhere."""

    name = "number_swapped"
    stage = Stage.GENERATOR
    types = ("misstated_number",)
    twin = Twin.FAULTLESS

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:  # noqa: ARG002
        """Swap one; years for years."""
        old = _FIGURE.findall(run.reply.text)
        if not old:
            return None
        number = rng.choice(old)
        year = bool(_YEAR.fullmatch(number))
        told = [
            other
            for other in _FIGURE.findall(run.prompt)
            if bool(_YEAR.fullmatch(other)) == year and other not in old and len(other) > 1
        ]
        other = rng.choice(told) if told and rng.random() < 0.4 else changed(number, rng)  # noqa: PLR2004
        return on_answer(run, replaced(run.reply.text, number, other), number, other)


def changed(number: str, rng: Random) -> str:
    """Return another number of the same form: a year some years off, else other digits."""
    if _YEAR.fullmatch(number):
        return str(int(number) + rng.choice((-23, -12, -7, -3, 2, 4, 9, 15)))
    at = rng.choice([place for place, c in enumerate(number) if c.isdigit()])
    digits = [d for d in "123456789" if d != number[at]]
    return number[:at] + rng.choice(digits) + number[at + 1 :]
