"""A call of the pipeline's own API to the question that was asked and the answer it gave."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from otel_raglog_proxy_bridge.formats.fields import at, items
from otel_raglog_proxy_bridge.formats.registry import APIS
from otel_raglog_proxy_bridge.front_answers import answer_in, twiml_answer
from otel_raglog_proxy_bridge.front_questions import is_graphql, question_in
from otel_raglog_proxy_bridge.front_routes import may_ask
from otel_raglog_proxy_bridge.front_streams import answer_of, events_in, lettered_answer
from otel_raglog_proxy_bridge.front_texts import (
    are_messages,
    is_part,
    last_question,
    said_by,
    text_of,
)
from otel_raglog_proxy_bridge.model import Call, CallStage, Exchange, LlmReading
from otel_raglog_proxy_bridge.trace_headers import parent_id_of, trace_id_of

_SESSION_KEYS = (
    "session_id", "sessionId", "conversation_id", "conversationId", "chat_id", "chatId",
    "thread_id", "threadId",
)  # fmt: skip


_PLAIN = ("text/plain", "text/markdown")
_XML = ("text/xml", "application/xml")


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
    told = options.paths is not None or bool(options.question)
    if not may_ask(exchange, told=told):
        return None
    question = _question(exchange, options.question).strip()
    if not question:
        return None
    return FrontCall(
        call,
        question,
        _answer(exchange, options.answer, question),
        _session(exchange),
        trace_id_of(call),
        parent_id_of(call),
    )


def _question(exchange: Exchange, place: str) -> str:
    if place:
        return _text_at(exchange.request, place) or _text_at(exchange.query, place)
    return question_in(exchange)


def _answer(exchange: Exchange, place: str, question: str) -> str:
    if not exchange.ok:
        return ""
    if place:
        return _answer_at(exchange, place)
    lettered = lettered_answer(exchange.call.response_body)
    if lettered is not None:
        return lettered
    return _of_model(exchange) or _of_own_shape(exchange, question)


def _of_own_shape(exchange: Exchange, question: str) -> str:
    body = exchange.call.response_body
    if exchange.response is not None:
        return answer_in(exchange.response, question, any_name=is_graphql(exchange.request))
    events = events_in(body)
    if events:
        return answer_of(events, question)
    kind = exchange.call.response_headers.get("content-type", "").lower()
    if kind.startswith(_XML):
        return twiml_answer(body)
    return body.strip() if kind.startswith(_PLAIN) else ""


def _of_model(exchange: Exchange) -> str:
    """Return the answer of a front that speaks the API of a model, as that API's rule reads it."""
    for api in APIS:
        if api.recognises(exchange):
            if api.stage is not CallStage.LLM or api.read is None:
                return ""
            reading = api.read(exchange)
            return (reading.answer or "").strip() if isinstance(reading, LlmReading) else ""
    return ""


def _answer_at(exchange: Exchange, place: str) -> str:
    events = [event for event in exchange.events if isinstance(event, Mapping)]
    if events:
        pieces = [piece for event in events if (piece := _text_at(event, place))]
        before = "".join(pieces[:-1])
        repeated = before and pieces[-1].strip() == before.strip()
        return (before if repeated else "".join(pieces)).strip()
    if exchange.response is None:
        kind = exchange.call.response_headers.get("content-type", "")
        return exchange.call.response_body.strip() if kind.startswith("text/plain") else ""
    return _text_at(exchange.response, place).strip()


def _text_at(data: object, place: str) -> str:
    """Return the text at ``place``, of a list of messages what the user, or the last, says."""
    found = _at_place(data, place)
    if are_messages(found):
        listed = items(found)
        return last_question(listed) or said_by(listed[-1])
    if isinstance(found, list) and found and not all(is_part(item) for item in found):
        return text_of(found[-1])
    return text_of(found) if isinstance(found, str | list) else ""


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
