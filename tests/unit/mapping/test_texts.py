"""When texts say the same, and what a program may take from an output."""

import pytest

from otel_raglog.mapping.texts import holds, lines_of, normal, pieces_of, same_text, sections


def test_normal():
    """Case, white space, quotes and end punctuation do not count."""
    assert normal('  "Night\n ferry?" ') == normal("night ferry")


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
