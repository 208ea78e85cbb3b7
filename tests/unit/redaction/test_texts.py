"""What patterns find in a text, and what stands there then."""

import pytest

from otel_raglog.patterns import compile_pattern
from otel_raglog.redaction.replacing import Action, Replacing
from otel_raglog.redaction.texts import TextRules

ALL = ("email", "phone", "card", "iban", "key")


def test_all_that_is_found_is_replaced_and_nothing_else():
    """Built-in patterns and expressions of users, side by side."""
    rules = TextRules(ALL, [compile_pattern(r"EMP-\d+")])
    text = "Ann (a@b.co, +49 30 901820, EMP-7) paid 18 euros."
    assert rules(text) == "Ann ([redacted], [redacted], [redacted]) paid 18 euros."
    assert rules("nothing here") == "nothing here"


def test_what_overlaps_is_replaced_once():
    """An expression that matches a part of an address hides the whole."""
    rules = TextRules(("email",), [compile_pattern(r"b\.co, \w+"), compile_pattern("a@")])
    assert rules("x a@b.co, more y") == "x [redacted] y"


def test_equal_texts_have_equal_hashes():
    """So that two questions of one person can be told to be of one."""
    rules = TextRules(("email",), (), Action.HASH, Replacing(b"k" * 16))
    first, second, other = (rules(f"{name}@b.co") for name in ("ann", "ann", "bob"))
    assert first == second != other
    assert first == Replacing(b"k" * 16)("ann@b.co", Action.HASH)


@pytest.mark.parametrize("text", ["a\u200b@b.co", "a@\u00adb.co", "a@b\x00.co", r"a\u0040b.co"])
def test_what_nobody_sees_hides_nothing(text):
    """Zero-width and control characters, and characters written in JSON."""
    assert TextRules(("email",))(text) == "[redacted]"


def test_a_text_without_a_find_keeps_its_invisible_characters():
    """Only what is redacted changes."""
    text = "so\u00adft \\u0041 \\ud83d\\ude00"
    assert TextRules(ALL, [compile_pattern("xyz")])(text) == text


def test_keys_are_masked_whatever_the_action():
    """A hash of a password can be tried out by who has the key."""
    rules = TextRules(("key",), (), Action.HASH, Replacing(b"k" * 16))
    text = rules("Authorization: Bearer sk-ant-api03-abcdefghijklmnop0123")
    assert "abcdefgh" not in text
    assert "redacted:" not in text


def test_halves_of_characters_stop_no_expression():
    """JSON can hold a lone surrogate, which has no UTF-8."""
    assert (
        TextRules((), [compile_pattern("bad+")])("\ud800 badd \udc00") == "\ud800 [redacted] \udc00"
    )


def test_an_expression_that_matches_nothing_replaces_nothing():
    """Empty matches are everywhere."""
    assert TextRules((), [compile_pattern("x*")])("abc") == "abc"
