"""Calls of unknown APIs to the rule by which they are surely no stage, or to none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from otel_raglog_proxy_bridge.model import Exchange
from otel_raglog_proxy_bridge.own_telemetry import is_telemetry
from otel_raglog_proxy_bridge.shapes import is_text, is_vector, spots, texts_in, words_in

_HEALTH = frozenset(
    {"health", "healthz", "healthcheck", "health_check", "livez", "readyz", "live", "ready",
     "alive", "ping", "heartbeat", "status", "version", "metrics", "robots.txt", "favicon.ico"}
)  # fmt: skip
_AUTH = frozenset(
    {"oauth", "oauth2", "oauth2.0", "login", "logout", "signin", "authorize", "authenticate", "saml",
     ".well-known", "jwks", "jwks.json", "userinfo"}
)  # fmt: skip
_TOKENS = frozenset({"access_token", "id_token", "refresh_token", "accesstoken", "idtoken"})
_TOKENIZERS = re.compile(r"(^|[:_-])(de)?tokeni[sz]e$|count[_-]?tokens$", re.IGNORECASE)
_STATIC = re.compile(
    r"\.(js|mjs|css|map|png|jpe?g|gif|svg|ico|webp|woff2?|ttf|html?|pdf|zip|gz|whl|bin|onnx|gguf"
    r"|safetensors|mp[34])$",
    re.IGNORECASE,
)
_MEDIA = ("image/", "audio/", "video/", "font/", "text/html", "text/css", "text/javascript")
_SEARCHES = frozenset(
    {"search", "query", "retrieve", "retrieval", "find", "similar", "similarity", "knn", "lookup"}
)
_TELEMETRY = frozenset({"traces", "metrics", "logs"})
_NAMED = re.compile(
    r"(^q|search|query|queries|question|text|input|prompt|content|message|sentence|document)s?$"
)
"""Names of what a stage is given, though it be one word."""
_NO_CONTENT = frozenset({201, 202, 204, 205})
_LONG_OUTPUT = 200

Rule = tuple[str, str, Callable[[Exchange], bool]]


def certain(exchange: Exchange) -> tuple[str, str] | None:
    """Return the rule by which a call is no stage whatever its bodies hold, and it in words."""
    return _first(_BY_ADDRESS, exchange)


def likely(exchange: Exchange) -> tuple[str, str] | None:
    """Return the rule by which a call is no stage, when its bodies have shown none."""
    return _first(_BY_BODIES, exchange)


def asks_by_path(exchange: Exchange) -> bool:
    """Tell whether the path says that something is searched."""
    last = [re.split(r"[:_.-]", segment.lower()) for segment in exchange.segments[-2:]]
    return any(not _SEARCHES.isdisjoint(words) for words in last)


def _first(rules: tuple[Rule, ...], exchange: Exchange) -> tuple[str, str] | None:
    return next(((name, words) for name, words, holds in rules if holds(exchange)), None)


def _method(exchange: Exchange) -> str:
    return exchange.call.method.upper()


def _last(exchange: Exchange) -> str:
    return exchange.segments[-1].lower() if exchange.segments else ""


def _is_auth(exchange: Exchange) -> bool:
    if any(segment.lower() in _AUTH for segment in exchange.segments):
        return True
    if isinstance(exchange.request, Mapping) and "grant_type" in exchange.request:
        return True
    answer = exchange.response
    return isinstance(answer, Mapping) and any(str(key).lower() in _TOKENS for key in answer)


def _is_telemetry(exchange: Exchange) -> bool:
    call = exchange.call
    if is_telemetry(_method(exchange), call.url, call.request_headers):
        return True
    otlp = exchange.segments[-2:-1] == ("v1",) and _last(exchange) in _TELEMETRY
    return _method(exchange) == "POST" and otlp  # a record may lack the content type


def _is_media(exchange: Exchange) -> bool:
    kind = exchange.call.response_headers.get("content-type", "").lower()
    return exchange.ok and kind.startswith(_MEDIA)


def _fetches(exchange: Exchange) -> bool:
    given = (*exchange.query.values(), *exchange.segments)
    asked = any(is_text(value) and words_in(value) > 1 for value in given)
    return _method(exchange) == "GET" and not asked and not _has_query(exchange)


def _has_query(exchange: Exchange) -> bool:
    named = {"q", "query", "question", "search", "text", "prompt", "input", "term", "keywords"}
    return any(key.lower() in named for key in exchange.query) or asks_by_path(exchange)


def _indexes(exchange: Exchange) -> bool:
    """Texts or vectors went in with their ids, and neither came out."""
    if not exchange.ok or exchange.events or _method(exchange) != "POST":
        return False
    return _brings_records(exchange.request) and not _gives(exchange.response)


def _brings_records(request: object) -> bool:
    """Tell whether a request holds a list of objects, each with an id and a text or a vector."""
    for spot in spots(request, depth=3):
        if not isinstance(spot.value, list) or not spot.value:
            continue
        first = spot.value[0]
        if not isinstance(first, Mapping):
            continue
        named = any(str(key).lower() in {"id", "_id", "uuid", "key"} for key in first)
        if named and any(
            is_vector(below.value) or any(map(words_in, texts_in(below.value)))
            for below in spots(first, depth=3)
            if below.keys and str(below.keys[-1]).lower() not in {"id", "_id", "uuid", "key"}
        ):
            return True
    return False


def _gives(response: object) -> bool:
    """Tell whether an answer holds a passage, a vector, or a list that is not of ids."""
    for spot in spots(response, depth=4, into_lists=True):
        value = spot.value
        if is_vector(value) or (isinstance(value, str) and len(value) > _LONG_OUTPUT):
            return True
        if isinstance(value, str) and words_in(value) >= 8:  # noqa: PLR2004  a sentence
            return True
        if isinstance(value, list) and (not value or not isinstance(value[0], str | int)):
            return True
    return False


def _changes_records(exchange: Exchange) -> bool:
    """Nothing was asked and nothing was told: a request without texts, an answer without lists."""
    if _method(exchange) != "POST" or not exchange.ok or exchange.events or exchange.call.cut:
        return False
    if _has_query(exchange):
        return False
    if exchange.response is None:
        return exchange.call.status in _NO_CONTENT and not _says(exchange.request)
    if exchange.call.request_body and exchange.request is None:
        return False
    return not _says(exchange.request) and not _gives(exchange.response)


def _says(request: object) -> bool:
    """Tell whether a request holds a vector, or a text of several words or under a query's name."""
    for spot in spots(request, depth=5, into_lists=True):
        value = spot.value
        if is_vector(value) or any(words_in(text) > 1 for text in texts_in(value)):
            return True
        if value is not None and _NAMED.search(spot.key):
            return True
    return False


