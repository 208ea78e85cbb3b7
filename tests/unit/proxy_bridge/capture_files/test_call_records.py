"""Call records, lines or an array, are read with whatever they tell; keys they add are left alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_raglog_proxy_bridge.capture_files import call_records
from otel_raglog_proxy_bridge.model import Side

RECORD = {"method": "POST", "url": "https://api.example.com/v1/embeddings"}


def lines(*records):
    """Return ``records`` as JSON lines."""
    return b"\n".join(json.dumps(record).encode() for record in records)


def read(*records):
    """Return what is read of ``records`` as JSON lines."""
    return list(call_records.read(lines(*records)))


def call(**fields):
    """Return the call of a record with ``fields``."""
    (found,) = read({**RECORD, **fields})
    return found


def test_a_full_record_is_read():
    """Each key has its place."""
    found = call(
        id="q-7",
        status=200,
        request_headers={"content-type": "application/json", "Content-Encoding": "gzip"},
        response_headers=[["x-request-id", "r1"]],
        response_content_type="application/json",
        request_body={"input": "ü"},
        response_body='{"data": []}',
        started_at="2026-11-29T20:09:41.25Z",
        ended_at=1795982982.5,
        side="front",
        client="worker-2",
        url_kind="ignored",
    )
    assert (found.id, found.method, found.status) == ("q-7", "POST", 200)
    assert found.url == RECORD["url"]
    assert found.request_headers == (("content-type", "application/json"),)
    assert found.response_headers == (
        ("x-request-id", "r1"),
        ("content-type", "application/json"),
    )
    assert found.request_body == '{"input": "ü"}'.encode()
    assert found.response_body == b'{"data": []}'
    assert (found.started_ns, found.ended_ns) == (1795982981_250000000, 1795982982_500000000)
    assert (found.side, found.client) == (Side.FRONT, "worker-2")


def test_a_bare_record_is_read():
    """Method and URL are enough: an outbound call that had no answer."""
    found = call(error="timed out")
    assert (found.id, found.status, found.side) == ("1", None, Side.OUTBOUND)
    assert (found.request_body, found.response_body, found.started_ns) == (b"", b"", 0)
    assert found.error == "timed out"


def test_an_array_and_one_object_are_read_like_lines():
    """Lines with blank ones between, an array, and an object over several lines."""
    by_lines = list(call_records.read(b"\n" + lines(RECORD) + b"\n\n" + lines(RECORD) + b"\n"))
    assert list(call_records.read(json.dumps([RECORD, RECORD]).encode())) == by_lines
    assert list(call_records.read(json.dumps(RECORD, indent=1).encode())) == by_lines[:1]
    assert [found.id for found in by_lines] == ["1", "2"]


def test_a_damaged_record_costs_itself_alone():
    """It is named by its line, or its place in an array; nothing of it is quoted."""
    bad = {**RECORD, "side": "sk-secret"}
    content = b'{"method": "GET", "url": "ht\n' + lines(
        RECORD, {"url": "x"}, bad, {**RECORD, "url": 1}
    )
    found = list(call_records.read(content))
    assert found[0] == "line 1 is damaged: it is no JSON object"
    assert found[1].id == "2"
    assert found[2:] == [
        "line 3 is damaged: it has no method",
        "line 4 is damaged: its side is neither outbound nor front",
        "line 5 is damaged: it has no URL",
    ]
    array = list(call_records.read(json.dumps([5, RECORD]).encode()))
    assert array[0] == "call 1 is damaged: it is no JSON object"


def test_a_time_that_is_none_is_told_and_the_call_kept():
    """Milliseconds for seconds are a usual mistake, and would be a year far away."""
    sentence, found = read({**RECORD, "started_at": 1795982981250})
    assert sentence == "call 1: started_at is no time"
    assert found.started_ns == 0


def test_call_records_are_told_by_their_keys():
    """A method and a URL in the first object, or in one of the first lines."""
    assert call_records.matches(".jsonl", lines(RECORD))
    assert call_records.matches("", json.dumps([RECORD]).encode())
    assert call_records.matches("", json.dumps(RECORD, indent=2).encode())
    assert call_records.matches("", b"{broken\n" + lines(RECORD))
    span = {"resourceSpans": [{"attributes": {"method": "GET", "url": "http://a.example"}}]}
    assert not call_records.matches(".jsonl", lines(span))
    assert not call_records.matches(".jsonl", lines({"question": "q", "answer": "a"}))
    assert not call_records.matches(".jsonl", b"[" * 100_000 + b'"method" "url"')


ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
KEYS = [
    "id", "method", "url", "status", "request_headers", "response_headers", "request_body",
    "response_body", "request_content_type", "started_at", "ended_at", "side", "client", "error",
]  # fmt: skip


@given(st.dictionaries(st.sampled_from(KEYS), ODD))
def test_odd_values_never_raise(fields):
    """A record of any values is a call or a sentence."""
    assert read({**RECORD, **fields})


@pytest.mark.parametrize("indent", [None, 2])
def test_an_array_that_was_cut_short_is_read_up_to_the_cut(indent):
    """One sentence says what is lost, not one for each of its lines."""
    record = {"method": "GET", "url": "http://h/a", "status": 200}
    whole = json.dumps([record] * 3, indent=indent).encode()
    first, second, lost = call_records.read(whole[:-20])
    assert (first.url, second.id) == ("http://h/a", "2")
    assert lost == "call 3 is damaged: no JSON, or cut short; nothing after it can be read"
