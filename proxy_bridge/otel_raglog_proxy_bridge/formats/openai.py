"""OpenAI's chat and embeddings, as the many servers speak them, Azure's included."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.addresses import after, ends, posts
from otel_raglog_proxy_bridge.formats.chat_parts import (
    are_messages,
    chosen,
    content_of,
    openai_messages,
    openai_tool_calls,
    said,
)
from otel_raglog_proxy_bridge.formats.fields import (
    Json,
    at,
    count,
    items,
    mappings,
    name,
    number,
    text,
    vector,
)
from otel_raglog_proxy_bridge.formats.openai_chunks import completion_of, first_choices
from otel_raglog_proxy_bridge.formats.purposes import purpose_of
from otel_raglog_proxy_bridge.formats.vectors import complete
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    Document,
    EmbedderReading,
    Exchange,
    LlmReading,
    Vector,
)

SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "stop",
    "n",
    "seed",
    "presence_penalty",
    "frequency_penalty",
)
_CHAT_TAILS = (("chat", "completions"), ("agents", "completions"))
_NAMED_AFTER = ("deployments", "engines", "serving-endpoints")


def model_of(exchange: Exchange) -> str | None:
    """Return the model asked for; Azure, Databricks and old engines name it in the path."""
    return text(exchange.request, "model") or after(exchange, *_NAMED_AFTER)


# ------------------------------------------------------------------------------------- chat


def is_chat_answer(exchange: Exchange) -> bool:
    """Return whether the answer is a chat completion, whole or in chunks."""
    answers = exchange.events or (exchange.response,)
    return any(
        isinstance(at(choice, key), dict)
        for answer in answers
        for choice in first_choices(answer)
        for key in ("message", "delta")
    )


def _is_chat(exchange: Exchange) -> bool:
    if not posts(exchange):
        return False
    asked = isinstance(at(exchange.request, "messages"), list)
    if asked and any(ends(exchange, *tail) for tail in _CHAT_TAILS):
        return True
    if ends(exchange, "v1", "chat") and are_messages(at(exchange.request, "messages")):
        return True
    unread = exchange.request is None
    if unread and ends(exchange, "chat", "completions"):
        return True
    return (asked or unread) and is_chat_answer(exchange)


def _read_chat(exchange: Exchange) -> LlmReading:
    return chat_reading(exchange, model_of(exchange))


def chat_reading(exchange: Exchange, model: str | None) -> LlmReading:
    """Return what a chat completion says, asked of ``model``; other families share this form."""
    answer = completion_of(exchange)
    message = at(answer, "choices", 0, "message")
    return LlmReading(
        model=model,
        messages=openai_messages(items(exchange.request, "messages")),
        answer=said(at(message, "content")) or text(message, "refusal") or None,
        tool_calls=openai_tool_calls(message),
        finish_reason=text(answer, "choices", 0, "finish_reason") or None,
        prompt_tokens=count(answer, "usage", "prompt_tokens"),
        completion_tokens=count(answer, "usage", "completion_tokens"),
        parameters=chosen(exchange.request, SAMPLING),
        retrieved=tuple(_retrieved(exchange, message)),
    )


def _retrieved(exchange: Exchange, message: object) -> Iterator[Document]:
    """Yield what the server found itself: Azure's citations, Perplexity's search results."""
    for cited in mappings(message, "context", "citations"):
        yield Document(
            id=name(cited, "chunk_id") or name(cited, "filepath") or name(cited, "url"),
            text=text(cited, "content"),
            score=number(cited, "rerank_score"),
            metadata=chosen(cited, ("title", "url", "filepath")),
        )
    answers = exchange.events[-1:] or (exchange.response,)
    for found in mappings(answers[0], "search_results"):
        yield Document(
            id=name(found, "url"),
            text=text(found, "snippet"),
            metadata=chosen(found, ("title", "date")),
        )


# ------------------------------------------------------------------------------- embeddings


def _is_embeddings(exchange: Exchange) -> bool:
    if not posts(exchange):
        return False
    asked = at(exchange.request, "input") is not None
    answered = exchange.ok and exchange.response is not None
    known = not answered or model_of(exchange) or isinstance(at(exchange.response, "data"), list)
    if asked and known and ends(exchange, "embeddings"):
        return True
    return (asked or exchange.request is None) and any(
        at(item, "embedding") is not None for item in mappings(exchange.response, "data")
    )


def _read_embeddings(exchange: Exchange) -> EmbedderReading:
    request = exchange.request
    tokens = count(exchange.response, "usage", "prompt_tokens")
    if tokens is None:
        tokens = count(exchange.response, "usage", "total_tokens")
    return EmbedderReading(
        model=model_of(exchange),
        inputs=input_texts(at(request, "input")),
        vectors=vectors_of(exchange.response),
        tokens=tokens,
        purpose=purpose_of(
            text(request, "input_type"), text(request, "task"), text(request, "prompt_name")
        ),
    )


def input_texts(data: object) -> tuple[str, ...]:
    """Return the texts of an ``input``: a text, texts, or objects that hold one.

    Token ids are no text; so is an image, which leaves an empty one so that places still match.
    """
    if isinstance(data, str):
        return (data,)
    given = items(data)
    found = tuple(
        item if isinstance(item, str) else _text_in(item)
        for item in given
        if isinstance(item, str | dict)
    )
    return found if len(found) == len(given) else ()


def _text_in(item: Json) -> str:
    whole = text(item, "text")
    return content_of(at(item, "content")) if whole is None else whole


def vectors_of(response: object) -> tuple[Vector, ...]:
    """Return the embeddings of ``data`` in the order of their inputs; none when one is missing."""
    data = list(mappings(response, "data"))
    if all(count(item, "index") is not None for item in data):
        data.sort(key=lambda item: count(item, "index") or 0)
    return complete(vector(item, "embedding") for item in data)


APIS = (
    Api(
        "openai.chat",
        CallStage.LLM,
        "POST …/chat/completions with messages, or messages answered by choices",
        _is_chat,
        _read_chat,
    ),
    Api(
        "openai.embeddings",
        CallStage.EMBEDDER,
        "POST …/embeddings with an input, or an input answered by data with embeddings",
        _is_embeddings,
        _read_embeddings,
    ),
)
