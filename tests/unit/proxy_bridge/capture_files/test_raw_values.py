"""Values of capture files become what a raw call holds, or a reason that quotes none of them."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_raglog_proxy_bridge.capture_files.raw_values import (
    DamagedItem,
    base64_body,
    clean,
    headers_of,
    json_body,
    mapping_at,
    method_of,
    nanoseconds,
    status_of,
    text_body,
    url_of,
    with_content_type,
    without_encoding,
)

SECRET = "sk-abcdef"
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(ANYTHING)
def test_any_value_is_read_or_damage(value):
    """Whatever JSON or YAML holds, nothing but DamagedItem is raised, and texts can be encoded."""
    assert nanoseconds(value) >= 0
    for name, text in headers_of(value):
        assert name.encode()
        text.encode()
    for read in (method_of, url_of, status_of, base64_body, json_body):
        try:
            read(value)
        except DamagedItem:
            continue


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (method_of, [SECRET]),
        (url_of, f"/v1?key={SECRET}"),
        (url_of, f"http://[{SECRET}"),
        (url_of, f"ftp://{SECRET}/"),
        (status_of, SECRET),
        (base64_body, {SECRET: 1}),
    ],
)
def test_a_reason_quotes_nothing(read, value):
    """What cannot be read may be a secret, so it is not in the message."""
    with pytest.raises(DamagedItem) as raised:
        read(value)
    assert SECRET not in str(raised.value)


def test_times():
    """Seconds and ISO 8601 with any zone, UTC without; what is none or out of range is 0."""
    moment = 1_795_982_981_250_000_000
    assert nanoseconds(1795982981.25) == moment
    assert nanoseconds("1795982981.25") == moment
    assert nanoseconds("2026-11-29T20:09:41.25Z") == moment
    assert nanoseconds("2026-11-29T22:09:41.250000+02:00") == moment
    assert nanoseconds("2026-11-29T20:09:41.2500000") == moment
    assert nanoseconds(datetime.fromisoformat("2026-11-29T20:09:41Z")) == 0
    for nothing in (
        None,
        True,
        "",
        "soon",
        float("nan"),
        float("inf"),
        -1,
        1e12,
        10**400,
        "9" * 40,
    ):
        assert nanoseconds(nothing) == 0, nothing
    assert nanoseconds("0001-01-01T00:00:00+14:00") == 0


def test_statuses():
    """A number, its text, or a status line; 0 and -1 say that no answer came."""
    assert [status_of(told) for told in (200, 200.0, "404", "503 Service Unavailable")] == [
        200,
        200,
        404,
        503,
    ]
    assert [status_of(told) for told in (None, 0, -1, "")] == [None] * 4
    for wrong in (True, 2000, "2000", [200], 20.5):
        with pytest.raises(DamagedItem):
            status_of(wrong)


def test_urls_are_absolute():
    """Only an absolute URL of HTTP is one."""
    assert url_of(" https://a.example/b?c=d ") == "https://a.example/b?c=d"
    for wrong in (None, "", "/v1", "http:///v1", "data:text/plain,x", "//a.example/b"):
        with pytest.raises(DamagedItem):
            url_of(wrong)


def test_headers_in_every_writing():
    """Mappings to a text or a list, pairs, and name-value objects; the rest is left out."""
    expected = (("a", "1"), ("b", "2"), ("b", "3"))
    assert headers_of({"a": "1", "b": ["2", "3"]}) == expected
    assert headers_of([["a", "1"], ["b", 2], ("b", b"3")]) == expected
    assert headers_of([{"name": "a", "value": "1"}, {"name": "b", "value": ["2", "3"]}]) == expected
    assert headers_of([["a"], "b", {"name": "c"}, {"value": "d"}, ["e", {}]]) == ()
    assert headers_of("a: b") == headers_of(None) == ()


def test_headers_fit_the_body():
    """An encoding that was undone is not told; a content type told elsewhere fills a gap."""
    headers = (("Content-Encoding", "gzip"), ("Content-Type", "a/b"))
    assert without_encoding(headers) == headers[1:]
    assert with_content_type(headers, "c/d") == headers
    assert with_content_type((), "c/d") == (("content-type", "c/d"),)
    assert with_content_type((), None) == ()


def test_bodies():
    """Text is UTF-8, JSON is written out, base64 is decoded."""
    assert text_body("ü\ud800") == b"\xc3\xbc?"
    assert json.loads(json_body({"a": [1.5, None, "ü"]})) == {"a": [1.5, None, "ü"]}
    assert json_body({"when": datetime(2026, 1, 2)}) == b'{"when": "2026-01-02 00:00:00"}'  # noqa: DTZ001
    assert base64_body("aGk=\n") == b"hi"
    with pytest.raises(DamagedItem):
        base64_body("a")


def test_data_that_contains_itself_is_no_body():
    """YAML can hold a list that is its own member, and lists of lists without end."""
    endless: list = []
    endless.append(endless)
    with pytest.raises(DamagedItem, match="no JSON"):
        json_body(endless)
    bomb: list = ["x" * 1000]
    for _ in range(30):
        bomb = [bomb, bomb]
    with pytest.raises(DamagedItem, match="too long"):
        json_body(bomb)


def test_the_rest():
    """Methods are in capitals, lone surrogates are replaced, a missing part is named."""
    assert method_of(" post ") == "POST"
    assert clean("a\ud800b") == "a?b"
    assert mapping_at({"request": {"a": 1}}, "request") == {"a": 1}
    with pytest.raises(DamagedItem, match="it has no request"):
        mapping_at({"request": []}, "request")
