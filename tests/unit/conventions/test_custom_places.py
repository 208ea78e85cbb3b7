"""What stands at a place of a span, and why nothing does."""

import json
import time

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.custom_places import MAX_EVALUATED_CHARS, PlaceReader, key_of
from otel_raglog.conventions.custom_values import as_chunks, as_line, as_texts
from otel_raglog.custom_rules import Place
from otel_raglog.model import FieldStatus, SpanEvent


def find(attributes, *places, convert=as_line, **options):
    (one,) = spans_of(span("x", attributes=attributes, **options))
    field = PlaceReader(one, "custom").find([Place(**place) for place in places], convert)
    return field.status.value, field.value, field.source and field.source.key


HITS = {"hits": [{"key": "a", "body": "b"}], "none": []}


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ("plain", None, ("present", "plain")),
        (json.dumps(HITS), None, ("present", json.dumps(HITS))),
        (json.dumps(HITS), "hits[0].body", ("present", "b")),
        (HITS, "hits[0].body", ("present", "b")),
        (({"key": "a"},), "[0].key", ("present", "a")),
        ("{'hits': [{'body': 'repr'}]}", "hits[0].body", ("present", "repr")),
        ("plain", "@", ("present", "plain")),
        ("plain", "hits", ("not_captured", None)),
        (7, "@", ("present", "7")),
        (json.dumps({"a": ""}), "a", ("empty", "")),
        ("", None, ("empty", "")),
        ("__REDACTED__", "hits", ("redacted", None)),
        (json.dumps({"a": "__REDACTED__"}), "a", ("redacted", None)),
        (json.dumps(HITS)[:-4], "hits[0].body", ("truncated", None)),
        (json.dumps(HITS), "sum(hits)", ("not_captured", None)),
        ('{"a": 1e999}', "floor(a)", ("not_captured", None)),
        (None, None, ("not_captured", None)),
    ],
)
def test_what_stands_in_an_attribute(value, path, found):
    """A value, or the reason why there is none; a path that fails costs this fact alone."""
    assert find({"app.it": value}, {"attribute": "app.it", "path": path})[:2] == found


def test_an_attribute_that_is_not_there_may_have_been_evicted():
    """A span that lost attributes says so."""
    assert find({}, {"attribute": "app.it"}) == ("not_captured", None, None)
    assert find({}, {"attribute": "app.it"}, dropped=3) == ("evicted", None, None)


def test_the_first_place_that_says_something_counts():
    """Else an empty one, else one that tells of a loss."""
    places = [{"attribute": key} for key in "abc"]
    assert find({"a": "", "b": "x", "c": "y"}, *places) == ("present", "x", "b")
    assert find({"a": "__REDACTED__", "c": ""}, *places) == ("empty", "", "c")
    assert find({"a": "__REDACTED__"}, *places) == ("redacted", None, "a")
    assert find({}, *places)[0] == "not_captured"
    assert find({"a": "x"})[0] == "not_captured"


def test_a_value_that_was_cut_is_truncated():
    """What we or the SDK cut is no whole value."""
    assert find({"a": "abc"}, {"attribute": "a"}, truncated={"a"})[:2] == ("truncated", "abc")


EVENTS = (
    SpanEvent("hit", 0, {"key": "a", "body": "one"}),
    SpanEvent("other", 1, {"key": "x", "body": "no"}),
    SpanEvent("hit", 2, {"key": "b", "body": json.dumps({"text": "two"})}),
)


def test_events_give_one_value_each():
    """An attribute of each, or a path in its attributes."""
    place = {"event": "hit", "attribute": "key"}
    assert find({}, place, convert=as_texts, events=EVENTS) == ("present", ("a", "b"), "hit/key")
    made = {"event": "hit", "path": "{id: key, text: body}"}
    status, chunks, key = find({}, made, convert=as_chunks, events=EVENTS)
    assert (status, [c.id for c in chunks], key) == ("present", ["a", "b"], "hit/*")
    inner = {"event": "hit", "attribute": "body", "path": "text"}
    assert find({}, inner, events=EVENTS)[1] == "two"
    assert find({}, {"event": "no", "attribute": "key"}, events=EVENTS)[0] == "not_captured"


def test_lists_of_several_events_are_one():
    """Two searches in one span found what both found."""
    events = tuple(SpanEvent("e", n, {"hits": json.dumps([f"t{n}"])}) for n in range(2))
    place = {"event": "e", "attribute": "hits", "path": "@"}
    assert find({}, place, convert=as_texts, events=events)[1] == ("t0", "t1")


def test_flattened_attributes_are_a_list():
    """`app.hits.0.text` stands under `app.hits`."""
    flat = {"app.hits.0.text": "a", "app.hits.0.id": "1", "app.hits.1.text": "b"}
    chunks = find(flat, {"attribute": "app.hits"}, convert=as_chunks)[1]
    assert [(chunk.id, chunk.text) for chunk in chunks] == [("1", "a"), (None, "b")]
    assert find(flat, {"attribute": "app.hits", "path": "[].text"}, convert=as_texts)[1] == (
        "a",
        "b",
    )


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("hits[].body", "present"),
        ("hits[].bdy", "not_captured"),
        ("hits[*].bdy | [0:2]", "not_captured"),
        ("hits[?key == 'a'].bdy", "not_captured"),
        ("hits[?key == 'z'].body", "empty"),
        ("none[].body", "empty"),
        ("none", "empty"),
        ("nothing[].body", "not_captured"),
        ("hits[].{id: kay, text: bdy}", "not_captured"),
    ],
)
def test_a_misspelt_key_is_no_empty_result(path, status):
    """Nothing retrieved is a fault; nothing found by a wrong path is none."""
    place = {"attribute": "app.it", "path": path}
    assert find({"app.it": json.dumps(HITS)}, place, convert=as_chunks)[0] == status


def test_work_is_bounded():
    """However much JSON a span holds, and however many places look at it."""
    huge = json.dumps([{"a": n} for n in range(80_000)])
    place = {"attribute": "app.it", "path": "[?a == 'x'].b | [0]"}
    started = time.perf_counter()
    status = find({"app.it": huge}, *[place] * 200)[0]
    assert status == "not_captured"
    assert time.perf_counter() - started < 20
    assert len(huge) * 200 > MAX_EVALUATED_CHARS


def test_what_is_nested_without_end_is_nothing():
    """JSON as deep as it gets, handed to what looks into it."""
    deep = "[" * 900 + "]" * 900
    for convert in (as_chunks, as_line, as_texts):
        find({"a": deep}, {"attribute": "a", "path": "@"}, convert=convert)
        find({"a": '{"output":' * 900 + "[]" + "}" * 900}, {"attribute": "a", "path": "@"})


def test_the_key_of_a_place():
    """As provenance has it."""
    assert key_of(Place(attribute="a", path="b")) == "a"
    assert key_of(Place(event="e", attribute="a")) == "e/a"
    assert key_of(Place(event="e", path="a")) == "e/*"
    assert FieldStatus("present")
