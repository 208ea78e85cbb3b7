"""Secrets that calls carry, looked for wherever they come back."""

import base64
import json

import pytest

from otel_raglog_proxy_bridge.carried_secrets import (
    CarriedSecrets,
    is_unmistakable,
    of_headers,
    of_url,
)

VALUE = "planted-7Qx/" + "y9"


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ([("Authorization", f"Bearer {VALUE}")], {VALUE}),
        ([("X-Api-Key", VALUE)], {VALUE}),
        ([("Cookie", "theme=dark; s=abcdef0123456789")], {"abcdef0123456789"}),
        ([("Set-Cookie", "s=abcdef0123456789; Path=/a0123456789abcdef")], {"abcdef0123456789"}),
        ([("Authorization", f'OAuth realm="x", oauth_token="{VALUE}"')], {VALUE}),
        ([("Content-Type", "application/json"), ("X-Request-Id", VALUE)], set()),
    ],
)
def test_what_headers_carry(headers, found):
    """What follows a scheme, values of cookies, keys; no more."""
    assert set(of_headers(headers)) == found


def test_basic_authorization():
    """The password is a secret of its own."""
    packed = base64.b64encode(f"me:{VALUE}".encode()).decode()
    assert set(of_headers([("Authorization", f"Basic {packed}")])) == {packed, f"me:{VALUE}", VALUE}


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://me:planted-7Qx@h/a", {"planted-7Qx"}),
        ("https://planted-7Qx@h/a", {"planted-7Qx"}),
        ("https://h/a?q=planted&api_key=planted-7Qx", {"planted-7Qx"}),
        ("https://h/a;token=planted-7Qx/b", {"planted-7Qx"}),
        ("https://h/a?session=planted-7Qx&X-Amz-Date=20240101T000000Z", set()),
        ("http://[half", set()),
        ("https://h/p?passcode=planted-7Qx", {"planted-7Qx"}),
    ],
)
def test_what_urls_carry(url, found):
    """Users and parameters that tell a secret; what changes from call to call is not remembered."""
    assert set(of_url(url)) == found


@pytest.mark.parametrize(
    "word",
    ["Bearer", "true", "required", "not-needed", "12345678901234567", "0.123456789", "2024-01-01T00:00:00Z",
     "a1b2", "***", "no key here"],
)  # fmt: skip
def test_ordinary_words_are_never_masked(word):
    """A word, a number or a date that stands where a secret does is not looked for elsewhere."""
    assert not is_unmistakable(word)


@pytest.mark.parametrize(
    "written", [VALUE, json.dumps(VALUE), "planted-7Qx%2Fy9", r"planted-7Qx\/y9"]
)
def test_values_are_masked_however_they_are_written(written):
    """In texts, in JSON and in URLs."""
    carried = CarriedSecrets()
    carried.note([VALUE])
    assert carried.mask(f"a {written} b").count("planted") == 0


@pytest.mark.parametrize("value", ["nabcdef0123", "u00e9abcdef01", 'a"b\\c0123456'])
def test_json_stays_json(value):
    """Where the secret's first letter may belong to an escape, too."""
    carried = CarriedSecrets()
    carried.note([value])
    for text in (f"x\n{value}", f"x\\{value}", f"é{value}", "\n" + value[1:], value):
        json.loads(carried.mask(json.dumps({"a": text, "b": json.dumps(text)})))
    assert json.loads(carried.mask(json.dumps({"a": value}))) == {"a": "***"}


def test_memory_is_bounded():
    """Those seen longest ago go first."""
    carried = CarriedSecrets(most=2)
    carried.note(["planted-1aaa", "planted-2bbb"])
    carried.note(["planted-1aaa", "planted-3ccc"])
    assert carried.mask("planted-1aaa planted-2bbb planted-3ccc") == "*** planted-2bbb ***"
