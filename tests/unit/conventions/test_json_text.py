"""What attribute values are read as: text, JSON data, numbers."""

import pytest

from otel_raglog.conventions.json_text import (
    as_count,
    as_data,
    as_number,
    as_text,
    looks_cut,
    parse_json,
    parse_json_or_literal,
    strings_in,
    whole_members,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (" []", []),
        ('{"a": NaN}', {"a": None}),
        ('["\\ud800x"]', ["\ufffdx"]),
        ('["\\uD83D\\uDE00 caf\\u00e9"]', ["\U0001f600 caf\u00e9"]),
        ('\r\n\t{"a": []} ', {"a": []}),
        ('\u00a0{"a": 1}', None),
        ('{"a": 1} {"b": 2}', None),
        ("a question", None),
        ("42", None),
        ('{"a": ', None),
        ("[" * 100_000, None),
    ],
)
def test_parse_json(text, value):
    """Only objects and arrays are JSON here; nothing in them breaks a later encoder."""
    assert parse_json(text) == value


def test_python_literals():
    """A dictionary written as Python repr is read, code is not."""
    assert parse_json_or_literal("{'a': None, 'b': (1, 2)}") == {"a": None, "b": (1, 2)}
    assert parse_json_or_literal("{'a': open('x')}") is None
    assert parse_json_or_literal("['\\d']") == ["\\d"]


@pytest.mark.parametrize(
    ("text", "declared", "cut"),
    [
        ('{"documents": [{"page_con', False, True),
        ('[{"role":"system","content":"Answer."}', False, True),
        ("[the user asked", False, False),
        ("[the user asked", True, True),
        ("{'a': 1}", True, False),
        ("{context} is a template {x}", False, False),
        ("plain", True, False),
    ],
)
def test_looks_cut(text, declared, cut):
    """The beginning of JSON is told from prose that begins with a bracket."""
    assert looks_cut(text, declared_json=declared) is cut


def test_as_text_and_data():
    """Structured values are written as JSON and read as lists and dictionaries."""
    value = {"a": (1, "ä"), "b": b"x"}
    assert as_text(value) == '{"a": [1, "ä"], "b": "x"}'
    assert as_data(value) == {"a": [1, "ä"], "b": "x"}
    assert [as_text(v) for v in (True, 2, 0.5, b"\xff", None)] == [
        "true",
        "2",
        "0.5",
        "\ufffd",
        None,
    ]


def test_numbers():
    """Numbers are finite, counts are not negative, booleans are neither."""
    assert [as_number(v) for v in ("0.5", 3, True, "x", float("nan"), float("inf"), 10**400)] == [
        0.5, 3.0, None, None, None, None, None,
    ]  # fmt: skip
    assert [as_count(v) for v in (3, "4", -1, None)] == [3, 4, None, None]


def test_strings_in():
    """Strings are found in order, also in JSON inside strings, and not without end."""
    assert list(strings_in({"a": ["x", '{"q": "y"}'], "b": {"c": "z"}})) == ["x", "y", "z"]
    assert len(list(strings_in(["x"] * 1000, limit=10))) < 10


@pytest.mark.parametrize(
    ("text", "members"),
    [
        ('{"a": "x", "b": {"c": 1}, "d": "cu', {"a": "x", "b": {"c": 1}}),
        ('{"a\\"b": [1, 2], "c', {'a"b': [1, 2]}),
        ('[{"a": 1}, {"b', {}),
        ('{"a": "cu', {}),
        ("no JSON", {}),
    ],
)
def test_members_before_a_cut(text, members):
    """Of a cut object the members that came whole are returned."""
    assert whole_members(text) == members
