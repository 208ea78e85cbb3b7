"""A request to a pipeline's own API to the question in it, "" where it asks nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from otel_raglog_proxy_bridge.formats.fields import Json, at, items
from otel_raglog_proxy_bridge.front_texts import (
    DEEPEST,
    are_messages,
    by_names,
    inside,
    is_aside,
    is_part,
    last_question,
    plain_name,
    role_of,
    text_of,
)
from otel_raglog_proxy_bridge.model import Exchange

_SURE = (
    "question", "userquestion", "userquery", "userinput", "usermessage", "userprompt", "usermsg",
    "usertext", "query", "querytext", "questiontext", "inputvalue", "chatinput", "humaninput",
    "searchquery", "utterance", "ask", "nlquery", "currentmessage",
)  # fmt: skip
"""Names that tell a question wherever they stand."""
_MESSAGES = ("messages", "contents", "chatmessages", "conversation")
_LIKELY = (
    "message", "msg", "q", "prompt", "input", "inputs", "search", "inputtext", "instances",
    "dataframerecords",
)  # fmt: skip
"""Names that tell one at the top of a request, or in what wraps it."""
_WRAPPERS = (
    "data", "body", "payload", "request", "req", "kwargs", "params", "arguments", "args",
    "variables", "event", "activity", "startevent", "querystringparameters",
)  # fmt: skip
_TEXTS = ("text", "content", "parts")
"""Names of any text: a question where nothing says that it is a document."""
_OF_DOCUMENTS = frozenset(
    {"metadata", "source", "filename", "title", "url", "documentid", "docid", "chunks", "embedding"}
)
_OF_FEEDBACK = frozenset(
    {"rating", "feedback", "thumbs", "thumbsup", "vote", "isliked", "liked", "helpful"}
)
_OF_SIGNING_IN = frozenset({"granttype", "password"})
_NOT_ASKING = _OF_FEEDBACK | _OF_SIGNING_IN | {"actions", "botid"}
_GRAPHQL = re.compile(r"(?:(?:query|mutation|subscription)\b\s{0,9}\w{0,80}\s{0,9})?[({]")
_GRAPHQL_TEXT = re.compile(r'\b(\w{1,40})\s{0,4}:\s{0,4}("(?:[^"\\\n]|\\.)*")')
_NOT_CALLED = ("notifications/", "resources/", "prompts/", "completion/", "logging/")


def question_in(exchange: Exchange) -> str:
    """Return what the request asks, of its body, or where that has nothing, of its URL."""
    call = exchange.call
    request = exchange.request
    if request is None and call.request_headers.get("content-type", "").startswith("text/"):
        return call.request_body.strip()
    asked = _asked(inside(request), 0).strip() if request is not None else ""
    if asked or not exchange.query or _refused(request):
        return asked
    return _asked({key: inside(value) for key, value in exchange.query.items()}, 0).strip()


def is_graphql(request: object) -> bool:
    """Whether a request is one of GraphQL: its ``query`` is a document, not a question."""
    query = at(request, "query")
    return isinstance(query, str) and "{" in query and bool(_GRAPHQL.match(query.lstrip()))


def _refused(request: object) -> bool:
    return isinstance(request, Mapping) and not _NOT_ASKING.isdisjoint(by_names(request))


def _asked(data: object, deep: int) -> str:
    """Return the question in data of any kind at a place where one may stand."""
    if isinstance(data, str):
        opened = inside(data)
        return data if opened is data or isinstance(opened, str) else _asked(opened, deep + 1)
    if deep > DEEPEST:
        return ""
    if isinstance(data, Mapping):
        return _of_object(data, deep)
    listed = items(data)
    if are_messages(listed):
        return last_question(listed)
    if listed and all(is_part(item) for item in listed if not isinstance(item, str)):
        if len(listed) == 1 or not isinstance(listed[0], str):
            return text_of(listed)
        return ""  # several questions are several runs
    return _asked(listed[0], deep + 1) if len(listed) == 1 else ""


def _of_object(data: Json, deep: int) -> str:
    if is_graphql(data):
        return _of_graphql(data, deep)
    if str(data.get("method", "")).startswith(_NOT_CALLED) and "jsonrpc" in data:
        return ""
    named = by_names(data)
    if not _NOT_ASKING.isdisjoint(named) or role_of(data) in {"assistant", "other"}:
        return ""
    for name in _SURE:
        if name in named and (found := _asked(named[name], deep + 1)):
            return found
    for name in _MESSAGES:
        if isinstance(named.get(name), list):
            listed = items(named[name])
            # Messages of which none is the user's ask nothing.
            found = _asked(listed, deep + 1) or _asked_last(listed, deep)
            if found or are_messages(listed):
                return found
    for name in (*_LIKELY, *_WRAPPERS):
        if name not in named:
            continue
        value = named[name]
        if name in _WRAPPERS and isinstance(value, str) and not _opens(value):
            if name == "body":
                return value
            continue
        if name == "data" and isinstance(value, list):
            value = next((item for item in value if isinstance(item, str) and item), None)
        if found := _asked(value, deep + 1):
            return found
    if _OF_DOCUMENTS.isdisjoint(named) and (found := text_of({k: named.get(k) for k in _TEXTS})):
        return found
    return _of_columns(named) or _anywhere(data, deep + 1)


def _asked_last(messages: object, deep: int) -> str:
    """Return the text of the last of messages that do not tell who speaks."""
    listed = items(messages)
    return "" if are_messages(listed) or not listed else _asked(listed[-1], deep + 1)


def _opens(value: str) -> bool:
    return isinstance(inside(value), Mapping)


def _of_columns(named: Mapping[str, object]) -> str:
    """Return the one value of a table that a model server is sent."""
    table = named.get("dataframesplit")
    rows = items(table, "data")
    if len(rows) != 1:
        return ""
    columns = [str(name) for name in items(table, "columns")]
    return _asked(dict(zip(columns, items(rows[0]), strict=False)), 1)


def _anywhere(data: Json, deep: int) -> str:
    """Return a question below names that nobody knows: only a name that is sure tells it."""
    if deep > DEEPEST:
        return ""
    for key, value in data.items():
        if is_aside(plain_name(key)):
            continue
        item = value[0] if isinstance(value, list) and len(value) == 1 else value
        if not isinstance(item, Mapping):
            continue
        named = by_names(item)
        for name in (*_SURE, *_MESSAGES):
            if name in named and (found := _asked(named[name], deep + 1)):
                return found
        if found := _anywhere(item, deep + 1):
            return found
    return ""


def _of_graphql(data: Json, deep: int) -> str:
    """Return the question among a document's variables, or in the document itself."""
    given = data.get("variables")
    if isinstance(given, Mapping) and (found := _of_object(given, deep + 1)):
        return found
    for name, quoted in _GRAPHQL_TEXT.findall(str(data.get("query"))):
        if plain_name(name) in {*_SURE, *_LIKELY, *_TEXTS}:
            try:
                return str(json.loads(quoted))
            except ValueError:
                continue
    return ""
