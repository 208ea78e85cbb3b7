"""How checks make measurements."""

import math

import pytest

from otel_raglog.checks.check import measured, not_applicable
from otel_raglog.model import MeasurementStatus, Stage


def test_the_stage_is_the_first_part_of_the_name() -> None:
    """So that the two never disagree."""
    assert measured("rewriter.rewrites", 2).stage is Stage.REWRITER


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_refused(value: float) -> None:
    """NaN never leaves a check."""
    with pytest.raises(ValueError, match="finite"):
        measured("rewriter.rewrites", value)


def test_a_missing_measurement_has_a_reason_and_no_value() -> None:
    """Missing is not zero."""
    measurement = not_applicable("rewriter.rewrites", "no rewriter")
    assert (measurement.value, measurement.status, measurement.reason) == (
        None,
        MeasurementStatus.NOT_APPLICABLE,
        "no rewriter",
    )
