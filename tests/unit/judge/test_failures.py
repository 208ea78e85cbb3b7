"""Statuses to exceptions, and when to come back."""

import httpx2
import pytest

from otel_raglog.clock import ManualClock
from otel_raglog.errors import Rejected, Unavailable
from otel_raglog.judge.failures import connection_failure, failure_of, retry_after_seconds

CLOCK = ManualClock(784_111_777.0)  # Sun, 06 Nov 1994 08:49:37 GMT


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": " 0.5 "}, 0.5),
        ({"retry-after": "Sun, 06 Nov 1994 08:50:37 GMT"}, 60.0),
        ({"retry-after": "Sun, 06 Nov 1994 08:00:00 GMT"}, 0.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Sun, 99 Nov 1994 08:50:37 GMT"}, None),
    ],
)
def test_when_to_come_back_is_read_in_all_its_forms(headers, seconds):
    """Milliseconds, seconds, a date; anything else says nothing."""
    assert retry_after_seconds(httpx2.Headers(headers), CLOCK) == seconds


def test_what_may_pass_says_when_to_come_back():
    """The provider and the status are named."""
    error = failure_of(429, httpx2.Headers({"Retry-After": "4"}), "anthropic", CLOCK)
    assert isinstance(error, Unavailable)
    assert (str(error), error.retry_after_seconds) == ("anthropic answered HTTP 429", 4.0)


def test_what_will_not_pass_says_what_to_look_at():
    """A wrong key or model is for the user to mend."""
    error = failure_of(404, {}, "openai", CLOCK)
    assert isinstance(error, Rejected)
    assert str(error) == "openai answered HTTP 404; check judge.model and judge.endpoint"
    assert "check the key" in str(failure_of(403, {}, "openai", CLOCK))
    assert failure_of(418, {}, "openai", CLOCK).reason == "http_418"


def test_a_failure_of_the_transport_is_found_inside_what_an_sdk_made_of_it():
    """Some SDKs wrap it, some let it through."""
    own = Unavailable("late")
    wrapped = RuntimeError("Connection error.")
    wrapped.__cause__ = own
    assert connection_failure(own) is own
    assert connection_failure(wrapped) is own
    assert isinstance(connection_failure(RuntimeError("other")), Unavailable)
