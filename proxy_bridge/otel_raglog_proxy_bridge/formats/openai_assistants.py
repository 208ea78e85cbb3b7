"""OpenAI's assistants: streamed runs, whose events carry what the model said."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.addresses import ends, posts
from otel_raglog_proxy_bridge.formats.chat_parts import chosen, content_of, role_of
from otel_raglog_proxy_bridge.formats.fields import Json, at, count, mapping, mappings, text
from otel_raglog_proxy_bridge.formats.openai import SAMPLING
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    Exchange,
    LlmReading,
    ToolCall,
)


def _is_streamed_run(exchange: Exchange) -> bool:
    if not posts(exchange) or "threads" not in exchange.segments:
        return False
    asked = at(exchange.request, "assistant_id") or at(exchange.request, "tool_outputs")
    streamed = (asked and at(exchange.request, "stream") is True) or any(
        (text(event, "object") or "").startswith("thread.") for event in exchange.events
    )
    return bool(streamed) and (ends(exchange, "runs") or ends(exchange, "submit_tool_outputs"))


def _read_run(exchange: Exchange) -> LlmReading:
    run: Json = {}
    for event in exchange.events:
        if text(event, "object") == "thread.run":
            run = mapping(event)
    asked = mapping(run, "required_action", "submit_tool_outputs")
    return LlmReading(
        model=text(exchange.request, "model"),
        response_model=text(run, "model"),
        messages=tuple(_messages(exchange.request, run)),
        answer=_said(exchange.events) or None,
        tool_calls=tuple(
            ToolCall(
                text(call, "function", "name") or "", text(call, "function", "arguments") or ""
            )
            for call in mappings(asked, "tool_calls")
        ),
        finish_reason=text(run, "status"),
        prompt_tokens=count(run, "usage", "prompt_tokens"),
        completion_tokens=count(run, "usage", "completion_tokens"),
        parameters=chosen(exchange.request, (*SAMPLING, "max_prompt_tokens")),
    )


def _messages(request: object, run: Json) -> Iterator[ChatMessage]:
    """Yield what the call says itself; the thread's earlier messages went in other calls."""
    for instructions in (
        text(request, "instructions") or text(run, "instructions"),
        text(request, "additional_instructions"),
    ):
        if instructions and instructions.strip():
            yield ChatMessage("system", instructions)
    for message in (
        *mappings(request, "thread", "messages"),
        *mappings(request, "additional_messages"),
    ):
        yield ChatMessage(role_of(message, "role"), content_of(at(message, "content")))
    for output in mappings(request, "tool_outputs"):
        yield ChatMessage("tool", text(output, "output") or "")


def _said(events: tuple[object, ...]) -> str:
    deltas: list[str] = []
    whole: list[str] = []
    for event in events:
        kind = text(event, "object")
        if kind == "thread.message.delta":
            deltas.append(_values(mapping(event, "delta")))
        elif kind == "thread.message":
            whole.append(_values(mapping(event)))
    return "".join(deltas) or "".join(whole)


def _values(message: Json) -> str:
    return "".join(text(part, "text", "value") or "" for part in mappings(message, "content"))


APIS = (
    Api(
        "openai.streamed_run",
        CallStage.LLM,
        "POST …/threads/…/runs that streams its events",
        _is_streamed_run,
        _read_run,
    ),
)
