"""A file of any kind becomes safe calls in its order, or one clear error."""

from __future__ import annotations

import gzip
import json
import re

import pytest
from flow_files import dumps, http_flow
from hypothesis import given
from hypothesis import strategies as st

from otel_raglog_proxy_bridge.capture_files.raw_values import BadCapture
from otel_raglog_proxy_bridge.capture_files.registry import KINDS, is_capture, read_calls
from otel_raglog_proxy_bridge.safety import SafetyRules

KEY = "sk-proj-Zx81hHq0Lm47tYv2Nc95"
URL = "https://api.example.com/v1/embeddings"
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
PAIRS = [{"name": name, "value": value} for name, value in HEADERS.items()]
BODY = json.dumps({"input": "hi", "api_key": KEY})
SECRET_URL = f"{URL}?api_key={KEY}"
FILES = {
    "a.mitm": dumps(
        http_flow(
            request={
                "path": f"/v1/embeddings?api_key={KEY}".encode(),
                "headers": [[name.encode(), value.encode()] for name, value in HEADERS.items()]
                + [[b"Host", b"api.example.com"]],
                "content": BODY.encode(),
            },
            response={
                "headers": [[b"content-encoding", b"gzip"], [b"content-type", b"application/json"]],
                "content": gzip.compress(b'{"data":[]}', mtime=0),
            },
        )
    ),
    "a.har": json.dumps(
        {
            "log": {
                "entries": [
                    {
                        "request": {
                            "method": "POST",
                            "url": SECRET_URL,
                            "headers": PAIRS,
                            "postData": {"text": BODY},
                        },
                        "response": {
                            "status": 200,
                            "headers": [],
                            "content": {"text": '{"data":[]}', "mimeType": "application/json"},
                        },
                    }
                ]
            }
        }
    ).encode(),
    "a.yaml": f"""\
interactions:
- request:
    method: POST
    uri: {SECRET_URL}
    headers: {json.dumps(HEADERS)}
    body: '{BODY}'
  response:
    status: {{code: 200}}
    headers: {{content-type: [application/json]}}
    body: {{string: '{{"data":[]}}'}}
""".encode(),
    "a.jsonl": json.dumps(
        {
            "method": "POST",
            "url": SECRET_URL,
            "status": 200,
            "request_headers": HEADERS,
            "request_body": BODY,
            "response_body": '{"data":[]}',
        }
    ).encode(),
}


def records(*times):
    """Return call records, one for each pair of start and end."""
    return json.dumps(
        [
            {"method": "GET", "url": URL, "started_at": start, "ended_at": end}
            for start, end in times
        ]
    ).encode()


@pytest.mark.parametrize("name", FILES)
def test_each_kind_gives_the_same_safe_call(name):
    """Whatever the file, the call is read, its encodings undone and its secrets masked."""
    assert is_capture(name, FILES[name])
    captured = read_calls(name, FILES[name])
    (call,) = captured.calls
    assert captured.problems == ()
    assert (call.method, call.status, call.response_body) == ("POST", 200, '{"data":[]}')
    assert call.url.startswith(URL)
    assert json.loads(call.request_body)["input"] == "hi"
    assert call.request_headers == {"content-type": "application/json"}
    assert KEY not in repr(captured)


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_tells_no_secret(name):
    """Cut anywhere, a file gives calls, sentences or an error, none with the key in it."""
    for cut in range(0, len(FILES[name]), 7):
        try:
            said = repr(read_calls(name, FILES[name][:cut]))
        except BadCapture as error:
            said = str(error)
        assert KEY not in said


def test_the_kind_is_told_by_content_whatever_the_name():
    """A file that was renamed, or that begins with a byte order mark, is read alike."""
    for content in FILES.values():
        assert is_capture("capture", content)
        assert read_calls("capture", b"\xef\xbb\xbf" + content).calls


def test_the_name_may_still_say_that_it_was_compressed():
    """The suffix before .gz is the one that counts."""
    assert is_capture("a.mitm.gz", b"\x00 damaged")
    assert not is_capture("a.bin.gz", b"\x00 damaged")


