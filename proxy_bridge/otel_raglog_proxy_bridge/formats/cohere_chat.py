"""Cohere's chat and generation, whole or streamed, to what the model was told and said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from otel_raglog_proxy_bridge.formats.chat_parts import (
    arguments_of,
    chosen,
    openai_messages,
    openai_tool_calls,
    role_of,
    said,
)
from otel_raglog_proxy_bridge.formats.fields import (
    Json,
    as_json,
    at,
    count,
    items,
    mapping,
    mappings,
    name,
    text,
)
from otel_raglog_proxy_bridge.formats.pieces import Pieces
from otel_raglog_proxy_bridge.formats.rank_parts import document_text
from otel_raglog_proxy_bridge.formats.streams import events_in
from otel_raglog_proxy_bridge.model import ChatMessage, Document, Exchange, LlmReading, ToolCall

SAMPLING = (
    "temperature",
    "p",
    "k",
    "max_tokens",
    "stop_sequences",
    "frequency_penalty",
    "presence_penalty",
    "seed",
    "num_generations",
)
_TITLES = ("title", "url")
_CALLED = ("name", "arguments")


# ------------------------------------------------------------------------------- version 1


def read_chat_v1(exchange: Exchange) -> LlmReading:
    """Return what a call of the first version's chat says.

    Where only search queries were asked for, they are what the model said, a line each.
    """
    request, answer = exchange.request, _answer_v1(exchange)
    queries = [
        query for item in mappings(answer, "search_queries") if (query := text(item, "text"))
    ]
    given = documents_given(items(request, "documents"))
    found = documents_given(items(answer, "documents"))
    return LlmReading(
        model=text(request, "model"),
        messages=tuple(_messages_v1(request)),
        answer=text(answer, "text") or "\n".join(queries) or None,
        tool_calls=_tool_calls_v1(answer),
        finish_reason=text(answer, "finish_reason"),
        prompt_tokens=_tokens(at(answer, "meta"), "input_tokens"),
        completion_tokens=_tokens(at(answer, "meta"), "output_tokens"),
        parameters=chosen(request, SAMPLING),
        documents=given,
        retrieved=() if given else found,
    )


def _messages_v1(request: object) -> Iterator[ChatMessage]:
    preamble = text(request, "preamble")
    if preamble:
        yield ChatMessage("system", preamble)
    for item in mappings(request, "chat_history"):
        if role_of(item, "role") == "tool":
            yield from _tool_results(item)
        else:
            said_before = text(item, "message") or ""
            yield ChatMessage(role_of(item, "role"), said_before, _tool_calls_v1(item))
    message = text(request, "message")
    if message:
        yield ChatMessage("user", message)
    yield from _tool_results(request)


def _tool_results(data: object) -> Iterator[ChatMessage]:
    for result in mappings(data, "tool_results"):
        yield ChatMessage("tool", as_json(at(result, "outputs") or []))


def _tool_calls_v1(data: object) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(text(call, "name") or "", arguments_of(at(call, "parameters")))
        for call in mappings(data, "tool_calls")
    )


def _answer_v1(exchange: Exchange) -> Json:
    """Return the answer; a stream's last event holds it whole, but the stream may be cut."""
    if not exchange.events and text(exchange.response, "event_type") is None:
        return mapping(exchange.response)
    gathered: dict[str, object] = {"search_queries": [], "documents": []}
    spoken: list[str] = []
    for event in events_in(exchange):
        kind = text(event, "event_type")
        if kind == "text-generation":
            spoken.append(text(event, "text") or "")
        elif kind == "search-queries-generation":
            gathered["search_queries"] = list(items(event, "search_queries"))
        elif kind == "search-results":
            gathered["documents"] = list(items(event, "documents"))
        elif kind == "tool-calls-generation":
            gathered["tool_calls"] = list(items(event, "tool_calls"))
        elif kind == "stream-end":
            gathered["finish_reason"] = text(event, "finish_reason")
            whole = {key: value for key, value in mapping(event, "response").items() if value}
            gathered.update(whole)
    return {"text": "".join(spoken), **gathered}


# ------------------------------------------------------------------------------- version 2


