"""Google's Gemini, by its own API and by Vertex AI: the model and the operation in the path."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.addresses import operation, posts
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
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    Document,
    Exchange,
    LlmReading,
    ToolCall,
)

_GENERATING = frozenset({"generateContent", "streamGenerateContent"})
SAMPLING = (
    "temperature",
    "topP",
    "top_p",
    "topK",
    "top_k",
    "maxOutputTokens",
    "max_output_tokens",
    "stopSequences",
    "stop_sequences",
    "candidateCount",
    "candidate_count",
    "seed",
    "presencePenalty",
    "frequencyPenalty",
)


def either(data: object, camel: str) -> object:
    """Return what is at ``camel``, in camel case or in snake case: Google reads both."""
    found = at(data, camel)
    if found is not None:
        return found
    return at(data, "".join(f"_{char.lower()}" if char.isupper() else char for char in camel))


def listed(data: object) -> list[object]:
    """Return a list as it is, and one object as a list of it."""
    return [data] if isinstance(data, dict | str) else list(items(data))


def parts_text(content: object, between: str = "\n") -> str:
    """Return the text of a content's parts; thoughts and calls of functions are none."""
    if isinstance(content, str):
        return content
    parts = listed(at(content, "parts"))
    found = (text(part, "text") for part in parts if at(part, "thought") is not True)
    return between.join(one for one in found if one)


def _is_generate(exchange: Exchange) -> bool:
    return posts(exchange) and operation(exchange)[1] in _GENERATING


def _read_generate(exchange: Exchange) -> LlmReading:
    request = exchange.request
    chunks = exchange.events or listed(exchange.response)
    first = [mapping(chunk, "candidates", 0) for chunk in chunks]
    usage: Json = {}
    for chunk in chunks:
        usage = mapping(chunk, "usageMetadata") or usage
    reasons = [found for found in (text(one, "finishReason") for one in first) if found]
    blocked = next((text(chunk, "promptFeedback", "blockReason") for chunk in chunks), None)
    return LlmReading(
        model=operation(exchange)[0] or None,
        messages=tuple(_messages(request)),
        answer="".join(parts_text(at(one, "content"), "") for one in first) or None,
        tool_calls=tuple(call for one in first for call in _calls(at(one, "content"))),
        finish_reason=reasons[-1] if reasons else blocked,
        prompt_tokens=count(usage, "promptTokenCount"),
        completion_tokens=count(usage, "candidatesTokenCount"),
        parameters=chosen(either(request, "generationConfig"), SAMPLING),
        retrieved=tuple(found for one in first for found in _grounded(one)),
    )


def _messages(request: object) -> Iterator[ChatMessage]:
    system = parts_text(either(request, "systemInstruction"))
    if system:
        yield ChatMessage("system", system)
    for content in listed(at(request, "contents")):
        if isinstance(content, str):
            yield ChatMessage("user", content)
            continue
        parts = listed(at(content, "parts"))
        results = [found for part in parts if (found := either(part, "functionResponse"))]
        for result in results:
            yield ChatMessage("tool", as_json(at(result, "response")))
        if len(results) < len(parts) or not parts:
            yield ChatMessage(role_of(content, "role"), parts_text(content), tuple(_calls(content)))


def _calls(content: object) -> Iterator[ToolCall]:
    for part in listed(at(content, "parts")):
        called = either(part, "functionCall")
        if isinstance(called, dict):
            yield ToolCall(text(called, "name") or "", arguments_of(at(called, "args")))


def _grounded(candidate: Json) -> Iterator[Document]:
    """Yield what Google searched the answer's grounds in."""
    for chunk in mappings(candidate, "groundingMetadata", "groundingChunks"):
        found = mapping(chunk, "retrievedContext") or mapping(chunk, "web")
        yield Document(
            id=text(found, "uri"), text=text(found, "text"), metadata=chosen(found, ("title",))
        )


# ------------------------------------------------------------------------------- housekeeping

_COUNTING = frozenset(
    {
        "countTokens",
        "computeTokens",
        "countMessageTokens",
        "countTextTokens",
        "batchGenerateContent",
        "asyncBatchEmbedContent",
        "predictLongRunning",
        "fetchPredictOperation",
    }
)


def _is_housekeeping(exchange: Exchange) -> bool:
    name, verb = operation(exchange)
    return (
        verb in _COUNTING
        or (verb == "predict" and name.startswith("image"))
        or "cachedContents" in exchange.segments
        or "computeMetadata" in exchange.segments
        or exchange.host in {"oauth2.googleapis.com", "metadata.google.internal"}
    )


APIS = (
    Api(
        "gemini.housekeeping",
        CallStage.IRRELEVANT,
        "…:countTokens, batches, pictures, cached contents, and Google's access tokens",
        _is_housekeeping,
    ),
    Api(
        "gemini.generate_content",
        CallStage.LLM,
        "POST …:generateContent or …:streamGenerateContent",
        _is_generate,
        _read_generate,
    ),
)
