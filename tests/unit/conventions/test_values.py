"""What single values become, and why missing ones are missing."""

from span_trees import span, spans_of

from otel_raglog.conventions.values import SpanValues, text_within
from otel_raglog.model import FieldStatus


def values(dropped=0, truncated=(), **attributes):
    attributes = {key.replace("_", "."): value for key, value in attributes.items()}
    (read,) = spans_of(span("x", attributes=attributes, dropped=dropped, truncated=truncated))
    return SpanValues(read, "test")


def test_status_of_texts():
    """Each way of missing has its own status; what is there names its source."""
    assert values(a_b="x").text("a.b").source.key == "a.b"
    assert values(a_b="__REDACTED__").text("a.b").status is FieldStatus.REDACTED
    assert values(a_b=" ").text("a.b").status is FieldStatus.EMPTY
    assert values(a_b="x", truncated=["a.b"]).text("a.b").status is FieldStatus.TRUNCATED
    assert values().text("a.b").status is FieldStatus.NOT_CAPTURED
    assert values(dropped=1).text("a.b").status is FieldStatus.EVICTED


def test_json_with_and_without_mime_type():
    """JSON is read whether or not it is declared; structures are data as they are."""
    assert values(input_value='{"a": 1}').value("input.value")[1] == {"a": 1}
    assert values(input_value={"a": (1,)}).value("input.value")[1] == {"a": [1]}
    assert values(input_value="[1] is a footnote").value("input.value")[1] is None
    cut = values(
        input_value="[1, 2", input_mime__type="x", **{"input.mime_type": "application/json"}
    )
    assert cut.value("input.value")[0].status is FieldStatus.TRUNCATED


def test_identities_are_not_placeholders():
    """A hidden session id is none."""
    assert values(session_id="s1").identity("session.id") == "s1"
    assert values(session_id="__REDACTED__").identity("session.id") is None


def test_a_text_within_a_value():
    """It comes from the same place, and may be empty or hidden itself."""
    read = values(a_b='"x"').text("a.b")
    assert (text_within(read, "x").value, text_within(read, "x").source) == ("x", read.source)
    assert text_within(read, " ").status is FieldStatus.EMPTY
    assert text_within(read, "***").status is FieldStatus.REDACTED
