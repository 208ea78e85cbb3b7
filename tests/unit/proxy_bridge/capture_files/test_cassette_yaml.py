"""YAML of any recorder becomes plain data, and never code."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_raglog_proxy_bridge.capture_files.cassette_yaml import load_yaml
from otel_raglog_proxy_bridge.capture_files.raw_values import BadCapture


def test_tags_of_other_languages_are_taken_for_what_they_stand_on():
    """Python's, Ruby's and unknown tags make text, lists and mappings."""
    content = b"""\
a: !!python/unicode text
b: !!python/tuple [1, 2]
c: !!python/object:some.Class {x: 1}
d: !ruby/hash:Hash {y: 2}
e: !binary aGk=
f: !!binary aGk=
g: !!python/object/apply:os.system [echo]
"""
    assert load_yaml(content) == {
        "a": "text",
        "b": [1, 2],
        "c": {"x": 1},
        "d": {"y": 2},
        "e": b"hi",
        "f": b"hi",
        "g": ["echo"],
    }


@pytest.mark.parametrize(
    "content",
    [
        b"a: [",
        b"a: *sk-secret",
        b"a: !!int sk-secret",
        b"a: !!timestamp sk-secret",
        b"a: !!bool sk-secret",
        b"? [sk-secret]\n: 1",
        b"a: !binary sk-secret!",
        b"2026-99-99: x",
        b"\x00",
        b"[" * 100_000,
        b"- " * 100_000,
    ],
)
def test_what_is_no_yaml_is_our_error_and_quotes_nothing(content):
    """Syntax, values that do not fit their tags and endless nesting: a sentence without content."""
    with pytest.raises(BadCapture) as raised:
        load_yaml(content)
    assert "a cassette that is no YAML" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_the_error_names_the_line():
    """Where the parser stopped is told."""
    with pytest.raises(BadCapture, match="line 3"):
        load_yaml(b"a: 1\nb: 2\nc: ]\n")


@given(st.text(alphabet="ab:-[]{}&*!|>?'\"#%@\n \t0", max_size=40))
def test_arbitrary_text_raises_our_error_alone(text):
    """Whatever the text, it is data or BadCapture."""
    try:
        load_yaml(text.encode())
    except BadCapture:
        return


def test_without_pyyaml_the_error_says_what_to_install():
    """The bridge itself needs the standard library alone, so it is imported only here."""
    script = (
        "import sys; sys.modules['yaml'] = None\n"
        "from otel_raglog_proxy_bridge.capture_files.registry import read_calls\n"
        "try:\n"
        "    read_calls('c.yaml', b'interactions: []')\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert (
        done.stdout == "BadCapture c.yaml is a cassette in YAML, which needs pip install pyyaml\n"
    )
