"""Limits are checked when they are made."""

from __future__ import annotations

import pytest

from otel_raglog.errors import ConfigError
from otel_raglog.receive.limits import Limits


def test_the_default_request_limit_is_the_one_that_otlp_recommends() -> None:
    """OTLP recommends 64 MiB after decompression."""
    assert Limits().max_request_bytes == 64 * 1024 * 1024


@pytest.mark.parametrize("limit", ["max_request_bytes", "max_spans_per_request"])
def test_a_limit_must_be_positive(limit: str) -> None:
    """Nothing can be received with a limit of zero, so it is refused by name."""
    with pytest.raises(ConfigError, match=limit):
        Limits(**{limit: 0})
