"""A statement to whether its span is held."""

from __future__ import annotations

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_raglog.receive.markers import Markers
from otel_raglog.receive.marking_values import MarkingValues

VALUES = MarkingValues(
    Markers(
        value_keys=(b"db.query.text", b"db.statement"),
        value_parts=(b"<=>",),
        value_exclusions=(b"insert", b"update", b"delete", b"copy"),
    )
)
SEARCH = "SELECT id FROM pages ORDER BY embedding <=> %s LIMIT 3"
PLAIN = "SELECT id FROM pages WHERE id = %s"


def marked(raw: bytes) -> bool:
    return VALUES.mark(b"before" + raw + b"<=>", 6, 6 + len(raw))


def span_with(*pairs: tuple[str, str]) -> bytes:
    span = Span(name="SELECT")
    for key, value in pairs:
        span.attributes.add(key=key).value.string_value = value
    return span.SerializeToString()


@pytest.mark.parametrize("filling", ["", " " * 100, " " * 1_000, " " * 20_000])
def test_a_statement_marks_by_what_is_in_it(filling: str) -> None:
    """However long it is, and whatever stands around it."""
    around = ("db.system", "postgresql"), ("server.address", "db.example")
    for _ in range(2):  # what is remembered says the same
        assert marked(span_with(around[0], ("db.statement", SEARCH + filling), around[1]))
        assert not marked(span_with(around[0], ("db.statement", PLAIN + filling), around[1]))


def test_other_values_do_not_mark() -> None:
    """The same sign in another attribute of a usual span says nothing."""
    assert not marked(span_with(("note", "a <=> b"), ("db.statement", PLAIN)))
    assert not marked(span_with(("note", "a <=> b")))


@pytest.mark.parametrize("filling", ["", "x" * 300, "x" * 20_000])
@pytest.mark.parametrize("word", ["INSERT INTO", "update", " \n Delete FROM", "COPY"])
def test_a_beginning_may_exclude_a_text(word: str, filling: str) -> None:
    """The long statements of a busy service write, and cost a look at their first word."""
    statement = f"{word} pages VALUES ('a <=> b{filling}')"
    assert not marked(span_with(("db.statement", statement)))
    every = MarkingValues(Markers(value_keys=(b"db.statement",), value_parts=(b"<=>",)))
    raw = span_with(("db.statement", statement))
    assert every.mark(raw, 0, len(raw))


def test_large_and_small_letters_are_the_same() -> None:
    """SQL does not tell them apart."""
    values = MarkingValues(Markers(value_keys=(b"db.statement",), value_parts=(b"distance(",)))
    for name in ("L2Distance(", "vec_DISTANCE(", "cosine_distance("):
        raw = span_with(("db.statement", f"SELECT id ORDER BY {name}e, ?)"))
        assert values.mark(raw, 0, len(raw))


def test_either_key_marks() -> None:
    """Both conventions may be written at the same time."""
    assert marked(span_with(("db.statement", PLAIN), ("db.query.text", SEARCH)))


@pytest.mark.parametrize(
    "raw",
    [
        b"\x4a\x18\x12\x05\x0a\x03<=>\x0a\x0cdb.statement",  # the value first
        b"\x4a\x19\x0a\x8c\x00db.statement\x12\x05\x0a\x03<=>",  # a length longer than needed
        span_with(("db.statement.parameters", "1"), ("db.statement", SEARCH)),
        span_with(("app.db.statement", PLAIN), ("db.statement", SEARCH)),
    ],
)
def test_an_unusual_layout_is_searched_as_a_whole(raw: bytes) -> None:
    """protobuf allows fields in any order, and other keys may hold the key's name."""
    assert marked(raw)


def test_a_span_cut_anywhere_is_no_error() -> None:
    """Nothing beyond the span's end is read."""
    raw = span_with(("db.statement", PLAIN))
    for end in range(len(raw)):
        assert not marked(raw[:end])


def test_what_is_remembered_is_bounded() -> None:
    """Ever new statements do not fill the memory."""
    values = MarkingValues(Markers(value_keys=(b"db.statement",), value_parts=(b"<=>",)))
    for number in range(5_000):
        raw = span_with(("db.statement", f"SELECT {number}"))
        assert not values.mark(raw, 0, len(raw))
    assert len(values._remembered) <= 4_096
