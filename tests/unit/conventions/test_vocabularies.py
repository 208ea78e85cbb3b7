"""Which vocabularies are known although they are not read."""

from span_trees import span, spans_of

from otel_raglog.conventions.vocabularies import UNREAD
from otel_raglog.model import SpanEvent


def test_names_are_unique():
    """Each vocabulary has a name and prefixes of its own."""
    assert len({vocabulary.name for vocabulary in UNREAD}) == len(UNREAD)
    assert all(vocabulary.prefixes for vocabulary in UNREAD)


def test_keys_and_event_names_count():
    """A vocabulary is told by attribute keys and by event names."""
    llama = next(v for v in UNREAD if v.name.startswith("LlamaIndex"))
    (read,) = spans_of(span("x", events=(SpanEvent("RetrievalEndEvent", 0, {}),)))
    assert llama.keys(read) == ("RetrievalEndEvent",)
