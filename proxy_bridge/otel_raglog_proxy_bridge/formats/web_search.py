"""Web search services' queries and the pages that they find."""

from __future__ import annotations

from dataclasses import dataclass

from otel_raglog_proxy_bridge.formats.fields import Json, at, items, mapping, mappings, text, texts
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    filter_in,
    score_in,
    text_in,
)
from otel_raglog_proxy_bridge.formats.search_routes import goes_to, on_host
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    Exchange,
    RetrieverReading,
    Search,
)

_URLS = ("url", "link", "id")
_TITLES = ("title", "name")
_DATES = ("published_date", "publishedDate", "date", "page_age")
_FILTERS = (
    "include_domains",
    "exclude_domains",
    "includeDomains",
    "excludeDomains",
    "topic",
    "category",
    "time_range",
    "startPublishedDate",
    "tbs",
    "freshness",
    "siteSearch",
    "site",
)


@dataclass(frozen=True, slots=True)
class _Engine:
    """One service: where it is asked, and where its answer has what."""

    name: str
    hosts: tuple[str, ...]
    paths: tuple[str, ...]
    hits: tuple[str, ...]
    """Where pages are listed, keys joined by dots."""
    passages: tuple[tuple[str, ...], ...]
    """Which fields of a page are its text; of the first group that has any, all are joined."""
    query: tuple[str, ...] = ("q", "query")
    most: tuple[str, ...] = ()
    signs: frozenset[str] = frozenset()
    """Options that tell the service at any address."""

    def is_asked(self, exchange: Exchange) -> bool:
        """Return whether ``exchange`` is a search of this service."""
        if not any(goes_to(exchange, "GET POST", path) for path in self.paths):
            return False
        if on_host(exchange, *self.hosts):
            return True
        bodies = _bodies(exchange)
        return any(not self.signs.isdisjoint(body) and self._words(body) for body in bodies)

    def read(self, exchange: Exchange) -> RetrieverReading:
        """Return the searches, of which some services take several at once."""
        bodies = _bodies(exchange)
        response = exchange.response
        answers = items(response) if isinstance(response, list) else [response]
        first: Json = bodies[0] if bodies else {}
        filters = {key: first[key] for key in _FILTERS if filter_in(first, key) is not None}
        return RetrieverReading(
            searches=answered(
                [Search(query=self._words(body)) for body in bodies],
                [self._pages(answer) for answer in answers],
            ),
            top_k=count_in(first, *self.most),
            filters=filters or None,
        )

    def _words(self, body: Json) -> str | None:
        return text_in(body, *self.query)

    def _pages(self, answer: object) -> tuple[Document, ...]:
        return tuple(
            self._page(hit) for path in self.hits for hit in mappings(answer, *path.split("."))
        )

    def _page(self, hit: Json) -> Document:
        joined = (
            "\n".join(part for key in group for part in texts(hit, key)) for group in self.passages
        )
        labels = {"title": text_in(hit, *_TITLES), "date": text_in(hit, *_DATES)}
        return Document(
            id=text_in(hit, *_URLS),
            text=next((passage for passage in joined if passage), None),
            score=score_in(hit, "score"),
            metadata={key: label for key, label in labels.items() if label is not None},
        )


def _bodies(exchange: Exchange) -> list[Json]:
    if isinstance(exchange.request, list):
        return list(mappings(exchange.request))
    return [mapping(exchange.request) or exchange.query]


