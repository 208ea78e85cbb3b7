"""The errors of a store."""

from __future__ import annotations

import pytest

from otel_raglog.errors import RaglogError
from otel_raglog.journal.store import Damaged, Missing, Unreadable


@pytest.mark.parametrize("error", [Missing(7), Damaged(7), Damaged(7, "the disk says so")])
def test_an_unreadable_record_says_which(error):
    """Both kinds can be caught as one, and bear the number for machines and people."""
    assert isinstance(error, Unreadable)
    assert isinstance(error, RaglogError)
    assert error.number == 7
    assert "record 7" in str(error)
