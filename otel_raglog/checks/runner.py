"""Turns a run into the measurements of all checks, whatever a check does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import structlog

from otel_raglog.checks.check import Check
from otel_raglog.model import Measurement, MeasurementStatus, Run


class FailureObserver(Protocol):
    """Counts checks that failed."""

    def check_failed(self, check: str, error: str) -> None:
        """Count one failure of ``check`` with the exception's class name."""
        ...


class LoggingFailures:
    """Logs the first failure of each kind, and counts all of them."""

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}

    def check_failed(self, check: str, error: str) -> None:
        """Count a failure; log it when it is the first of its kind."""
        kind = (check, error)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] == 1:
            structlog.get_logger().warning("check failed", check=check, error=error)


def measure(
    run: Run, checks: Iterable[Check], failures: FailureObserver | None = None
) -> tuple[Measurement, ...]:
    """Return the measurements of all ``checks`` in their order; never raises.

    A check that raises yields one ``failed`` measurement under its own name instead of its
    results, and is reported to ``failures``.
    """
    found: list[Measurement] = []
    for check in checks:
        found.extend(_measure_one(run, check, failures))
    return tuple(found)


def _measure_one(run: Run, check: Check, failures: FailureObserver | None) -> Sequence[Measurement]:
    try:
        return tuple(check.measure(run))
    except Exception as error:  # noqa: BLE001  a check that fails costs its own result only
        kind = type(error).__name__
        if failures is not None:
            failures.check_failed(check.name, kind)
        return (
            Measurement(
                check.name, check.stage, None, MeasurementStatus.FAILED, reason=f"raised {kind}"
            ),
        )
