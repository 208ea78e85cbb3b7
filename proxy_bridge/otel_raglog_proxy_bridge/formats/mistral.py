"""Mistral's conversations; its chat, completions and embeddings have OpenAI's form."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.addresses import posts
from otel_raglog_proxy_bridge.formats.chat_parts import chosen, content_of, role_of, said
from otel_raglog_proxy_bridge.formats.fields import Json, at, count, items, mapping, mappings, text
from otel_raglog_proxy_bridge.formats.openai import SAMPLING
from otel_raglog_proxy_bridge.formats.pieces import Pieces
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    Exchange,
    LlmReading,
    ToolCall,
)


def _is_conversation(exchange: Exchange) -> bool:
    return (
        posts(exchange)
        and "conversations" in exchange.segments[-3:]
        and isinstance(at(exchange.request, "inputs"), str | list)
        and _may_answer(exchange)
    )


def _may_answer(exchange: Exchange) -> bool:
    """Return whether the answer, if one came, is a conversation's: helpdesks have some, too."""
    if not exchange.ok or exchange.response is None:
        return True
    return any(key in mapping(exchange.response) for key in ("outputs", "conversation_id"))


def _read_conversation(exchange: Exchange) -> LlmReading:
    request = exchange.request
    outputs = list(mappings(exchange.response, "outputs")) or list(_streamed(exchange.events))
    usage: Json = mapping(exchange.response, "usage")
    for event in exchange.events:
        usage = mapping(event, "usage") or usage
    return LlmReading(
        model=text(request, "model") or text(request, "agent_id"),
        messages=tuple(_messages(request)),
        answer="".join(said(at(one, "content")) or "" for one in outputs) or None,
        tool_calls=tuple(
            ToolCall(text(one, "name") or "", text(one, "arguments") or "")
            for one in outputs
            if text(one, "type") == "function.call"
        ),
        prompt_tokens=count(usage, "prompt_tokens"),
        completion_tokens=count(usage, "completion_tokens"),
        parameters=chosen(at(request, "completion_args"), SAMPLING),
    )


def _messages(request: object) -> Iterator[ChatMessage]:
    instructions = text(request, "instructions")
    if instructions:
        yield ChatMessage("system", instructions)
    asked = at(request, "inputs")
    if isinstance(asked, str):
        yield ChatMessage("user", asked)
    for item in mappings(items(asked)):
        if text(item, "type") == "function.result":
            yield ChatMessage("tool", text(item, "result") or "")
        elif at(item, "content") is not None:
            yield ChatMessage(role_of(item, "role"), content_of(at(item, "content")))


def _streamed(events: tuple[object, ...]) -> Iterator[Json]:
    """Yield the outputs that the events add up to: messages in pieces, calls by their id."""
    names: dict[str, str | None] = {}
    pieces = Pieces()
    for event in events:
        kind = text(event, "type")
        if kind == "message.output.delta":
            content = at(event, "content")
            yield {"content": content if isinstance(content, str) else [content]}
        elif kind == "function.call.delta":
            called = text(event, "tool_call_id") or ""
            names[called] = text(event, "name") or names.get(called)
            pieces.add(called, text(event, "arguments"))
    for called, name in names.items():
        yield {"type": "function.call", "name": name, "arguments": pieces.joined(called)}


APIS = (
    Api(
        "mistral.conversations",
        CallStage.LLM,
        "POST …/conversations with inputs",
        _is_conversation,
        _read_conversation,
    ),
)
