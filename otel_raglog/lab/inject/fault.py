"""What every fault declares and does."""

from __future__ import annotations

from enum import StrEnum
from random import Random
from typing import Protocol

from otel_raglog.lab.pipelines.execution import Execution, Injection, Setting
from otel_raglog.model import Stage


class Twin(StrEnum):
    """Which clean runs a fault is put into."""

    FAULTLESS = "faultless"
    """No stage of it is faulty."""
    RIGHT_REFUSAL = "right_refusal"
    """The prompt lacks the answer and the generator says so."""


class Fault(Protocol):
    """A fault of one stage. It is put in when the stage has done its work, and later stages react.

    ``types`` are the fault types that it is meant to make, likeliest first; whether it made one
    is for ``labels`` to say.
    """

    @property
    def name(self) -> str:
        """A snake_case word, unique."""
        ...

    @property
    def stage(self) -> Stage:
        """The stage that it is put into."""
        ...

    @property
    def types(self) -> tuple[str, ...]:
        """Fault types of that stage."""
        ...

    @property
    def twin(self) -> Twin:
        """The clean runs it is for."""
        ...

    def inject(self, run: Execution, setting: Setting, rng: Random) -> Injection | None:
        """Return the run with the fault in it, ``None`` when there is nothing to change."""
        ...