_ENGINES = (
    _Engine(
        "tavily",
        hosts=("api.tavily.com",),
        paths=("search",),
        hits=("results",),
        passages=(("content",), ("raw_content",)),
        most=("max_results",),
        signs=frozenset({"search_depth", "include_raw_content", "include_answer"}),
    ),
    _Engine(
        "serper",
        hosts=("google.serper.dev",),
        paths=("search", "news", "scholar"),
        hits=("organic", "news"),
        passages=(("snippet",),),
        most=("num",),
    ),
    _Engine(
        "brave",
        hosts=("api.search.brave.com",),
        paths=("web/search", "news/search", "llm/context"),
        hits=("web.results", "grounding.generic", "results"),
        passages=(("description", "extra_snippets"), ("snippets",)),
        most=("count",),
    ),
    _Engine(
        "serpapi",
        hosts=("serpapi.com", "searchapi.io"),
        paths=("search", "search.json"),
        hits=("organic_results", "news_results"),
        passages=(("snippet",),),
        most=("num",),
    ),
    _Engine(
        "exa",
        hosts=("api.exa.ai",),
        paths=("search", "findSimilar"),
        hits=("results",),
        passages=(("text",), ("highlights",), ("summary",)),
        query=("query", "url"),
        most=("numResults",),
    ),
    _Engine(
        "you",
        hosts=("ydc-index.io",),
        paths=("search", "news"),
        hits=("hits", "results.web", "results.news", "news.results"),
        passages=(("snippets",), ("description",)),
        most=("count", "num_web_results"),
    ),
    _Engine(
        "bing",
        hosts=("api.bing.microsoft.com", "api.cognitive.microsoft.com"),
        paths=("v7.0/search", "v7.0/news/search"),
        hits=("webPages.value", "value"),
        passages=(("snippet",), ("description",)),
        most=("count",),
    ),
    _Engine(
        "google",
        hosts=("www.googleapis.com", "customsearch.googleapis.com"),
        paths=("customsearch/v1", "customsearch/v1/siterestrict"),
        hits=("items",),
        passages=(("snippet",),),
        most=("num",),
    ),
    _Engine(
        "linkup",
        hosts=("api.linkup.so",),
        paths=("v1/search",),
        hits=("results", "sources"),
        passages=(("content",), ("snippet",)),
        most=("maxResults",),
    ),
    _Engine(
        "perplexity",
        hosts=("api.perplexity.ai",),
        paths=("search",),
        hits=("results",),
        passages=(("snippet",),),
        most=("max_results",),
    ),
    _Engine(
        "firecrawl",
        hosts=("api.firecrawl.dev",),
        paths=("search",),
        hits=("data", "data.web"),
        passages=(("markdown",), ("description",)),
        most=("limit",),
    ),
)

_SEARXNG = _Engine(
    "searxng",
    hosts=(),
    paths=("search",),
    hits=("results",),
    passages=(("content",),),
    signs=frozenset({"format"}),
)

_OTHER = (
    ("api.tavily.com", "extract crawl map usage"),
    ("api.exa.ai", "contents"),
    ("api.firecrawl.dev", "scrape crawl map extract"),
    ("serpapi.com", "account account.json"),
)
_READERS = ("scrape.serper.dev",)


def _is_searxng(exchange: Exchange) -> bool:
    """Return whether it asks SearXNG, which many run themselves, for JSON.

    Others take ``format``, too, such as geocoders and shops, but answer with something else.
    """
    asked = any(body.get("format") == "json" for body in _bodies(exchange))
    return asked and _SEARXNG.is_asked(exchange) and _may_list_pages(exchange)


def _may_list_pages(exchange: Exchange) -> bool:
    if not exchange.ok or exchange.response is None:
        return True
    pages = at(exchange.response, "results")
    return pages == [] or any(text(page, "url") for page in mappings(pages))


def _is_other(exchange: Exchange) -> bool:
    return on_host(exchange, *_READERS) or any(
        on_host(exchange, host) and exchange.segments[-1:] == (name,)
        for host, names in _OTHER
        for name in names.split()
    )


APIS: tuple[Api, ...] = (
    *(
        Api(
            f"web_search.{engine.name}",
            CallStage.RETRIEVER,
            f"{', '.join(engine.paths)} at {', '.join(engine.hosts)}",
            engine.is_asked,
            engine.read,
        )
        for engine in _ENGINES
    ),
    Api(
        "web_search.searxng",
        CallStage.RETRIEVER,
        "…/search with q and format=json",
        _is_searxng,
        _SEARXNG.read,
    ),
    Api(
        "web_search.other",
        CallStage.IRRELEVANT,
        "pages fetched from a web search service, and its accounts",
        _is_other,
    ),
)
