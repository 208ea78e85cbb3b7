"""Answers are JSON, whatever is in them."""

import json

import pytest

from otel_raglog.web.api.answers import answer, error_answer


def test_markup_in_values_is_no_markup_in_the_answer():
    """It comes out as it was for who reads JSON."""
    text = '<script>alert("&")</script> \ud800 é'
    found = answer({"question": text})
    assert not set(b"<>&") & set(found.body)
    assert found.body.isascii()
    assert json.loads(found.body) == {"question": text}
    assert found.headers["content-type"] == "application/json"
    assert found.headers["x-content-type-options"] == "nosniff"
    assert found.headers["cache-control"] == "no-store"


def test_an_error_is_a_sentence_and_more():
    """With the headers that belong to it."""
    found = error_answer(400, "no <b>", headers={"x": "y"}, parameter="limit")
    assert json.loads(found.body) == {"error": "no <b>", "parameter": "limit"}
    assert (found.status_code, found.headers["x"]) == (400, "y")
    assert found.headers["cache-control"] == "no-store"


def test_no_number_that_json_lacks_is_written():
    """An answer that no client can read is worse than an error."""
    with pytest.raises(ValueError, match="JSON compliant"):
        answer({"probability": float("nan")})
