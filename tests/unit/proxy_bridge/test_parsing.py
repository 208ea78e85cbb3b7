"""How a call is taken apart."""

from __future__ import annotations

import pytest

from otel_raglog_proxy_bridge.model import Call
from otel_raglog_proxy_bridge.parsing import events_of, parse, parse_json


def test_a_url_is_taken_apart():
    """Segments are decoded one by one, so that a slash within one stays."""
    exchange = parse(Call("1", "GET", "https://API.test:8443/model/a%2Fb/invoke?k=3&q=a%20b&k2="))
    assert (exchange.host, exchange.port) == ("api.test", 8443)
    assert exchange.segments == ("model", "a/b", "invoke")
    assert exchange.query == {"k": "3", "q": "a b", "k2": ""}


@pytest.mark.parametrize("url", ["", "x", "http://[::1", "http://a:b/", "http://a:99999/"])
def test_an_odd_url_never_raises(url):
    """A capture may hold anything."""
    parse(Call("1", "GET", url))


def test_events_are_put_together_of_their_data_lines():
    """As the standard says; comments, names and ``[DONE]`` are no data."""
    stream = ': ping\nevent: x\ndata: {"a":\ndata: 1}\n\ndata: [DONE]\n\ndata: {"b": 2}'
    assert events_of(stream) == ({"a": 1}, {"b": 2})


def test_lines_of_json_are_events():
    """As Ollama streams."""
    assert parse(Call("1", "POST", "http://x/", response_body='{"a": 1}\n{"a": 2}\n')).events == (
        {"a": 1},
        {"a": 2},
    )


def test_a_form_is_its_fields_and_json_lines_are_a_list():
    """Requests are not always JSON."""
    form = {"content-type": "application/x-www-form-urlencoded"}
    assert parse(
        Call("1", "POST", "http://x/", request_headers=form, request_body="a=1&b=")
    ).request == {"a": "1", "b": ""}
    assert parse(Call("1", "POST", "http://x/", request_body='{}\n{"q": 1}')).request == [
        {},
        {"q": 1},
    ]


@pytest.mark.parametrize("text", ["", " ", "{", "nan?", "[" * 100_000])
def test_what_is_no_json_is_none(text):
    """Nor does nesting break the parser."""
    assert parse_json(text) is None


def test_marks_that_json_may_hold_end_no_line():
    """Only line feeds and carriage returns do, in streams and in JSON lines."""
    for mark in ("\u2028", "\u2029", "\x85"):
        text = f"a{mark}b"
        piece = f'{{"text": "{text}"}}'
        assert events_of(f"data: {piece}\r\n\r\n") == ({"text": text},)
        assert events_of(f"{piece}\r{piece}\n") == ({"text": text},) * 2


def test_lines_of_plain_text_are_no_events():
    """Nor are numbers: a line is an object or a list."""
    assert events_of("7\nnull\ntrue\n") == ()
