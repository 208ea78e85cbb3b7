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
_ASKED_BY = ("input", "prompt", "previous_response_id", "conversation")


def _is_response(exchange: Exchange) -> bool:
    if not posts(exchange):
        return False
    request = exchange.request
    if request is not None and any(at(request, key) is not None for key in _ASKED_BY):
        return ends(exchange, "responses")
    return request is None and text(_answer(exchange), "object") == "response"


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
    for event in events:
        kind, place = text(event, "type") or "", count(event, "output_index") or 0
        delta = text(event, "delta") or ""
        if kind == "response.output_item.done":
            done[place] = mapping(event, "item")
        elif kind == "response.output_item.added":
            begun[place] = dict(mapping(event, "item"))
        elif kind in {"response.output_text.delta", "response.refusal.delta"}:
            item = begun.setdefault(place, {})
            item["type"] = "message"
            item["content"] = content_of(item.get("content")) + delta
        elif kind == "response.function_call_arguments.delta":
            _extend(begun.setdefault(place, {"type": "function_call"}), "arguments", delta)
        elif kind == "response.custom_tool_call_input.delta":
            _extend(begun.setdefault(place, {"type": "custom_tool_call"}), "input", delta)
    merged: dict[int, Json] = {**begun, **done}
    return [merged[place] for place in sorted(merged)]


def _extend(item: dict[str, object], key: str, more: str) -> None:
    item[key] = (text(item, key) or "") + more


APIS = (
    Api(
        "openai.responses",
        CallStage.LLM,
        "POST …/responses with an input, or answered by an object of the kind response",
        _is_response,
        _read_response,
    ),
)
