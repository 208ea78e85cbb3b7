"""A request to a pipeline's own API to the question in it, "" where it asks nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

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
_NOT_ASKING = _OF_FEEDBACK | _OF_SIGNING_IN | {"actions"}
_GRAPHQL = re.compile(r"(?:(?:query|mutation|subscription)\b\s{0,9}\w{0,80}\s{0,9})?[({]")
_GRAPHQL_TEXT = re.compile(r'\b(\w{1,40})\s{0,4}:\s{0,4}("(?:[^"\\\n]|\\.)*")')
_NOT_CALLED = ("notifications/", "resources/", "prompts/", "completion/", "logging/")


def question_in(exchange: Exchange) -> str:
    """Return what the request asks, of its body, or where that has nothing, of its URL."""
    call = exchange.call
    request = exchange.request
    if request is None and call.request_headers.get("content-type", "").startswith("text/"):
        return call.request_body.strip()
    asked = _Finder().of(inside(request)) if request is not None else ""
    if asked or not exchange.query or _refused(request):
        return asked
    return _Finder().of({key: inside(value) for key, value in exchange.query.items()})


def is_graphql(request: object) -> bool:
    """Whether a request is one of GraphQL: its ``query`` is a document, not a question."""
    query = at(request, "query")
    return isinstance(query, str) and "{" in query and bool(_GRAPHQL.match(query.lstrip()))


def _refused(request: object) -> bool:
    return isinstance(request, Mapping) and not _NOT_ASKING.isdisjoint(by_names(request))


def _asks_nothing(data: Json, named: Mapping[str, object]) -> bool:
    """Whether an object is sign-in, feedback, an answer, or a bot's own message."""
    if not _NOT_ASKING.isdisjoint(named) or named.get("answer"):
        return True
    if "botid" in named and named.get("type") == "message":  # Slack: a bot wrote it
        return True
    if "jsonrpc" in data and str(data.get("method")).startswith(_NOT_CALLED):
        return True
    return role_of(data) in {"assistant", "other"}


def _opens(value: str) -> bool:
    return isinstance(inside(value), Mapping)


class _Finder:
    """Looks for one request's question."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, int], object] = {}  # so that nothing is looked through twice

    def of(self, data: object) -> str:
        """Return what ``data`` ask."""
        return self._asked(data, 0).strip()

    def _is_new(self, way: str, data: object) -> bool:
        key = (way, id(data))
        new = key not in self._seen
        self._seen[key] = data  # kept, or its id might become another's
        return new

    def _asked(self, data: object, deep: int) -> str:
        """Return the question in data of any kind at a place where one may stand."""
        if isinstance(data, str):
            opened = inside(data)
            return data if isinstance(opened, str) else self._asked(opened, deep + 1)
        if deep > DEEPEST:
            return ""
        return (
            self._of_object(data, deep)
            if isinstance(data, Mapping)
            else self._of_list(items(data), deep)
        )

    def _of_list(self, listed: Sequence[object], deep: int) -> str:
        """Return what a list asks; several questions are several runs, and none of them is read."""
        if are_messages(listed):
            return last_question(listed)
        if len(listed) == 1:
            return self._asked(listed[0], deep + 1)
        parts = bool(listed) and all(isinstance(item, Mapping) and is_part(item) for item in listed)
        return text_of(listed) if parts else ""

    def _of_object(self, data: Json, deep: int) -> str:
        named = by_names(data)
        if not self._is_new("object", data) or _asks_nothing(data, named):
            return ""
        if is_graphql(data):
            return self._of_graphql(data, deep)
        return next((found for found in self._candidates(data, named, deep) if found), "")

    def _candidates(self, data: Json, named: Mapping[str, object], deep: int) -> Iterator[str]:
        """Yield what may be the question in an object, the surest first."""
        for name in _SURE:
            if name in named:
                yield self._asked(named[name], deep + 1)
        for name, value in named.items():
            told = name in _MESSAGES or (name.endswith("messages") and not is_aside(name))
            if told and isinstance(value, list):
                yield self._asked(value, deep + 1) or self._asked_last(value, deep)
                if are_messages(value):
                    return  # the user said nothing
        only = next(iter(data.values())) if len(data) == 1 else None
        if isinstance(only, Mapping):
            yield self._asked(only, deep + 1)
        for name in _LIKELY:
            yield self._asked(named.get(name), deep + 1)
        for name in _WRAPPERS:
            yield self._wrapped(name, named.get(name), deep + 1)
        if _OF_DOCUMENTS.isdisjoint(named):
            yield text_of({name: named.get(name) for name in _TEXTS})
        yield self._of_columns(named)
        yield self._anywhere(data, deep + 1)

    def _wrapped(self, name: str, value: object, deep: int) -> str:
        if isinstance(value, str) and not _opens(value):
            return value if name == "body" else ""
        if name == "data" and isinstance(value, list):  # Gradio: what its components hold
            value = next((item for item in value if isinstance(item, str) and item), None)
        return self._asked(value, deep + 1)

    def _asked_last(self, messages: object, deep: int) -> str:
        """Return the text of the last of messages that do not tell who speaks."""
        listed = items(messages)
        return "" if are_messages(listed) or not listed else self._asked(listed[-1], deep + 1)

    def _of_columns(self, named: Mapping[str, object]) -> str:
        """Return the one value of a table that a model server is sent."""
        table = named.get("dataframesplit")
        rows = items(table, "data")
        if len(rows) != 1:
            return ""
        columns = [str(name) for name in items(table, "columns")]
        return self._asked(dict(zip(columns, items(rows[0]), strict=False)), 1)

    def _anywhere(self, data: Json, deep: int) -> str:
        """Return a question below names that nobody knows: only a name that is sure tells it."""
        if deep > DEEPEST or not self._is_new("below", data):
            return ""
        for key, value in data.items():
            if is_aside(plain_name(key)):
                continue
            item = value[0] if isinstance(value, list) and len(value) == 1 else value
            if not isinstance(item, Mapping):
                continue
            named = by_names(item)
            for name in (*_SURE, *_MESSAGES):
                if name in named and (found := self._asked(named[name], deep + 1)):
                    return found
            if found := self._anywhere(item, deep + 1):
                return found
        return ""

    def _of_graphql(self, data: Json, deep: int) -> str:
        """Return the question among a document's variables, or in the document itself."""
        given = data.get("variables")
        if isinstance(given, Mapping) and (found := self._of_object(given, deep + 1)):
            return found
        for name, quoted in _GRAPHQL_TEXT.findall(str(data.get("query"))):
            if plain_name(name) in {*_SURE, *_LIKELY, *_TEXTS}:
                try:
                    return str(json.loads(quoted))
                except ValueError:
                    continue
        return ""
