"""What an HTTP server answered."""

from __future__ import annotations

import httpx2
import pytest

from otel_raglog.clock import ManualClock
from otel_raglog_exporters.http_answers import read_answer, retry_after_seconds

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 60.0),
        ("Wed, 31 Dec 1969 00:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
    ],
)
def test_the_server_s_word_on_when_to_come_back(told, seconds):
    """Seconds, or a date by our clock."""
    response = httpx2.Response(503, headers={"retry-after": told})
    assert retry_after_seconds(response, ManualClock()) == seconds


def test_an_endless_answer_is_cut():
    """Nobody needs more of it."""
    response = httpx2.Response(200, content=iter([b"x" * MIB] * 5))
    assert len(read_answer(response, ManualClock(), 5.0)) == 2 * MIB
