"""Amazon Bedrock's Converse, whole or streamed, to what the model was told and said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from otel_raglog_proxy_bridge.formats.chat_parts import arguments_of, chosen, role_of
from otel_raglog_proxy_bridge.formats.fields import (
    Json,
    as_json,
    at,
    count,
    items,
    mapping,
    mappings,
    text,
)
from otel_raglog_proxy_bridge.formats.pieces import Pieces
from otel_raglog_proxy_bridge.formats.streams import events_in
from otel_raglog_proxy_bridge.model import (
    ChatMessage,
    Document,
    Exchange,
    LlmReading,
    ToolCall,
)

_SAMPLING = (
    "temperature",
    "topP",
    "topK",
    "top_p",
    "top_k",
    "maxTokens",
    "max_new_tokens",
    "stopSequences",
)


def converse_reading(exchange: Exchange, model: str | None) -> LlmReading:
    """Return what an exchange in the form of Converse says, asked of ``model``."""
    request, answer = exchange.request, _answer(exchange)
    content = items(answer, "output", "message", "content")
    system = _texts(_blocks(at(request, "system")))
    messages = tuple(one for item in mappings(request, "messages") for one in _messages(item))
    return LlmReading(
        model=model,
        messages=(ChatMessage("system", "\n".join(system)), *messages) if system else messages,
        answer="".join(_texts(content)) or None,
        tool_calls=_tool_uses(content),
        finish_reason=text(answer, "stopReason"),
        prompt_tokens=count(answer, "usage", "inputTokens"),
        completion_tokens=count(answer, "usage", "outputTokens"),
        parameters=chosen(mapping(request, "inferenceConfig"), _SAMPLING),
        documents=tuple(
            found
            for item in mappings(request, "messages")
            for found in _documents(items(item, "content"))
        ),
    )


def _messages(message: Json) -> Iterator[ChatMessage]:
    """Yield the message; results of tools that a user's message holds go before it, alone."""
    content = _blocks(at(message, "content"))
    results = [block for block in content if mapping(block, "toolResult")]
    for block in results:
        inner = items(block, "toolResult", "content")
        found = [
            *_texts(inner),
            *(as_json(part["json"]) for part in mappings(inner) if "json" in part),
        ]
        yield ChatMessage("tool", "\n".join(found))
    rest = [block for block in content if not mapping(block, "toolResult")]
    if rest or not results:
        yield ChatMessage(role_of(message, "role"), "\n".join(_texts(rest)), _tool_uses(rest))


def _blocks(content: object) -> Sequence[object]:
    return [{"text": content}] if isinstance(content, str) else items(content)


def _texts(blocks: Sequence[object]) -> list[str]:
    found = (text(block, "text") or text(block, "guardContent", "text", "text") for block in blocks)
    return [part for part in found if part]


def _tool_uses(blocks: Sequence[object]) -> tuple[ToolCall, ...]:
    return tuple(
        ToolCall(text(used, "name") or "", arguments_of(at(used, "input")))
        for block in blocks
        if (used := mapping(block, "toolUse"))
    )


def _documents(blocks: Sequence[object]) -> Iterator[Document]:
    """Yield the texts that a message holds as documents or search results, also within results."""
    for block in blocks:
        document, result = mapping(block, "document"), mapping(block, "searchResult")
        if document:
            source = mapping(document, "source")
            parts = [text(source, "text") or "", *_texts(items(source, "content"))]
            yield Document(
                text="\n".join(part for part in parts if part) or None,
                metadata=chosen(document, ("name",)),
            )
        if result:
            yield Document(
                id=text(result, "source"),
                text="\n".join(_texts(items(result, "content"))) or None,
                metadata=chosen(result, ("title",)),
            )
        yield from _documents(items(block, "toolResult", "content"))


def _answer(exchange: Exchange) -> Json:
    """Return the answer as one, whether it came whole or as events."""
    events = events_in(exchange)
    if not exchange.events and "output" in mapping(exchange.response):
        return mapping(exchange.response)
    names: dict[int, str | None] = {}
    pieces = Pieces()
    stop, usage = None, None
    for event in events:
        started, delta = mapping(event, "contentBlockStart"), mapping(event, "contentBlockDelta")
        if started or delta:
            place = count(started or delta, "contentBlockIndex") or 0
            names[place] = text(started, "start", "toolUse", "name") or names.get(place)
            pieces.add((place, "text"), text(delta, "delta", "text"))
            pieces.add((place, "input"), text(delta, "delta", "toolUse", "input"))
        stop = text(event, "messageStop", "stopReason") or stop
        usage = mapping(event, "metadata", "usage") or usage
    content = [_block(names[place], place, pieces) for place in sorted(names)]
    return {"output": {"message": {"content": content}}, "stopReason": stop, "usage": usage}


def _block(name: str | None, place: int, pieces: Pieces) -> Json:
    if name is None and (place, "input") not in pieces:
        return {"text": pieces.joined((place, "text"))}
    return {"toolUse": {"name": name, "input": pieces.joined((place, "input"))}}
