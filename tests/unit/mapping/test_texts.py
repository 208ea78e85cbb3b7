"""When texts say the same, and what a program may take from an output."""

import random
import re
from difflib import SequenceMatcher

import pytest

from otel_raglog.mapping.texts import (
    CLOSE,
    beginning,
    folded,
    holds,
    lines_of,
    normal,
    pieces_of,
    same_normal,
    same_text,
    sections,
    squeezed,
)


def test_normal():
    """Case, white space, quotes and end punctuation do not count."""
    assert normal('  "Night\n ferry?" ') == normal("night ferry")


def test_every_kind_of_white_space_is_squeezed():
    """Each run of white space, of any alphabet, is one blank; long texts are no exception."""
    blanks = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
    assert squeezed(f"{blanks}a{blanks}b{blanks}") == "a b"
    text = f" The\u00a0 Ferry\n\n{blanks}" * 2_000
    assert squeezed(text) == re.sub(r"\s+", " ", text).strip()
    assert folded(text) == squeezed(text).casefold()


@pytest.mark.parametrize(
    "text",
    [
        "",
        '"The  Night\nFerry!"',
        "\u00df" * 60,
        "... ?",
        "a\u2019",
        "a b" + " " * 300 + "c " * 90,
        "a" * 48 + "." * 200,
    ],
)
def test_a_beginning_is_that_of_the_normal_text(text):
    """Only the rest is not looked at, also where folding makes two letters of one."""
    assert beginning(text, 48) == normal(text)[:48]


def test_paragraphs_are_folded_as_one_text():
    """Where a text has empty lines makes no difference, nor how long its paragraphs are."""
    paragraphs = ["The Ferry", "", " ", "A  Pier\u00a0" * 20, "Stra\u00dfe " * 900, "end"]
    text = "\n\n".join(paragraphs)
    assert folded(text) == re.sub(r"\s+", " ", text).strip().casefold()


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ('"At 22:15."', "at  22:15", True),
        ("At 22:15. \n ...", "At 22:15.", True),
        ("At 22:15, from pier 4", "At 22:15", False),
        ("At 22:15", "At 22:15, from pier 4", False),
        ("", "", True),
        ("...", "", True),
        ("a", "", False),
    ],
)
def test_same_normal(one, two, same):
    """Texts are the same whose normal forms are, however the one is found in the other."""
    assert same_normal(one, two) is same


@pytest.mark.parametrize(
    ("outer", "inner", "held"),
    [
        ("The Night  Ferry", "night ferry" + " ." * 30, True),
        ("The Night  Ferry", "night ferry leaves " * 9, False),
        ("", "night ferry", False),
        ("", "...", False),
    ],
)
def test_a_longer_text_may_be_held(outer, inner, held):
    """What is longer as written is held all the same when only its edges are."""
    assert holds(outer, inner) is held


def test_close_texts_are_those_of_difflib():
    """The quick rejection rejects nothing that difflib finds close."""
    source = random.Random(1)
    verdicts = set()
    for _ in range(300):
        one = "".join(source.choices("ab c", k=source.randint(1, 30))) + "."
        two = list(one)
        for _ in range(source.randint(0, 4)):
            two[source.randrange(len(two))] = source.choice("abcd ")
        first, second = normal(one), normal("".join(two))
        ratio = SequenceMatcher(None, first, second, autojunk=False).ratio()
        close = first == second or (bool(first and second) and ratio >= CLOSE)
        assert same_text(one, "".join(two)) is close
        verdicts.add((close, first == second))
    assert verdicts == {(True, True), (True, False), (False, False)}


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("night ferry times", "Night ferry times.", True),
        ("night ferry times", "night ferry time", True),
        ("night ferry times", "day ferry fares", False),
        ("", "x", False),
        ("x" * 5000, "x" * 4999, False),
    ],
)
def test_same_text(first, second, same):
    """Small differences count as the same; long texts must be equal."""
    assert same_text(first, second) is same


def test_holds():
    """Containment ignores white space and case, and nothing holds the empty text."""
    assert holds("The  Night\nferry leaves", "night ferry")
    assert not holds("anything", " ")
    assert not holds('He said " . " twice', '" . "')


def test_lines():
    """Bullets, numbers and labels go; years stay."""
    assert lines_of("1. a b\n- c\nQuery: d\n\n2011 census") == ("a b", "c", "d", "2011 census")


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("night ferry", None),
        ("1. night ferry\n2. day ferry", None),
        ('{"query": "night ferry"}', None),
        ('Sure:\n```json\n{"queries": ["night ferry"]}\n```', None),
        ("[[ ## query ## ]]\nnight ferry\n\n[[ ## completed ## ]]", None),
        ("", {"tool_calls": [{"arguments": '{"query": "night ferry"}'}]}),
    ],
)
def test_pieces(text, data):
    """The search text is among the pieces of every form of output."""
    assert "night ferry" in pieces_of(text, data)


def test_sections():
    """DSPy's fields are read by name."""
    text = "[[ ## reasoning ## ]]\nr\n\n[[ ## answer ## ]]\na\n\n[[ ## completed ## ]]"
    assert sections(text) == {"reasoning": "r", "answer": "a", "completed": ""}


def test_texts_in_code():
    """The texts in an agent's code may be what it searches for."""
    code = '<code>\nprint(retriever(query="bicycle fare"))\n</code>'
    assert "bicycle fare" in pieces_of(code)
    assert "bicycle fare" not in pieces_of('He said (see "bicycle fare").')
