"""What every check is, and how it makes measurements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from otel_raglog.model import Measurement, MeasurementStatus, Run, Stage


class Unit(StrEnum):
    """What a measurement's number is, which says in what range it lies."""

    FLAG = "flag"
    COUNT = "count"
    RANK = "rank"
    SHARE = "share"
    RATIO = "ratio"
    COSINE = "cosine"
    RELEVANCE = "relevance"
    CORRELATION = "correlation"
    DIFFERENCE = "difference"
    LOG_ODDS = "log-odds"

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the greatest value, both included."""
        return _BOUNDS[self]


_BOUNDS: Mapping[Unit, tuple[float, float]] = {
    Unit.FLAG: (0.0, 1.0),
    Unit.COUNT: (0.0, math.inf),
    Unit.RANK: (1.0, math.inf),
    Unit.SHARE: (0.0, 1.0),
    Unit.RATIO: (0.0, math.inf),
    Unit.COSINE: (-1.0, 1.0),
    Unit.RELEVANCE: (0.0, 1.0),
    Unit.CORRELATION: (-1.0, 1.0),
    Unit.DIFFERENCE: (-2.0, 2.0),
    Unit.LOG_ODDS: (-math.inf, math.inf),
}


class Suspect(StrEnum):
    """Which end of a measurement's range speaks for a fault, when one does."""

    HIGH = "high"
    LOW = "low"
    NEITHER = "neither"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a measurement is: ``<stage>.<what>``, its unit, what it says, and which end is suspect."""

    name: str
    unit: Unit
    suspect: Suspect
    meaning: str

    @property
    def stage(self) -> Stage:
        """The stage that it is of."""
        return _stage(self.name)


def names_of(declarations: Iterable[Declaration]) -> tuple[str, ...]:
    """Return the measurements' names, in order."""
    return tuple(declaration.name for declaration in declarations)


class Check(Protocol):
    """Measures one stage of a run. Stateless; the same run gives the same measurements.

    ``name`` is ``<kind>.<stage>``. ``declarations`` say what every measurement is that ``measure``
    may yield, ``measures`` are their names. A measurement that is not defined for a run is yielded as
    ``not_applicable`` with a reason; values are finite.
    """

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def stage(self) -> Stage: ...  # noqa: D102

    @property
    def declarations(self) -> tuple[Declaration, ...]: ...  # noqa: D102

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
