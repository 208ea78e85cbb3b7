"""A call of the pipeline's own API to the question that was asked and the answer it gave."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from otel_raglog_proxy_bridge.formats.chat_parts import content_of
from otel_raglog_proxy_bridge.formats.fields import at, text
from otel_raglog_proxy_bridge.model import Call, Exchange
from otel_raglog_proxy_bridge.trace_headers import parent_id_of, trace_id_of

_QUESTION_KEYS = (
    "question", "query", "user_query", "user_question", "user_input", "prompt", "message",
    "user_message", "messages", "q", "input", "inputs", "text", "content", "search",
)  # fmt: skip
_ANSWER_KEYS = (
    "answer", "final_answer", "response", "reply", "output", "output_text", "generated_text",
    "completion", "result", "message", "text", "content", "choices", "delta", "token", "messages",
)  # fmt: skip
_WRAPPERS = ("data", "body", "payload", "request", "kwargs", "input", "inputs", "result", "output")
_SESSION_KEYS = (
    "session_id", "sessionId", "conversation_id", "conversationId", "chat_id", "chatId",
    "thread_id", "threadId",
)  # fmt: skip
_MOST_DEEP = 4
_LINE_BREAK = re.compile(r"\r\n|\n|\r")
_END_OF_STREAM = "[DONE]"


@dataclass(frozen=True, slots=True)
class FrontCall:
    """One question put to the pipeline, with its answer ("" when there was none)."""

    call: Call
    question: str
    answer: str
    session: str = ""
    trace_id: str = ""
    parent_id: str = ""


@dataclass(frozen=True, slots=True)
class FrontOptions:
    """Where question and answer are, as keys joined by dots, when they are not found by name.

    ``paths`` limits questions to URLs whose path has a match.
    """

    question: str = ""
    answer: str = ""
    paths: re.Pattern[str] | None = None


def read_front(exchange: Exchange, options: FrontOptions | None = None) -> FrontCall | None:
    """Return the question and the answer of ``exchange``, ``None`` when nothing was asked."""
    options = options or FrontOptions()
    call = exchange.call
    if options.paths is not None and not options.paths.search(exchange.path):
        return None
    question = _question(exchange, options.question).strip()
    if not question:
        return None
    return FrontCall(
        call,
        question,
        _answer(exchange, options.answer),
        _session(exchange),
        trace_id_of(call),
        parent_id_of(call),
    )


def _question(exchange: Exchange, place: str) -> str:
    if place:
        return _as_text(_at_place(exchange.request, place) or _at_place(exchange.query, place))
    if exchange.request is None:
        return _by_keys(exchange.query, _QUESTION_KEYS) if exchange.query else ""
    if isinstance(exchange.request, str):
        return exchange.request
    return _by_keys(exchange.request, _QUESTION_KEYS)


def _answer(exchange: Exchange, place: str) -> str:
    if any(isinstance(event, Mapping) for event in exchange.events):
        return _streamed(exchange.events, place)
    body = exchange.call.response_body
    if body.startswith("data:"):  # events whose data is plain text
        lines = (
            line[5:].removeprefix(" ") for line in _LINE_BREAK.split(body) if line[:5] == "data:"
        )
        return "".join(line for line in lines if line != _END_OF_STREAM)
    if exchange.response is None:
        kind = exchange.call.response_headers.get("content-type", "")
        return body.strip() if kind.startswith("text/plain") else ""
    if place:
        return _as_text(_at_place(exchange.response, place)).strip()
    if isinstance(exchange.response, str):
        return exchange.response.strip()
    return _by_keys(exchange.response, _ANSWER_KEYS).strip()


def _streamed(events: Iterable[object], place: str) -> str:
    """Return the pieces of a streamed answer; a last event that has it all is taken alone."""
    pieces = []
    for event in events:
        if place:
            piece = _as_text(_at_place(event, place))
        elif isinstance(event, str):
            piece = event
        else:
            piece = text(event, "choices", 0, "delta", "content") or _by_keys(event, _ANSWER_KEYS)
        if piece:
            pieces.append(piece)
    before = "".join(pieces[:-1])
    repeated = before and pieces[-1].strip() == before.strip()
    return (before if repeated else "".join(pieces)).strip()


def _by_keys(data: object, keys: tuple[str, ...], deep: int = 0) -> str:
    """Return the text at the first of ``keys``, looked for in wrappers too."""
    if not isinstance(data, Mapping) or deep > _MOST_DEEP:
        return ""
    for key in keys:
        value = data.get(key)
        found = _as_text(value)
        if not found and isinstance(value, Mapping):
            found = _by_keys(value, keys, deep + 1)
        if found:
            return found
    for key in _WRAPPERS:
        found = _by_keys(data.get(key), keys, deep + 1)
        if found:
            return found
    return ""


def _as_text(value: object) -> str:
    """Return a text, or of a list of messages what the last one says."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value:
        said = [item for item in value if isinstance(item, Mapping)]
        users = [item for item in said if text(item, "role") in {"user", "human"}]
        last: object = (users or said)[-1] if said else None
        message = at(last, "message")
        content = at(message if message is not None else last, "content")
        if content is None and isinstance(value[-1], str):
            return value[-1]
        return content_of(content) if content is not None else text(last, "text") or ""
    return ""


def _session(exchange: Exchange) -> str:
    for data in (exchange.request, exchange.query):
        for key in _SESSION_KEYS:
            value = at(data, key)
            if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
                return str(value)
    return ""


def _at_place(data: object, place: str) -> object:
    """Return what is at the keys in ``place``; whole numbers are positions in lists."""
    for part in place.split("."):
        key: str | int = (
            int(part) if part.lstrip("-").isdigit() and isinstance(data, list) else part
        )
        data = at(data, key)
        if isinstance(data, str) and data[:1] in "{[":
            try:
                data = json.loads(data)
            except ValueError:
                return data
    return data
