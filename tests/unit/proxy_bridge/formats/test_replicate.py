"""Replicate's predictions: a language model's input in, the pieces of its output out."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, told

ASKED = {"input": {"prompt": "Hi"}}


@pytest.mark.parametrize(
    ("method", "path", "response", "name"),
    [
        ("POST", "/v1/predictions", {"output": ["Ho"]}, "replicate.prediction"),
        ("POST", "/v1/models/o/n/predictions", {"output": "Ho"}, "replicate.prediction"),
        ("POST", "/v1/predictions", {"status": "starting"}, "replicate.housekeeping"),
        ("POST", "/v1/predictions", {"output": ["https://x/1.png"]}, "replicate.housekeeping"),
        ("GET", "/v1/predictions/p", {"output": ["Ho"]}, "replicate.housekeeping"),
        ("POST", "/v1/predictions/p/cancel", {}, "replicate.housekeeping"),
    ],
)
def test_only_text_that_is_answered_at_once_is_an_answer(method, path, response, name):
    """What is started, polled, or a picture carries none."""
    assert told(exchange_of(path, ASKED, response, method=method)) == name