@pytest.mark.parametrize(
    "content",
    [
        b'{"resourceSpans": []}',
        b'{"question": "q", "answer": "a"}',
        b"",
        b"question,answer\n",
        b"\x0a",
    ],
)
def test_other_files_are_no_captures(content):
    """OTLP, run records and tables are left to their own readers."""
    assert not is_capture("a.jsonl", content)
    with pytest.raises(BadCapture, match=r"a\.jsonl holds no captured calls"):
        read_calls("a.jsonl", content)


def test_problems_name_the_file():
    """A sentence about an item says in which file it is."""
    captured = read_calls("b.mitm", dumps(http_flow()) + dumps(1) + dumps({"type": "udp"}))
    assert captured.problems == ("b.mitm, flow 2 is damaged: it is no dictionary",)


def test_what_is_no_http_call_is_noted():
    """Nothing is wrong with a file that holds it."""
    captured = read_calls("b.mitm", dumps(http_flow()) + dumps({"type": "udp"}))
    assert captured.problems == ()
    assert captured.notes == ("b.mitm, 1 udp flow left out: it holds no HTTP call",)


def test_a_file_of_which_nothing_can_be_read_is_an_error():
    """Its first problem says why."""
    with pytest.raises(BadCapture, match=r"b\.mitm, flow 1 .*; nothing in b\.mitm could be read"):
        read_calls("b.mitm", b"no flows")
    with pytest.raises(BadCapture, match=r"b\.har is a HAR file that is no JSON"):
        read_calls("b.har", b'{"log": {')


def test_a_file_without_calls_is_none_wrong():
    """A cassette of a test that called nothing is empty, which is no error."""
    assert read_calls("c.yaml", b"interactions: []\nversion: 1\n").calls == ()


def test_calls_without_times_follow_each_other():
    """A millisecond each, after the latest end that the file tells."""
    millisecond = 1_000_000
    times = [
        (call.started_ns, call.ended_ns)
        for call in read_calls(
            "r", records((None, None), (None, None), (50, 60), (None, None))
        ).calls
    ]
    assert times == [
        (millisecond, 2 * millisecond),
        (2 * millisecond, 3 * millisecond),
        (50_000_000_000, 60_000_000_000),
        (60_000_000_000, 60_000_000_000 + millisecond),
    ]


def test_one_known_time_stands_for_both():
    """And a call never ends before it began."""
    found = read_calls("r", records((50, None), (None, 60), (70, 65))).calls
    assert [(call.started_ns, call.ended_ns) for call in found] == [
        (50_000_000_000, 50_000_000_000),
        (60_000_000_000, 60_000_000_000),
        (70_000_000_000, 70_000_000_000),
    ]


def test_ids_differ_within_a_file():
    """What is said of a call by its id is said of one call."""
    record = {"id": "a", "method": "GET", "url": URL}
    found = read_calls("r", json.dumps([record, record, record]).encode()).calls
    assert [call.id for call in found] == ["a", "a#2", "a#3"]


def test_rules_are_those_that_are_given():
    """What else is to be masked is masked in files too."""
    rules = SafetyRules(patterns=((re.compile("hi"), "[greeting]"),))
    (call,) = read_calls("a.jsonl", FILES["a.jsonl"], rules).calls
    assert "[greeting]" in call.request_body


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
@given(content=st.binary(max_size=120))
def test_arbitrary_bytes_raise_our_error_alone(kind, content):
    """Each reader takes any bytes."""
    try:
        list(kind.read(content))
    except BadCapture:
        return


@given(
    st.sampled_from(["a.mitm", "a.har", "a.yaml", "a.jsonl", "a.dump"]),
    st.sampled_from(list(FILES.values())),
    st.integers(0, 400),
    st.binary(max_size=4),
)
def test_files_with_flipped_bytes_raise_our_error_alone(name, content, at, flipped):
    """A file that was damaged anywhere is read as far as it goes."""
    content = content[:at] + flipped + content[at + len(flipped) :]
    is_capture(name, content)
    try:
        read_calls(name, content)
    except BadCapture:
        return
