"""Cassettes of several recorders give the same calls, whatever way they keep bodies and statuses."""

from __future__ import annotations

import base64
import gzip
import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from otel_raglog_proxy_bridge.capture_files import cassettes
from otel_raglog_proxy_bridge.capture_files.raw_values import BadCapture

GZIPPED = gzip.compress(b'{"a": 1}', mtime=0)
VCRPY = """\
interactions:
- request:
    body: '{"input": "hi"}'
    headers:
      accept: ['*/*']
      content-type: [application/json]
    method: POST
    uri: https://api.example.com/v1/embeddings
  response:
    body: {string: '{"data": []}'}
    headers:
      Content-Encoding: [gzip]
      Content-Type: [application/json]
    status: {code: 200, message: OK}
version: 1
"""
RUBY = """\
---
http_interactions:
- request:
    method: post
    uri: https://api.example.com/v1/embeddings
    body:
      encoding: UTF-8
      string: '{"input": "hi"}'
    headers:
      Content-Type:
      - application/json
  response:
    status:
      code: 200
      message: OK
    headers:
      Content-Type:
      - application/json
    body:
      encoding: ASCII-8BIT
      string: !binary |-
        eyJkYXRhIjogW119
    http_version:
  recorded_at: Fri, 27 Nov 2026 10:00:00 GMT
recorded_with: VCR 6.1.0
"""
GO = """\
---
version: 2
interactions:
- id: 0
  request:
    host: api.example.com
    body: '{"input": "hi"}'
    form: {}
    headers: {Content-Type: [application/json]}
    url: https://api.example.com/v1/embeddings
    method: POST
  response:
    body: '{"data": []}'
    headers: {Content-Type: [application/json]}
    status: 200 OK
    code: 200
    duration: 120.5ms
"""


def interaction(**changes):
    """Return an interaction as vcrpy has it."""
    base = {
        "request": {"method": "GET", "uri": "http://a.example/b", "headers": {}, "body": None},
        "response": {"status": {"code": 200}, "headers": {}, "body": {"string": "x"}},
    }
    for part, values in changes.items():
        base[part] = {**base[part], **values} if isinstance(values, dict) else values
    return base


def read(*interactions):
    """Return what is read of a vcrpy cassette in JSON."""
    data = {"version": 1, "interactions": interactions}
    return list(cassettes.read(json.dumps(data).encode()))


def read_yaml(*interactions):
    """Return what is read of a vcrpy cassette in YAML."""
    data = {"version": 1, "interactions": list(interactions)}
    return list(cassettes.read(yaml.safe_dump(data).encode()))


@pytest.mark.parametrize("text", [VCRPY, RUBY, GO], ids=["vcrpy", "ruby", "go"])
def test_cassettes_of_each_recorder_are_read(text):
    """The same call in three languages."""
    content = text.encode()
    assert cassettes.matches(".yml", content)
    (found,) = cassettes.read(content)
    assert (found.id, found.method, found.status) == ("1", "POST", 200)
    assert found.url == "https://api.example.com/v1/embeddings"
    assert found.request_body == b'{"input": "hi"}'
    assert found.response_body == b'{"data": []}'
    assert dict(found.response_headers) == {"Content-Type": "application/json"}
    assert (found.started_ns, found.ended_ns) == (0, 0)


def test_json_cassettes_are_read():
    """JSON holds what YAML holds."""
    as_json = json.dumps(yaml.safe_load(VCRPY)).encode()
    assert cassettes.matches(".json", as_json)
    assert list(cassettes.read(as_json)) == list(cassettes.read(VCRPY.encode()))


def test_bytes_keep_their_content_encoding():
    """Bytes and base64 are as they went over the wire; text is not, whatever the header says."""
    headers = {"content-encoding": ["gzip"]}
    (found,) = read_yaml(interaction(response={"body": {"string": GZIPPED}, "headers": headers}))
    assert found.response_body == GZIPPED
    assert found.response_headers == (("content-encoding", "gzip"),)
    body = {"encoding": "utf-8", "base64_string": base64.b64encode(GZIPPED).decode()}
    assert read(interaction(response={"body": body, "headers": headers})) == [found]
    (plain,) = read(interaction(response={"body": {"string": "{}"}, "headers": headers}))
    assert plain.response_headers == ()