def read_chat_v2(exchange: Exchange) -> LlmReading:
    """Return what a call of the second version's chat says; a plan to use tools is no answer."""
    request, answer = exchange.request, _answer_v2(exchange)
    within = [
        at(part, "document")
        for message in mappings(request, "messages")
        for part in mappings(message, "content")
        if text(part, "type") == "document"
    ]
    return LlmReading(
        model=text(request, "model"),
        messages=openai_messages(at(request, "messages")),
        answer=said(at(answer, "message", "content")),
        tool_calls=openai_tool_calls(at(answer, "message")),
        finish_reason=text(answer, "finish_reason"),
        prompt_tokens=_tokens(at(answer, "usage"), "input_tokens"),
        completion_tokens=_tokens(at(answer, "usage"), "output_tokens"),
        parameters=chosen(request, SAMPLING),
        documents=documents_given([*items(request, "documents"), *within]),
    )


def _answer_v2(exchange: Exchange) -> Json:
    if not exchange.events:
        return mapping(exchange.response)
    spoken: list[str] = []
    calls: dict[int, None] = {}
    pieces = Pieces()
    end: Json = {}
    for event in exchange.events:
        kind, delta = text(event, "type"), mapping(event, "delta")
        if kind in {"content-start", "content-delta"}:
            spoken.append(text(delta, "message", "content", "text") or "")
        elif kind in {"tool-call-start", "tool-call-delta"}:
            piece = mapping(delta, "message", "tool_calls", "function")
            place = count(event, "index") or 0
            calls.setdefault(place)
            for key in _CALLED:
                pieces.add((place, key), text(piece, key))
        elif kind == "message-end":
            end = delta
    message = {
        "content": "".join(spoken),
        "tool_calls": [
            {"function": {key: pieces.joined((place, key)) for key in _CALLED}} for place in calls
        ],
    }
    return {**end, "message": message}


# ------------------------------------------------------------------------------ generation


def read_generate(exchange: Exchange) -> LlmReading:
    """Return what a call of the older generation says: its first generation."""
    request, response = exchange.request, exchange.response
    prompt = text(request, "prompt")
    first = at(response, "generations", 0)
    answer, finish = text(first, "text"), text(first, "finish_reason")
    if exchange.events or "is_finished" in mapping(response):
        events = [event for event in events_in(exchange) if not count(event, "index")]
        answer = "".join(text(event, "text") or "" for event in events)
        finish = next((why for e in reversed(events) if (why := text(e, "finish_reason"))), None)
        response = next((found for e in events if (found := mapping(e, "response"))), {})
    return LlmReading(
        model=text(request, "model"),
        messages=(ChatMessage("user", prompt),) if prompt else (),
        answer=answer or None,
        finish_reason=finish,
        prompt_tokens=_tokens(at(response, "meta"), "input_tokens"),
        completion_tokens=_tokens(at(response, "meta"), "output_tokens"),
        parameters=chosen(request, SAMPLING),
    )


def read_summary(exchange: Exchange) -> LlmReading:
    """Return what a call of the older summaries says: the text is the prompt."""
    given, extra = text(exchange.request, "text"), text(exchange.request, "additional_command")
    system = (ChatMessage("system", extra),) if extra else ()
    return LlmReading(
        model=text(exchange.request, "model"),
        messages=(*system, ChatMessage("user", given)) if given else system,
        answer=text(exchange.response, "summary") or None,
        prompt_tokens=_tokens(at(exchange.response, "meta"), "input_tokens"),
        completion_tokens=_tokens(at(exchange.response, "meta"), "output_tokens"),
        parameters=chosen(exchange.request, SAMPLING),
    )


# ----------------------------------------------------------------------------------- parts


def documents_given(found: Sequence[object]) -> tuple[Document, ...]:
    """Return documents given beside the messages, or found: texts, or objects of any fields."""
    return tuple(_document(item) for item in found if isinstance(item, str | Mapping))


def _document(item: object) -> Document:
    data = at(item, "data")
    fields = mapping(data) or mapping(item)
    return Document(
        id=name(item, "id"),
        text=text(data) if isinstance(data, str) else document_text(fields or item),
        metadata=chosen(fields, _TITLES),
    )


def _tokens(usage: object, which: str) -> int | None:
    used = count(usage, "tokens", which)
    return count(usage, "billed_units", which) if used is None else used
