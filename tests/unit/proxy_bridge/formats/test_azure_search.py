"""Azure AI Search's operations."""

from __future__ import annotations

import json

import pytest
from call_exchanges import exchange_of, read, told

HOST = "https://hr.search.windows.net"
SEARCH = "/indexes/d/docs/search?api-version=1"


@pytest.mark.parametrize(
    ("method", "url", "request_", "expected"),
    [
        ("POST", SEARCH, {"search": "a"}, "azure_search.search"),
        ("POST", "/indexes('d')/docs/search.post.search", {"search": "a"}, "azure_search.search"),
        ("GET", f"{HOST}/indexes('d')/docs?search=a", None, "azure_search.search"),
        ("POST", SEARCH, {"search": "*"}, "azure_search.other"),
        ("POST", f"{HOST}/indexes('d')/docs/search.index", {"value": []}, "azure_search.other"),
        ("GET", "/indexes('d')/docs('1')?api-version=1", None, "azure_search.other"),
        ("GET", "/indexes/d/docs/$count?api-version=1", None, "azure_search.other"),
        ("GET", f"{HOST}/indexers", None, "azure_search.other"),
        ("PUT", f"{HOST}/indexes/d", {}, "azure_search.other"),
    ],
)
def test_searches_are_told_from_upkeep(method, url, request_, expected):
    """A search for everything is a listing."""
    assert told(exchange_of(url, request_, method=method)) == expected


def test_bedrock_s_knowledge_bases_are_not_azure_s():
    """Both have the same address, and ask otherwise."""
    request = {"retrievalQuery": {"text": "a"}}
    assert told(exchange_of("/knowledgebases/k/retrieve", request)) != "azure_search.retrieve"


@pytest.mark.parametrize(
    "request_",
    [
        {"vectorQueries": [{"kind": "vector", "vector": [0.1], "k": 3}]},
        {"vectors": [{"value": [0.1], "k": 3, "fields": "v"}]},
    ],
)
def test_each_version_has_its_own_name_for_vectors(request_):
    """The neighbours asked for count where no number of hits is given."""
    reading = read(exchange_of(SEARCH, request_))
    assert (reading.searches[0].vector, reading.top_k) == ((0.1,), 3)


def test_the_service_may_embed_the_words():
    """Then the vector query has a text."""
    request = {"vectorQueries": [{"kind": "text", "text": "a", "fields": "v"}]}
    assert read(exchange_of(SEARCH, request)).searches[0].query == "a"


def test_a_quoted_answer_alone_has_documents():
    """References may be left out, or have no text."""
    quoted = [{"ref_id": 0, "title": "T", "content": "a"}]
    answer = {"response": [{"content": [{"type": "text", "text": json.dumps(quoted)}]}]}
    request = {"intents": [{"type": "semantic", "search": "q"}]}
    reading = read(exchange_of(f"{HOST}/agents/a/retrieve?api-version=1", request, answer))
    (search,) = reading.searches
    assert (search.query, [each.text for each in search.documents]) == ("q", ["a"])
