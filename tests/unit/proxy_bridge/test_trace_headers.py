"""Which trace a request says it belongs to."""

from __future__ import annotations

import pytest

from otel_raglog_proxy_bridge.model import Call
from otel_raglog_proxy_bridge.trace_headers import parent_id_of, trace_id_of


def call(value):
    return Call("1", "GET", "http://x/", request_headers={"traceparent": value})


def test_a_valid_header_gives_both_ids():
    """In hex, in lower case."""
    given = call(f"00-{'AB' * 16}-{'cd' * 8}-01")
    assert trace_id_of(given) == "ab" * 16
    assert parent_id_of(given) == "cd" * 8


@pytest.mark.parametrize("value", ["", "x", f"00-{'0' * 32}-{'1' * 16}-01", f"00-{'1' * 32}-{'0' * 16}-01", f"00-{'1' * 31}-{'1' * 16}-01"])  # fmt: skip
def test_an_invalid_header_gives_none(value):
    """As if it were not there."""
    assert trace_id_of(call(value)) == parent_id_of(call(value)) == ""
