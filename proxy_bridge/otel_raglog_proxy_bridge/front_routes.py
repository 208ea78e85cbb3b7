"""A call of a pipeline's own API to whether it may ask something, by method, path and status."""

from __future__ import annotations

import re

from otel_raglog_proxy_bridge.model import Exchange

_ASKING_METHODS = frozenset({"GET", "POST", "QUERY"})
_NEVER_ASKING = frozenset({"OPTIONS", "HEAD", "TRACE", "CONNECT"})
_WORD = re.compile(r"[a-z]+")
_ID = re.compile(r"v?\d+(?:\.\d+)*|.*\d.*\d.*")
_FILE = re.compile(
    r"\.(?:js|mjs|css|map|png|jpe?g|gif|svg|ico|webp|woff2?|ttf|txt|html?|xml|json)\Z"
)
_ANYWHERE = frozenset({"static", "assets", "_next", "socket.io", "_stcore", "oauth", "oauth2"})
_ALONE = frozenset(
    {
        "health", "healthz", "healthcheck", "ready", "readyz", "live", "livez", "ping", "status",
        "metrics", "redoc", "openapi", "swagger", "token", "auth", "authorize", "register",
        "stop", "cancel", "abort", "clear", "reset", "delete", "rename", "config", "settings",
        "info", "version", "models", "documents", "document", "docs", "files", "file",
        "collections", "datasets", "add", "insert", "upsert", "track", "events-log", "analytics",
        "log", "logs", "like", "dislike", "index", "prompts", "templates", "crawl", "scrape", "train", "share", "export", "import",
    }
)  # fmt: skip
"""Last parts of a path that ask nothing when they stand alone."""
_WORDS = frozenset(
    {
        "login", "logout", "signin", "signup", "password", "feedback", "feedbacks", "rating",
        "ratings", "rate", "vote", "reaction", "reactions", "evaluate", "evaluation", "upload", "uploads", "ingest", "ingestion", "embed", "embedding",
        "embeddings", "rerank", "tokenize", "detokenize", "moderations", "transcriptions",
        "speech", "history", "title", "titles", "suggestion", "suggestions", "autocomplete",
        "followups", "telemetry", "favicon",
    }
)  # fmt: skip
"""Words that ask nothing wherever they stand in the last part of a path."""
_LISTS = frozenset(
    {
        "conversations", "sessions", "threads", "messages", "users", "items", "chats", "agents",
        "assistants", "prompts", "templates", "tags", "projects", "workspaces", "bots",
    }
)  # fmt: skip
"""Last parts of a path that are listed by GET."""
_PAGES = ("text/html", "text/css", "text/javascript", "application/javascript", "image/", "font/")
_FIRST_REDIRECT, _FIRST_ERROR = 300, 400


def may_ask(exchange: Exchange, *, told: bool = False) -> bool:
    """Whether a call may ask something; its request still has to have a question.

    Preflights, pages, redirects (what is asked comes again), and what is done to documents,
    accounts, sessions and answers ask nothing. Where it is ``told`` which calls ask, preflights
    and redirects alone do not.
    """
    call = exchange.call
    method = call.method.upper()
    if method in _NEVER_ASKING or _FIRST_REDIRECT <= (call.status or 0) < _FIRST_ERROR:
        return False
    if told:
        return True
    if method not in _ASKING_METHODS:
        return False
    kind = call.response_headers.get("content-type", "").lower()
    reads = method == "GET"
    if reads and kind.startswith(_PAGES):
        return False
    return not _asks_nothing(exchange.segments, reads=reads)


def _asks_nothing(segments: tuple[str, ...], *, reads: bool) -> bool:
    parts = [part[:100].lower() for part in segments]
    if not _ANYWHERE.isdisjoint(parts):
        return True
    last = next((part for part in reversed(parts) if _ID.fullmatch(part) is None), "")
    if last in _ALONE or not _WORDS.isdisjoint(_WORD.findall(last)):
        return True
    return reads and (last in _LISTS or _FILE.search(last) is not None)