_BY_ADDRESS: tuple[Rule, ...] = (
    (
        "no_content_method",
        "HEAD, OPTIONS and their like carry no content",
        lambda exchange: _method(exchange) in {"HEAD", "OPTIONS", "TRACE", "CONNECT"},
    ),
    ("delete", "DELETE removes a record", lambda exchange: _method(exchange) == "DELETE"),
    (
        "write",
        "PUT and PATCH change a record",
        lambda exchange: _method(exchange) in {"PUT", "PATCH"},
    ),
    (
        "static_file",
        "GET of a file",
        lambda exchange: _method(exchange) == "GET" and bool(_STATIC.search(exchange.path)),
    ),
    (
        "health",
        "GET of a service's state",
        lambda exchange: _method(exchange) == "GET" and _last(exchange) in _HEALTH,
    ),
    ("auth", "a log-in, or an answer that is a token", _is_auth),
    ("telemetry", "spans, metrics, logs or crash reports are sent", _is_telemetry),
    (
        "tokenizer",
        "the path says that tokens are made or counted",
        lambda exchange: bool(_TOKENIZERS.search(_last(exchange))),
    ),
)
_BY_BODIES: tuple[Rule, ...] = (
    ("media", "the answer is a page, an image or a sound", _is_media),
    ("get_without_query", "GET of records, without a query", _fetches),
    ("indexing", "records with texts or vectors go in, neither comes out", _indexes),
    (
        "records",
        "the request holds no text and no vector, the answer no passages",
        _changes_records,
    ),
)
