"""Which regular expressions users may give, and that none takes long."""

import sys

import pytest

from otel_raglog.errors import BadInput, ConfigError
from otel_raglog.patterns import compile_pattern


def test_it_replaces_like_others():
    """In any script, and in texts that have none."""
    digits = compile_pattern(r"\d{4}-\d{4}")
    assert digits.sub("[r]", "é 1234-5678 日本") == "é [r] 日本"
    assert compile_pattern(r"(?i)secret").sub("[r]", "Secret Ünïcode") == "[r] Ünïcode"


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"[\w.+-]+@[\w.-]+", "deadbeef" * 50_000),
        (r"(a+)+$", "a" * 50_000 + "!"),
        (r"(.*)*x", "y" * 50_000),
    ],
)
def test_no_text_takes_long(pattern, text):
    """Of these, Python's own expressions take minutes and more; the time-out of the test says so."""
    assert compile_pattern(pattern).sub("", text) == text


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [("(", r"missing \)"), (r"(?<=a)b", "invalid perl operator"), (r"(a)\1", "invalid escape")],
)
def test_what_it_does_not_know_is_named(pattern, problem, capfd):
    """With what is wrong; the library itself says nothing."""
    with pytest.raises(BadInput, match=problem):
        compile_pattern(pattern)
    assert capfd.readouterr().err == ""


def test_without_the_library_it_says_what_to_install(monkeypatch):
    """It comes with the extra for LLMs."""
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ConfigError, match=r"otel-raglog\[judge\]"):
        compile_pattern("x")
