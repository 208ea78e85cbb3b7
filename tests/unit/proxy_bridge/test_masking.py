"""Bodies whose secrets are masked."""

import base64
import json
import random
import re
import struct

import pytest

from otel_raglog_proxy_bridge.masking import CrossingPattern, mask_body, mask_text

KEY = "sk-proj-Ab12Cd34Ef56Gh78Ij90"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n-----END PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("data", "masked"),
    [
        ({"api_key": "x"}, {"api_key": "***"}),
        ({"password": 1234, "n": 5}, {"password": "***", "n": 5}),
        ({"api_key": ""}, {"api_key": ""}),
        ({"api_key": None, "a": "b"}, {"api_key": None, "a": "b"}),
        ({"headers": {"Authorization": "Basic eA"}}, {"headers": {"Authorization": "***"}}),
        ({"api_keys": ["a"], "apiKey": ["b", "c"]}, {"api_keys": ["***"], "apiKey": ["***", "***"]}),
        (
            {"credentials": {"user": "u", "id": 7, "deep": [{"x": "y"}]}, "after": "z"},
            {"credentials": {"user": "***", "id": "***", "deep": [{"x": "***"}]}, "after": "z"},
        ),
        ({"token": "Hello", "logprob": -1.5}, {"token": "Hello", "logprob": -1.5}),
        ({"token": "abcdef0123456789"}, {"token": "***"}),
        ({"name": "X-Api-Key", "value": "v"}, {"name": "X-Api-Key", "value": "***"}),
        ({"name": "city", "value": "v"}, {"name": "city", "value": "v"}),
        ({"text": f"use {KEY}!"}, {"text": "use ***!"}),
        ({f"{KEY}": 1}, {"***": 1}),
        ({"text": f"line\n{PEM}end"}, {"text": "line\n***\nend"}),
        ({"arguments": json.dumps({"password": 'a"b', "c": 1})}, {"arguments": '{"password": "***", "c": 1}'}),
        ({"a": json.dumps({"b": json.dumps({"secret": "x"})})}, {"a": json.dumps({"b": json.dumps({"secret": "***"})})}),
        ("api_key=abc12345", "api_key=***"),
        ([KEY, "b"], ["***", "b"]),
    ],
)  # fmt: skip
def test_json(data, masked):
    """JSON stays JSON, and of it only secrets change."""
    assert json.loads(mask_body(json.dumps(data))) == masked
    assert json.loads(mask_body(json.dumps(data, indent=2), "application/json")) == masked


def test_escaped_secrets():
    """A secret is found behind JSON's escapes, in values and in names of fields."""
    assert json.loads(mask_body(r'{"text": "sk\u002dproj-Ab12Cd34Ef56Gh78Ij90 \u00e9"}')) == {
        "text": "*** é"
    }
    assert mask_body(r'{"api\u005fkey": "x"}') == r'{"api\u005fkey": "***"}'


def test_what_is_no_secret_keeps_its_bytes():
    """Spaces, escapes and numbers stay as they are written."""
    body = '{ "a" : 0.10,\t"b":"\\u00e9\\/",\n"c":1e-05 , "d":"x" }'
    assert mask_body(body) == body


def test_embeddings_stay():
    """Vectors as numbers and in base64 are not touched, whatever they look like."""
    draw = random.Random(5)
    vectors = [[draw.gauss(0, 0.05) for _ in range(1536)] for _ in range(8)]
    packed = [base64.b64encode(struct.pack("<1536f", *vector)).decode() for vector in vectors]
    packed.append("/AKIAIOSFODNN7EXAMPLE/" + "A" * 300)
    patterns = ((re.compile(r"\d{16}"), "***"),)
    for body in (json.dumps({"embedding": vectors}), json.dumps({"embedding": packed})):
        assert mask_body(body, "application/json", patterns) == body


def test_patterns_of_the_user():
    """They are searched in strings, in names of fields and in whole numbers; JSON stays JSON."""
    patterns = ((re.compile(r"\d{3}-?\d{6}"), '"gone"'),)
    body = json.dumps({"a": "id 123-456789", "123456789": 1, "n": 123456789, "f": 0.123456789})
    assert json.loads(mask_body(body, "", patterns)) == {
        "a": 'id "gone"',
        '"gone"': 1,
        "n": '"gone"',
        "f": 0.123456789,
    }


def test_a_pattern_across_punctuation():
    """A pattern that reaches over JSON's punctuation cannot be masked: that is an error."""
    patterns = ((re.compile(r'"ssn":\s*\d+'), "***"),)
    with pytest.raises(CrossingPattern):
        mask_body('{"ssn": 12345}', "application/json", patterns)


@pytest.mark.parametrize("end", range(20, 75))
def test_json_that_was_cut(end):
    """Wherever a body is cut, not three characters of a secret stay."""
    secret = "zq!8vw-0123456789"
    body = json.dumps({"model": "m", "api_key": secret, "s": "x" * 20})[:end]
    masked = mask_body(body, "application/json", cut=True)
    assert secret[:3] not in masked
    assert masked.startswith('{"model": "m"')


