"""OpenAI's responses: an input of items in, output items or a stream of events out."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.addresses import ends, posts
from otel_raglog_proxy_bridge.formats.chat_parts import chosen, content_of, role_of, said
from otel_raglog_proxy_bridge.formats.fields import (
    Json,
    as_json,
    at,
    count,
    items,
    mapping,
    mappings,
    name,
    number,
    text,
)
from otel_raglog_proxy_bridge.formats.openai import SAMPLING, model_of
from otel_raglog_proxy_bridge.formats.pieces import Pieces
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    Document,
    Exchange,
    LlmReading,
    ToolCall,
)

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_DELTAS = {
    "response.output_text.delta": ("message", "content"),
    "response.refusal.delta": ("message", "content"),
    "response.function_call_arguments.delta": ("function_call", "arguments"),
    "response.custom_tool_call_input.delta": ("custom_tool_call", "input"),
}
"""Events that bring a piece: of which kind of item, and of which text of it."""

_GROWING = ("content", "arguments", "input")
_ASKED_BY = ("input", "prompt", "previous_response_id", "conversation")


def _is_response(exchange: Exchange) -> bool:
    if not posts(exchange):
        return False
    request = exchange.request
    answered = text(_answer(exchange), "object") == "response" or any(
        (text(event, "type") or "").startswith("response.") for event in exchange.events
    )
    if request is not None and any(at(request, key) is not None for key in _ASKED_BY):
        return ends(exchange, "responses") and (answered or _names_a_model(exchange))
    return request is None and answered


def _names_a_model(exchange: Exchange) -> bool:
    """Return whether a model is asked: answers to surveys and forms are responses, too."""
    request = exchange.request
    kept = ("prompt", "previous_response_id", "conversation")
    return bool(model_of(exchange)) or any(at(request, key) for key in kept)


def _read_response(exchange: Exchange) -> LlmReading:
    answer = _answer(exchange)
    output = list(mappings(answer, "output"))
    return LlmReading(
        model=model_of(exchange),
        messages=tuple(_messages(exchange.request)),
        answer="".join(_said(item) for item in output) or None,
        tool_calls=tuple(_call(item) for item in output if text(item, "type") in _CALLS),
        finish_reason=text(answer, "status"),
        prompt_tokens=count(answer, "usage", "input_tokens"),
        completion_tokens=count(answer, "usage", "output_tokens"),
        parameters=chosen(exchange.request, SAMPLING),
        retrieved=tuple(found for item in output for found in _found(item)),
    )


def _messages(request: object) -> Iterator[ChatMessage]:
    instructions = content_of(at(request, "instructions"))
    if instructions:
        yield ChatMessage("system", instructions)
    asked = at(request, "input")
    if isinstance(asked, str):
        yield ChatMessage("user", asked)
    for item in items(asked):
        kind = text(item, "type")
        if kind in _CALLS:
            yield ChatMessage("assistant", "", (_call(item),))
        elif kind in _RESULTS:
            output = at(item, "output")
            yield ChatMessage("tool", content_of(output) or _as_text(output))
        elif kind in {None, "message"} and at(item, "content") is not None:
            yield ChatMessage(role_of(item, "role"), content_of(at(item, "content")))


def _as_text(output: object) -> str:
    return as_json(output) if isinstance(output, dict) else ""


def _said(item: Json) -> str:
    """Return the text of an output message; a refusal counts where there is no other text."""
    if text(item, "type") != "message":
        return ""
    refused = "".join(text(part, "refusal") or "" for part in mappings(item, "content"))
    return said(at(item, "content")) or refused


def _call(item: object) -> ToolCall:
    key = _CALLS.get(text(item, "type") or "", "arguments")
    return ToolCall(text(item, "name") or "", text(item, key) or "")


def _found(item: Json) -> Iterator[Document]:
    """Yield the chunks that OpenAI's own file search found, if the call asked to see them."""
    if text(item, "type") != "file_search_call":
        return
    for result in mappings(item, "results"):
        yield Document(
            id=name(result, "file_id"),
            text=text(result, "text"),
            score=number(result, "score"),
            metadata=chosen(result, ("filename", "attributes")),
        )


# ---------------------------------------------------------------------------------- streams


def _answer(exchange: Exchange) -> Json:
    """Return the response, of a stream the last one that its events hold, with its output."""
    if not exchange.events:
        return mapping(exchange.response)
    last: Json = {}
    for event in exchange.events:
        last = mapping(event, "response") or last
    if any(text(item, "type") != "reasoning" for item in mappings(last, "output")):
        return last
    return {**last, "output": _streamed_output(exchange.events)}


def _streamed_output(events: tuple[object, ...]) -> list[Json]:
    """Return the output items that events finished, or else what their deltas add up to.

    An item that the stream breaks off in has its deltas alone.
    """
    done: dict[int, Json] = {}
    begun: dict[int, dict[str, object]] = {}
    pieces = Pieces()
    for event in events:
        kind, place = text(event, "type") or "", count(event, "output_index") or 0
        delta = text(event, "delta") or ""
        if kind == "response.output_item.done":
            done[place] = mapping(event, "item")
        elif kind == "response.output_item.added":
            begun[place] = dict(mapping(event, "item"))
            pieces.forget(*((place, key) for key in _GROWING))
        elif kind in _DELTAS:
            item_kind, key = _DELTAS[kind]
            begun.setdefault(place, {})["type"] = item_kind
            pieces.add((place, key), delta)
    for place, item in begun.items():
        for key in _GROWING:
            if (place, key) in pieces:
                item[key] = content_of(item.get(key)) + pieces.joined((place, key))
    merged: dict[int, Json] = {**begun, **done}
    return [merged[place] for place in sorted(merged)]


APIS = (
    Api(
        "openai.responses",
        CallStage.LLM,
        "POST …/responses with an input, or answered by an object of the kind response",
        _is_response,
        _read_response,
    ),
)
