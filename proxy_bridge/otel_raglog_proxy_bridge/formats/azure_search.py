"""Azure AI Search: searches of an index and agentic retrieval, and their documents."""

from __future__ import annotations

import re

from otel_raglog_proxy_bridge.formats.chat_parts import content_of
from otel_raglog_proxy_bridge.formats.fields import Json, at, items, mapping, mappings, name, text
from otel_raglog_proxy_bridge.formats.passages import document_of, id_in, passage_in
from otel_raglog_proxy_bridge.formats.search_parts import (
    answered,
    count_in,
    dense,
    filter_in,
    merged,
    score_in,
    text_in,
)
from otel_raglog_proxy_bridge.formats.search_routes import on_host
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    Exchange,
    RetrieverReading,
    Search,
)
from otel_raglog_proxy_bridge.parsing import parse_json

_SEARCH = re.compile(r"/indexes(?:/([^/(]+)|\('([^']+)'\))/docs(?:/search|/search\.post\.search)?$")
_RETRIEVE = re.compile(
    r"/(?:agents|knowledgebases)(?:/([^/(]+)|\('([^']+)'\))/retrieve$", re.IGNORECASE
)
_OTHER = re.compile(
    r"/indexes(?:/[^/(]+|\('[^']+'\))/(?:docs(?:/|\(|$)|analyze|stats|search\.(?:analyze|stats))"
    r"|/indexes(?:/[^/(]+|\('[^']+'\))?$"
)
_HOSTS = ("search.windows.net", "search.azure.us", "search.azure.cn")


def _named(pattern: re.Pattern[str], exchange: Exchange) -> str | None:
    found = pattern.search(exchange.path)
    return (found[1] or found[2]) if found else None


def _body(exchange: Exchange) -> Json:
    """Return what is asked: a body, or the ``$`` options of a query string."""
    if exchange.call.method.upper() == "POST":
        return mapping(exchange.request)
    return {key.removeprefix("$"): value for key, value in exchange.query.items()}


def _asked(body: Json) -> Search:
    found = [Search(query=text_in(body, "search"))]
    for kind in ("vectorQueries", "vectors"):
        found += [
            Search(
                query=text_in(one, "text"),
                vector=dense([at(one, "vector")], 0) or dense([at(one, "value")], 0),
            )
            for one in mappings(body, kind)
        ]
    found.append(Search(vector=dense(body, "vector", "value")))
    return merged(found)


def _is_search(exchange: Exchange) -> bool:
    if exchange.call.method.upper() not in {"GET", "POST"} or not _named(_SEARCH, exchange):
        return False
    asked = _asked(_body(exchange))
    return asked.query is not None or asked.vector is not None


def _document(hit: Json) -> Document:
    """Return a hit; its score is the one that the order follows."""
    reranked = score_in(hit, "@search.rerankerScore")
    own = "@search.score" if reranked is None else "@search.rerankerScore"
    return document_of(
        {key: value for key, value in hit.items() if key != own},
        identifier=id_in(hit),
        score=score_in(hit, own),
    )


def _read_search(exchange: Exchange) -> RetrieverReading:
    body = _body(exchange)
    vectors = at(body, "vectorQueries", 0) or at(body, "vectors", 0)
    return RetrieverReading(
        searches=answered(
            [_asked(body)], [tuple(map(_document, mappings(exchange.response, "value")))]
        ),
        top_k=count_in(body, "top") or count_in(vectors, "k"),
        filters=filter_in(body, "filter"),
        collection=_named(_SEARCH, exchange),
    )


# -------------------------------------------------------------------------- agentic retrieval


def _is_retrieve(exchange: Exchange) -> bool:
    asked = isinstance(at(exchange.request, "messages"), list) or isinstance(
        at(exchange.request, "intents"), list
    )
    return (
        asked and exchange.call.method.upper() == "POST" and _named(_RETRIEVE, exchange) is not None
    )


def _question(request: object) -> str | None:
    asked = [
        content_of(at(message, "content"))
        for message in mappings(request, "messages")
        if text(message, "role") in {None, "user"}
    ]
    return (asked[-1] if asked else None) or text_in(at(request, "intents", 0), "search")


def _retrieved(response: object) -> tuple[Document, ...]:
    """Return the references, with the text that the answer quotes for those that have none."""
    quoted: dict[str, Json] = {}
    for part in mappings(response, "response"):
        for chunk in mappings(parse_json(content_of(items(part, "content")))):
            quoted[name(chunk, "ref_id") or str(len(quoted))] = chunk
    references = {name(one, "id") or "": one for one in mappings(response, "references")}
    found = []
    for key in references or quoted:
        reference, chunk = references.get(key, {}), quoted.get(key, {})
        data = mapping(reference, "sourceData") or chunk
        found.append(
            document_of(
                {field: value for field, value in data.items() if field != "ref_id"},
                identifier=name(reference, "docKey") or name(reference, "blobUrl") or key or None,
                score=score_in(reference, "rerankerScore"),
                passage=None if passage_in(data) else passage_in(chunk),
            )
        )
    return tuple(found)


def _read_retrieve(exchange: Exchange) -> RetrieverReading:
    return RetrieverReading(
        searches=answered(
            [Search(query=_question(exchange.request))], [_retrieved(exchange.response)]
        ),
        filters=filter_in(at(exchange.request, "targetIndexParams", 0), "filterAddOn"),
        collection=_named(_RETRIEVE, exchange),
    )


def _is_other(exchange: Exchange) -> bool:
    return on_host(exchange, *_HOSTS) or (
        "api-version" in exchange.query and _OTHER.search(exchange.path) is not None
    )


APIS: tuple[Api, ...] = (
    Api(
        "azure_search.search",
        CallStage.RETRIEVER,
        "POST …/indexes/{index}/docs/search, or GET …/docs, that asks with a text or a vector",
        _is_search,
        _read_search,
    ),
    Api(
        "azure_search.retrieve",
        CallStage.RETRIEVER,
        "POST …/knowledgebases/{name}/retrieve or …/agents/{name}/retrieve",
        _is_retrieve,
        _read_retrieve,
    ),
    Api(
        "azure_search.other",
        CallStage.IRRELEVANT,
        "indexes, indexers and documents kept in Azure AI Search",
        _is_other,
    ),
)
