"""Anthropic's messages and older completions, whole or streamed, Vertex AI's address included."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from otel_raglog_proxy_bridge.formats.addresses import ends, operation, posts
from otel_raglog_proxy_bridge.formats.anthropic_events import message_of
from otel_raglog_proxy_bridge.formats.chat_parts import (
    are_messages,
    arguments_of,
    chosen,
    content_of,
    role_of,
    said,
)
from otel_raglog_proxy_bridge.formats.fields import Json, at, count, items, mappings, text
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    Document,
    Exchange,
    LlmReading,
    ToolCall,
)

SAMPLING = ("temperature", "top_p", "top_k", "max_tokens", "stop_sequences", "max_tokens_to_sample")
_RAW = frozenset({"rawPredict", "streamRawPredict"})
_USED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


# --------------------------------------------------------------------------------- messages


def _is_messages(exchange: Exchange) -> bool:
    if not posts(exchange):
        return False
    if are_messages(at(exchange.request, "messages")):
        return ends(exchange, "messages") or _is_on_vertex(exchange)
    return (
        exchange.request is None
        and text(message_of(exchange), "type") == "message"
        and isinstance(at(message_of(exchange), "content"), list)
    )


def _is_on_vertex(exchange: Exchange) -> bool:
    name, verb = operation(exchange)
    return verb in _RAW and "count-tokens" not in name and "anthropic" in exchange.segments


def _read_messages(exchange: Exchange) -> LlmReading:
    model = text(exchange.request, "model")
    if model is None and _is_on_vertex(exchange):
        model = operation(exchange)[0]
    return messages_reading(exchange, model)


def messages_reading(exchange: Exchange, model: str | None) -> LlmReading:
    """Return what an exchange in the form of Anthropic's messages says, asked of ``model``."""
    request, answer = exchange.request, message_of(exchange)
    system = content_of(at(request, "system"))
    messages = tuple(one for item in mappings(request, "messages") for one in _messages(item))
    used = [found for key in _USED if (found := count(answer, "usage", key)) is not None]
    return LlmReading(
        model=model,
        messages=(ChatMessage("system", system), *messages) if system else messages,
        answer=said(at(answer, "content")),
        tool_calls=tuple(_tool_uses(answer)),
        finish_reason=text(answer, "stop_reason"),
        prompt_tokens=sum(used) if used else None,
        completion_tokens=count(answer, "usage", "output_tokens"),
        parameters=chosen(request, SAMPLING),
        documents=tuple(
            found
            for item in mappings(request, "messages")
            for found in _documents(items(item, "content"))
        ),
        retrieved=tuple(_web_results(answer)),
    )


def _messages(message: Json) -> Iterator[ChatMessage]:
    """Yield the message; results of tools that a user's message holds go before it, alone."""
    content = at(message, "content")
    results = [part for part in mappings(content) if _is_result(part)]
    for part in results:
        yield ChatMessage("tool", content_of(at(part, "content")))
    rest = [part for part in items(content) if not _is_result(part)] if results else content
    if not results or rest:
        yield ChatMessage(
            role_of(message, "role"), content_of(rest), tuple(_tool_uses({"content": rest}))
        )


def _is_result(part: object) -> bool:
    return text(part, "type") == "tool_result"


def _tool_uses(message: object) -> Iterator[ToolCall]:
    for part in mappings(message, "content"):
        if text(part, "type") == "tool_use":
            yield ToolCall(text(part, "name") or "", arguments_of(at(part, "input")))


def _documents(parts: object) -> Iterator[Document]:
    """Yield the texts that a message holds as documents or search results, also within results."""
    for part in mappings(parts):
        kind = text(part, "type")
        if kind == "search_result":
            yield Document(
                id=text(part, "source"),
                text=content_of(at(part, "content")) or None,
                metadata=chosen(part, ("title",)),
            )
        elif kind == "document":
            source = at(part, "source")
            plain = text(source, "data") if text(source, "type") == "text" else None
            yield Document(
                text=plain or content_of(at(source, "content")) or None,
                metadata=chosen(part, ("title", "context")),
            )
        elif kind == "tool_result":
            yield from _documents(at(part, "content"))


def _web_results(message: Json) -> Iterator[Document]:
    for part in mappings(message, "content"):
        if text(part, "type") == "web_search_tool_result":
            for found in mappings(part, "content"):
                yield Document(id=text(found, "url"), metadata=chosen(found, ("title",)))


# ------------------------------------------------------------------------------- completions


def _is_complete(exchange: Exchange) -> bool:
    return posts(exchange, "complete") and at(exchange.request, "max_tokens_to_sample") is not None


def _read_complete(exchange: Exchange) -> LlmReading:
    prompt = text(exchange.request, "prompt")
    answers = exchange.events or (exchange.response,)
    reasons = [text(answer, "stop_reason") for answer in answers]
    return LlmReading(
        model=text(exchange.request, "model"),
        messages=(ChatMessage("user", prompt),) if prompt else (),
        answer="".join(text(answer, "completion") or "" for answer in answers) or None,
        finish_reason=next((reason for reason in reversed(reasons) if reason), None),
        parameters=chosen(exchange.request, SAMPLING),
    )


# ------------------------------------------------------------------------------- housekeeping


def _is_housekeeping(exchange: Exchange) -> bool:
    name, verb = operation(exchange)
    return (
        ends(exchange, "messages", "count_tokens")
        or ("messages", "batches") in pairwise(exchange.segments)
        or (verb in _RAW and "count-tokens" in name)
    )


APIS = (
    Api(
        "anthropic.housekeeping",
        CallStage.IRRELEVANT,
        "…/messages/count_tokens and …/messages/batches",
        _is_housekeeping,
    ),
    Api(
        "anthropic.messages",
        CallStage.LLM,
        "POST …/messages, or a Claude model on Vertex AI, with messages",
        _is_messages,
        _read_messages,
    ),
    Api(
        "anthropic.complete",
        CallStage.LLM,
        "POST …/complete with max_tokens_to_sample",
        _is_complete,
        _read_complete,
    ),
)
