"""Snowflake Cortex: complete, embed and search; its newer chat has OpenAI's address."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

SEARCH = "/api/v2/databases/d/schemas/s/cortex-search-services/c:query"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/api/v2/cortex/inference:complete", "cortex.complete"),
        ("/api/v2/cortex/inference/complete", "cortex.complete"),
        ("/api/v2/cortex/inference:embed", "cortex.embed"),
        (SEARCH, "cortex.search"),
        ("/api/v2/cortex/v1/chat/completions", "openai.chat"),
    ],
)
def test_operations_are_told_by_address(path, name):
    """Snowflake names them after a colon."""
    assert told(exchange_of(path, {"messages": []})) == name


def test_a_row_s_longest_text_is_the_document_s():
    """The request does not say which column was searched."""
    row = {"TITLE": "Leaving", "BODY": "Notice is three months.", "YEAR": 2024}
    reading = read(exchange_of(SEARCH, {"query": "notice"}, {"results": [row, {}]}))
    first, second = reading.searches[0].documents
    assert first.text == "Notice is three months."
    assert first.metadata == {"TITLE": "Leaving", "YEAR": 2024}
    assert (first.id, second.id, second.text) == (None, None, None)