def test_a_cut_string_of_json_in_json():
    """Arguments of a tool that are cut are looked through as well."""
    body = json.dumps({"arguments": json.dumps({"password": "pa\\ss\nword"})})
    for end in range(30, len(body)):
        assert "pa" not in mask_body(body[:end], cut=True)[len('{"arguments": "{\\"pa') :]


def test_event_streams():
    """Each event is masked on its own, and the stream keeps its lines."""
    body = f'event: x\ndata: {{"text": "{KEY}"}}\n\n: {KEY}\ndata: {{"password": "p"}}\n\ndata: [DONE]\n\n'
    masked = mask_body(body, "text/event-stream")
    assert masked == 'event: x\ndata: {"text": "***"}\n\n: ***\ndata: {"password": "***"}\n\ndata: [DONE]\n\n'  # fmt: skip


def test_json_lines():
    """One broken line does not hide what is in the next."""
    body = '{"a": "open\n{"api_key": "x"}\n{"b": "c"}\n'
    assert (
        mask_body(body, "application/x-ndjson") == '{"a": "open\n{"api_key": "***"}\n{"b": "c"}\n'
    )


def test_forms():
    """Fields of a form are masked by name and by form; the others stay as they are written."""
    body = f"grant_type=refresh_token&client_secret=a%20b&text=hello+w%C3%B6rld&x={KEY}"
    masked = mask_body(body, "application/x-www-form-urlencoded; charset=utf-8")
    assert masked == "grant_type=refresh_token&client_secret=***&text=hello+w%C3%B6rld&x=***"


def test_prose_with_json_in_it():
    """A prompt that quotes a configuration gives no secret away, a quoted password neither."""
    text = 'Here is my config: {"password": "hunter", "a": 1}. Also "api_key": "xyz".'
    masked = mask_text(text)
    assert "hunter" not in masked
    assert "xyz" not in masked
    assert masked.startswith("Here is my config: ")


def test_prose_that_begins_like_a_list():
    """A numbered document is prose: what stands between quotation marks is no field."""
    text = f'[1] He said "no" and password="abc12345" and {KEY}'
    assert mask_text(text) == '[1] He said "no" and password="***" and ***'


@pytest.mark.parametrize("opening", ["[", '{"a":', '"', '{"password":[', '"\\', "\\", '[{"a":"'])
def test_no_input_breaks_it(opening):
    """Nesting without end and quotes without partner are no error."""
    for cut in (False, True):
        assert isinstance(mask_body(opening * 20_000, cut=cut), str)


def test_any_bytes_of_json_stay_json():
    """Whatever JSON comes, JSON of the same shape leaves."""
    draw = random.Random(7)
    names = ["a", "api_key", "name", "value", "credentials", "token", 'q"uote']
    values = ["x", KEY, 'say "hi"', "\\", "\n", 3, -2.5, True, None, "é\ud800"]

    def some(depth: int) -> object:
        kind = draw.randrange(4 if depth else 2)
        if kind < 2:
            return draw.choice(values)
        if kind == 2:
            return [some(depth - 1) for _ in range(draw.randrange(4))]
        return {draw.choice(names): some(depth - 1) for _ in range(draw.randrange(4))}

    for _ in range(2_000):
        data = some(4)
        masked = mask_body(json.dumps(data))
        loaded = json.loads(masked)
        assert KEY not in masked
        assert type(loaded) is type(data)
        if isinstance(data, dict | list):
            assert len(loaded) == len(data)


@pytest.mark.parametrize("depth", [3, 6, 11, 14])
def test_json_in_json_at_any_depth(depth):
    """Beyond the depth that is looked into, a string of JSON is left out as a whole."""
    text = json.dumps({"password": "zq 8vw"})
    for _ in range(depth):
        text = json.dumps({"a": text})
    assert "zq 8vw" not in mask_body(text)


@pytest.mark.parametrize(
    ("data", "masked"),
    [
        ({"value": "v", "name": "api_key"}, {"value": "***", "name": "api_key"}),
        ({"key": "password", "type": "text", "value": "v"}, {"key": "password", "type": "text", "value": "***"}),
        ([["x-api-key", "v"], ["accept", "w"]], [["x-api-key", "***"], ["accept", "w"]]),
        (["api key", "documentation"], ["api key", "documentation"]),
        ({"name": "author", "value": "Ann Smith"}, {"name": "author", "value": "Ann Smith"}),
        ([{"name": "api_key"}, {"value": "v"}], [{"name": "api_key"}, {"value": "v"}]),
    ],
)  # fmt: skip
def test_pairs_of_name_and_value(data, masked):
    """The name tells of the value, in either order, and only of its own."""
    assert json.loads(mask_body(json.dumps(data))) == masked
