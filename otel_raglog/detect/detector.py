"""What every detector is: it turns a run and its measurements into a verdict per stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from otel_raglog.model import Measurement, Run, Stage, Verdict


class Detector(Protocol):
    """Judges runs. Deterministic: the same run and measurements give the same verdicts.

    ``version`` is on every report; within one release it changes whenever a verdict can change.
    """

    @property
    def version(self) -> str: ...  # noqa: D102

    @property
    def reads(self) -> frozenset[str]:
        """The names of the measurements that it can make use of."""
        ...

    def judge(self, run: Run, measurements: Sequence[Measurement]) -> Mapping[Stage, Verdict]:
        """Return a verdict for every :class:`Stage`; never raises on odd runs."""
        ...
