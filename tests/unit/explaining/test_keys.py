"""Keys as conventions write them down, and the spans that bear them."""

from dataclasses import replace

import pytest
from samples import decoded_span

from otel_raglog.explaining.keys import has_key
from otel_raglog.model import SpanEvent


@pytest.mark.parametrize(
    ("attribute", "key"),
    [
        ("input.value", "input.value"),
        ("llm.prompts.0.prompt.text", "llm.prompts"),
        ("retrieval.documents.12.document.content", "retrieval.documents.N.document.content"),
        ("retrieval.documents", "retrieval.documents.N.document.content"),
        ("redis.search.xdoc_3.content", "redis.search.xdoc_N.content"),
    ],
)
def test_a_key_is_there_by_itself_with_any_index_or_as_one_value(attribute, key):
    """Lists come flattened or whole."""
    assert has_key(decoded_span(attributes={attribute: "x"}), key)


@pytest.mark.parametrize(
    ("attribute", "key"),
    [
        ("input.value.more", "input.value"),
        ("gen_ai.retrieval.query.text", "gen_ai.retrieval.query"),
        ("retrieval.documents.0.document.id", "retrieval.documents.N.document.content"),
        ("retrieval.documents.x.document.content", "retrieval.documents.N.document.content"),
        ("gen_aiNprompt", "gen_ai.prompt"),
    ],
)
def test_another_key_is_not_it(attribute, key):
    """A longer key that begins alike, or another part of the same list."""
    assert not has_key(decoded_span(attributes={attribute: "x"}), key)


def test_an_attribute_of_an_event_is_found_at_its_event():
    """Written ``event name/attribute``."""
    event = SpanEvent("gen_ai.choice", 0, {"message": "x"})
    span = replace(decoded_span(), events=(event,))
    assert has_key(span, "gen_ai.choice/message")
    assert not has_key(span, "gen_ai.user.message/message")
    assert not has_key(span, "gen_ai.choice/content")
