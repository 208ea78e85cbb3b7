"""What every check is, and how it makes measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from otel_raglog.model import Measurement, MeasurementStatus, Run, Stage


class Check(Protocol):
    """Measures one stage of a run. Stateless; the same run gives the same measurements.

    ``name`` is ``<kind>.<stage>``. ``measures`` names every measurement that ``measure`` may
    yield, each ``<stage>.<what>``. A measurement that is not defined for a run is yielded as
    ``not_applicable`` with a reason; values are finite.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def stage(self) -> Stage: ...  # noqa: D102

    @property
    def measures(self) -> tuple[str, ...]: ...  # noqa: D102

    def measure(self, run: Run) -> Iterable[Measurement]:
        """Yield the measurements of ``run``."""
        ...


def measured(
    name: str,
    value: float,
    evidence: str = "",
    *,
    step: int | None = None,
    quotes: Sequence[str] = (),
) -> Measurement:
    """Return a measurement with a value; the stage is the part of ``name`` before the dot.

    Raises:
        ValueError: the value is not finite.
    """
    if not math.isfinite(value):
        raise ValueError(f"{name} is not finite: {value}")
    return Measurement(
        name, _stage(name), float(value), step=step, evidence=evidence, quotes=tuple(quotes)
    )


def not_applicable(name: str, reason: str, *, step: int | None = None) -> Measurement:
    """Return a measurement that is not defined for the run, with the reason."""
    return Measurement(
        name, _stage(name), None, MeasurementStatus.NOT_APPLICABLE, step=step, reason=reason
    )


def all_not_applicable(
    names: Iterable[str], reason: str, *, step: int | None = None
) -> tuple[Measurement, ...]:
    """Return ``not_applicable`` for each of ``names``, for one reason."""
    return tuple(not_applicable(name, reason, step=step) for name in names)


def _stage(name: str) -> Stage:
    return Stage(name.partition(".")[0])
