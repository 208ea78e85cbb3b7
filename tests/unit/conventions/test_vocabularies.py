"""Which vocabularies are known although they are not read."""

from span_trees import span, spans_of

from otel_raglog.conventions.vocabularies import UNREAD, Vocabulary
from otel_raglog.model import SpanEvent


def test_names_are_unique():
    """Each vocabulary has a name and prefixes of its own."""
    assert len({vocabulary.name for vocabulary in UNREAD}) == len(UNREAD)
    assert all(vocabulary.prefixes for vocabulary in UNREAD)


def test_keys_and_event_names_count():
    """A vocabulary is told by attribute keys and by event names."""
    vocabulary = Vocabulary("x", ("zz.", "ZzEvent"))
    one = span("x", attributes={"zz.a": 1, "b": 2}, events=(SpanEvent("ZzEvent", 0, {}),))
    (read,) = spans_of(one)
    assert vocabulary.keys(read) == ("ZzEvent", "zz.a")
