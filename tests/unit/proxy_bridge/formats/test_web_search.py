"""Web search services."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told


@pytest.mark.parametrize(
    ("method", "url", "request_", "expected"),
    [
        ("POST", "https://api.tavily.com/search", {"query": "a"}, "web_search.tavily"),
        ("POST", "https://api.tavily.com/search", None, "web_search.tavily"),
        ("POST", "/tools/search", {"query": "a", "search_depth": "basic"}, "web_search.tavily"),
        ("POST", "/tools/search", {"search_depth": "basic"}, None),
        ("POST", "/search", {"query": "a"}, None),
        ("POST", "https://google.serper.dev/news", {"q": "a"}, "web_search.serper"),
        ("GET", "https://google.serper.dev/search?q=a", None, "web_search.serper"),
        ("POST", "https://scrape.serper.dev/", {"url": "https://a"}, "web_search.other"),
        (
            "GET",
            "https://api.search.brave.com/res/v1/llm/context?q=a",
            None,
            "web_search.brave",
        ),
        ("GET", "https://www.searchapi.io/api/v1/search?q=a", None, "web_search.serpapi"),
        ("GET", "https://serpapi.com/account", None, "web_search.other"),
        ("POST", "https://api.exa.ai/contents", {"ids": ["a"]}, "web_search.other"),
        ("POST", "https://api.exa.ai/answer", {"query": "a"}, None),
        ("GET", "https://www.googleapis.com/drive/v3/about?q=a", None, None),
        ("GET", "/search?q=a&format=json", None, "web_search.searxng"),
        ("GET", "/search?q=a&format=html", None, None),
        ("GET", "/search?q=a", None, None),
    ],
)
def test_services_are_told_by_host_or_by_their_own_options(method, url, request_, expected):
    """A plain search at an unknown host may be anything."""
    assert told(exchange_of(url, request_, method=method)) == expected


def test_perplexity_s_chat_is_left_to_others():
    """Its host answers, too."""
    request = {"model": "sonar", "messages": [{"role": "user", "content": "a"}]}
    url = "https://api.perplexity.ai/chat/completions"
    assert told(exchange_of(url, request)) == "openai.chat"


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ({"text": "a", "highlights": ["b"]}, "a"),
        ({"text": "", "highlights": ["b", "c"], "summary": "d"}, "b\nc"),
        ({"summary": "d"}, "d"),
        ({"title": "t"}, None),
    ],
)
def test_the_fullest_text_of_a_page_is_taken(page, text):
    """A service has what was asked for: the page, its best parts or a summary."""
    answer = {"results": [{"url": "https://a", **page}]}
    (search,) = read(exchange_of("https://api.exa.ai/search", {"query": "q"}, answer)).searches
    assert search.documents[0].text == text


def test_a_page_like_another_is_a_query():
    """Exa finds pages that are similar to one."""
    reading = read(exchange_of("https://api.exa.ai/findSimilar", {"url": "https://a"}))
    assert reading.searches[0].query == "https://a"


def test_a_form_is_read_like_a_query_string():
    """SearXNG takes both."""
    exchange = exchange_of("/search?q=a&format=json")
    assert read(exchange).searches[0].query == "a"


def test_a_geocoder_that_is_asked_for_json_is_no_search():
    """Nominatim has SearXNG's address and options, but answers with a list of places."""
    url = "https://nominatim.example/search?q=Downing+Street&format=json"
    places = [{"place_id": 1, "display_name": "10 Downing Street, London"}]
    assert told(exchange_of(url, None, places, method="GET")) is None
    found = {"results": [{"url": "https://a.example", "content": "A"}]}
    assert told(exchange_of(url, None, found, method="GET")) == "web_search.searxng"