@pytest.mark.parametrize(
    ("request_part", "body"),
    [
        ({"body": None}, b""),
        ({"body": "text"}, b"text"),
        ({"body": {"string": "text", "encoding": "utf-8"}}, b"text"),
        ({"body": {"base64_string": "dGV4dA=="}}, b"text"),
        ({"body": {"encoding": "US-ASCII"}}, b""),
        ({"body": {"input": ["a"]}}, b'{"input": ["a"]}'),
        ({"body": [1]}, b"[1]"),
        ({"parsed_body": {"input": 1}, "body": None}, b'{"input": 1}'),
    ],
)
def test_every_writing_of_a_body_is_read(request_part, body):
    """Text, wrapped text, base64, and JSON that was kept parsed."""
    (found,) = read(interaction(request=request_part))
    assert found.request_body == body


def test_httpx_cassettes_of_older_versions_are_read():
    """vcrpy once kept httpx's answers as content and status_code."""
    response = {"content": '{"a": 1}', "http_version": "HTTP/1.1", "status_code": 429}
    (found,) = read(interaction(response=None) | {"response": response})
    assert (found.status, found.response_body) == (429, b'{"a": 1}')


def test_an_interaction_without_an_answer_has_no_status():
    """None is told, so none is made up."""
    (found,) = read(interaction(response=None))
    assert (found.status, found.response_body) == (None, b"")


def test_a_damaged_interaction_costs_itself_alone():
    """It is named by its number."""
    found = read(
        {"response": {}},
        7,
        interaction(request={"body": {"base64_string": "?"}}),
        interaction(response={"status": {"code": "fine"}}),
        interaction(),
    )
    assert found[:4] == [
        "interaction 1 is damaged: it has no request",
        "interaction 2 is damaged: it has no request",
        "interaction 3 is damaged: its body is no base64",
        "interaction 4 is damaged: its status is no number of three digits",
    ]
    assert found[4].id == "5"


@pytest.mark.parametrize(
    "content",
    [
        b'{"interactions": [',
        b'{"interactions": {}}',
        b"interactions: {a: [",
        b"interactions: 5",
        b"",
    ],
)
def test_a_file_that_is_none_is_an_error(content):
    """Without a list of interactions there is nothing to read."""
    with pytest.raises(BadCapture):
        list(cassettes.read(content))


def test_cassettes_are_told_by_their_first_key():
    """Not by a name, nor by a key further down."""
    assert cassettes.matches("", b"# recorded\n\nversion: 1\ninteractions:\n- request: {}\n")
    assert cassettes.matches("", b'{"recorded_with": "betamax/0.8", "http_interactions": []}')
    assert cassettes.matches("", b'{\n  "version": 1,\n  "interactions": [')
    assert not cassettes.matches(".yaml", b"services:\n  interactions: 1\n")
    assert not cassettes.matches(".json", b'{"resourceSpans": []}')
    assert not cassettes.matches("", b"\n" * 100_000)


@given(st.binary(max_size=60))
def test_arbitrary_bytes_raise_our_error_alone(tail):
    """Whatever follows the first key is read, a sentence, or BadCapture."""
    for head in (b"", b"interactions:\n- ", b"interactions: [", b'{"interactions": ['):
        try:
            list(cassettes.read(head + tail))
        except BadCapture:
            continue


TWICE = VCRPY.replace("version: 1\n", "") + VCRPY.removeprefix("interactions:\n")


@pytest.mark.parametrize("indent", ["", "    "])
def test_an_interaction_in_yaml_that_is_damaged_costs_itself_alone(indent):
    """Cut short within a text, or broken between others."""
    text = "".join(
        f"{indent if line[0] in '- ' else ''}{line}" for line in TWICE.splitlines(keepends=True)
    )
    assert len(list(cassettes.read(text.encode()))) == 2
    cut = text[: text.rindex('"data"')]
    call, lost = cassettes.read(cut.encode())
    assert call.response_body == b'{"data": []}'
    assert lost == "interaction 2 is damaged: no YAML, or cut short"
    lost, call = cassettes.read(text.replace("[application/json]", "[app: {", 1).encode())
    assert lost == "interaction 1 is damaged: no YAML, or cut short"
    assert call.id == "2"


def test_what_is_no_yaml_after_the_interactions_costs_none():
    """The recorder's own last lines, cut short."""
    call, told = cassettes.read(VCRPY.replace("version: 1", 'version: "1').encode())
    assert call.method == "POST"
    assert told == "after interaction 1: no YAML"


def test_a_cassette_in_json_that_was_cut_short_is_read_up_to_the_cut():
    """As a HAR file is."""
    whole = json.dumps(yaml.safe_load(TWICE)).encode()
    call, lost = cassettes.read(whole[: whole.rindex(b'"data')])
    assert call.id == "1"
    assert lost.startswith("interaction 2 is damaged: no JSON, or cut short")
