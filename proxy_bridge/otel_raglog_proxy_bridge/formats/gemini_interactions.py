"""Google's interactions: an input of turns or steps in, outputs or steps, or their events, out."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.addresses import posts
from otel_raglog_proxy_bridge.formats.chat_parts import (
    arguments_of,
    chosen,
    content_of,
    role_of,
    said,
)
from otel_raglog_proxy_bridge.formats.fields import (
    Json,
    as_json,
    at,
    count,
    mapping,
    mappings,
    text,
)
from otel_raglog_proxy_bridge.formats.gemini import SAMPLING, listed, parts_text
from otel_raglog_proxy_bridge.formats.pieces import Pieces
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    Exchange,
    LlmReading,
    ToolCall,
)

_ANSWERED = ("outputs", "steps", "usage", "agent", "model")


def _is_interaction(exchange: Exchange) -> bool:
    """Tell by an input, and an answer, if one came, of Google's: customers have some, too."""
    if not posts(exchange, "interactions") or at(exchange.request, "input") is None:
        return False
    answer = mapping(exchange.response)
    return not exchange.ok or not answer or any(key in answer for key in _ANSWERED)


def _read_interaction(exchange: Exchange) -> LlmReading:
    request = exchange.request
    answer: Json = mapping(exchange.response)
    for event in exchange.events:
        answer = mapping(event, "interaction") or answer
    output = list(_output(answer)) or list(_streamed(exchange.events))
    usage = mapping(answer, "usage")
    return LlmReading(
        model=text(request, "model") or text(request, "agent"),
        messages=tuple(_messages(request)),
        answer=said(output),
        tool_calls=tuple(
            ToolCall(text(part, "name") or "", arguments_of(at(part, "arguments")))
            for part in output
            if text(part, "type") == "function_call"
        ),
        finish_reason=text(answer, "status"),
        prompt_tokens=count(usage, "total_input_tokens"),
        completion_tokens=count(usage, "total_output_tokens"),
        parameters=chosen(at(request, "generation_config"), SAMPLING),
    )


def _output(answer: Json) -> Iterator[Json]:
    """Yield the parts of the answer: outputs, or what the model's steps hold."""
    yield from mappings(answer, "outputs")
    for step in mappings(answer, "steps"):
        if text(step, "type") == "model_output":
            yield from mappings(step, "content")
        else:
            yield step


def _streamed(events: tuple[object, ...]) -> list[Json]:
    """Return the parts that the events add up to, by their place."""
    parts: dict[int, dict[str, object]] = {}
    pieces = Pieces()
    for event in events:
        kind, place = text(event, "event_type") or "", count(event, "index") or 0
        begun = mapping(event, "content") or mapping(event, "step")
        if kind.endswith(".start") and text(begun, "type") == "function_call":
            parts[place] = dict(begun)
        delta = mapping(event, "delta")
        if text(delta, "type") == "text":
            parts.setdefault(place, {"type": "text"})
            pieces.add(place, text(delta, "text"))
        elif text(delta, "type") in {"function_call", "arguments_delta"}:
            part = parts.setdefault(place, {"type": "function_call"})
            part["name"] = text(delta, "name") or part.get("name")
            given = at(delta, "arguments")
            if isinstance(given, str):
                pieces.add(place, given)
            elif given is not None:
                part["arguments"] = given
    return [_whole(parts[place], pieces.joined(place)) for place in sorted(parts)]


def _whole(part: Json, more: str) -> Json:
    key = "text" if text(part, "type") == "text" else "arguments"
    return {**part, key: (text(part, key) or "") + more} if more else part


def _messages(request: object) -> Iterator[ChatMessage]:
    told = at(request, "system_instruction")
    system = parts_text(told) or content_of(told)
    if system:
        yield ChatMessage("system", system)
    loose = []
    for item in listed(at(request, "input")):
        kind = text(item, "type")
        if kind == "function_result":
            result = at(item, "result")
            yield ChatMessage("tool", "" if result is None else as_json(result))
        elif kind == "function_call":
            call = ToolCall(text(item, "name") or "", arguments_of(at(item, "arguments")))
            yield ChatMessage("assistant", "", (call,))
        elif at(item, "content") is not None:
            role = "assistant" if kind == "model_output" else role_of(item, "role")
            yield ChatMessage(role, content_of(at(item, "content")))
        else:
            loose.append(item)
    if content_of(loose):
        yield ChatMessage("user", content_of(loose))


APIS = (
    Api(
        "gemini.interactions",
        CallStage.LLM,
        "POST …/interactions with an input",
        _is_interaction,
        _read_interaction,
    ),
)
