"""What paths lead to, in any shape, as texts, numbers, messages and chunks."""

import pytest

from otel_raglog.conventions.custom_values import (
    MAX_ITEMS,
    as_chunks,
    as_line,
    as_messages,
    as_texts,
    as_whole_number,
)
from otel_raglog.model import Chunk, FieldStatus, Message, ScoreKind


@pytest.mark.parametrize(
    ("value", "line"),
    [
        ("a", "a"),
        (" ", ""),
        (["a"], "a"),
        (["a", "b"], '["a", "b"]'),
        (3, "3"),
        (True, "true"),
        (b"\xffa", "\ufffda"),
        ({"a": None}, '{"a": null}'),
        (None, None),
        ([None], None),
    ],
)
def test_lines(value, line):
    """One text of a value; blank is empty, nothing is nothing."""
    assert as_line(value) == line


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("a", ("a",)),
        ('["a", "b"]', ("a", "b")),
        (["a", " ", 3], ("a",)),
        ([], ()),
        ([1, 2], None),
        ({"a": "b"}, None),
        ("", ()),
    ],
)
def test_texts(value, texts):
    """Token ids and objects are no texts."""
    assert as_texts(value) == texts


@pytest.mark.parametrize(("value", "number"), [(3, 3), ("4", 4), ([5], 5), ("x", None), (-1, None)])
def test_whole_numbers(value, number):
    """Counts, also as text."""
    assert as_whole_number(value) == number


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("hi", (Message("user", "hi"),)),
        (" ", ()),
        ([], ()),
        ([{"role": "bot", "content": "a"}], (Message("assistant", "a"),)),
        ('[{"role": "user", "content": "a"}]', (Message("user", "a"),)),
        ({"role": "system", "content": "s"}, (Message("system", "s"),)),
        ({"messages": [["human", "a"]]}, (Message("user", "a"),)),
        ([{"x": 1}], None),
        (7, None),
    ],
)
def test_messages(value, messages):
    """Chat messages in the shapes that are known everywhere."""
    assert as_messages(value) == messages


def test_documents_of_a_path():
    """The names of a chunk, in a dict that a path makes."""
    made = {"id": 7, "text": "t", "score": "0.5", "title": "T", "metadata": {"page": 1, "x": [1]}}
    assert as_chunks([made]) == (Chunk("t", "7", 0.5, title="T", metadata={"page": 1}),)
    assert as_chunks({"id": "a", "text": None}) == (
        Chunk("", "a", text_status=FieldStatus.NOT_CAPTURED),
    )
    far = as_chunks([{"text": "t", "distance": 0.2}])
    assert (far[0].score, far[0].score_kind) == (0.2, ScoreKind.DISTANCE)
    hidden = as_chunks([{"text": "__REDACTED__"}])
    assert hidden[0].text_status is FieldStatus.REDACTED


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ("one text", ["one text"]),
        (["a", "b"], ["a", "b"]),
        ([["a", "b"]], ["a", "b"]),
        ('[{"page_content": "p"}]', ["p"]),
        ({"documents": [{"content": "c"}]}, ["c"]),
        ([{"text": "a"}, None, {"text": None, "id": None}], ["a"]),
        ([], []),
        ("", []),
        ([{"id": None, "text": None, "score": 1}], None),
        ([None], None),
        (7, None),
        ({"x": 1}, None),
    ],
)
def test_documents_in_known_shapes(value, texts):
    """An empty list is nothing found; what holds no document at all is nothing recorded."""
    found = as_chunks(value)
    assert (None if found is None else [chunk.text for chunk in found]) == texts


def test_long_lists_are_cut():
    """Nobody retrieves so many."""
    many = [{"text": "t", "id": str(n)} for n in range(MAX_ITEMS + 10)]
    assert len(as_chunks(many)) == MAX_ITEMS
    assert len(as_texts(["t"] * (MAX_ITEMS + 10))) == MAX_ITEMS
