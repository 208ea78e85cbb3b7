"""SageMaker's endpoints: invocations of whatever model stands behind them."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import after, posts
from otel_raglog_proxy_bridge.formats.chat_parts import chosen, openai_messages
from otel_raglog_proxy_bridge.formats.fields import at, items, mapping, text, texts
from otel_raglog_proxy_bridge.formats.huggingface import (
    SAMPLING,
    embedded,
    embedding_reading,
    generation_reading,
    is_embedding,
    is_generation,
)
from otel_raglog_proxy_bridge.formats.openai import chat_reading
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    EmbedderReading,
    Exchange,
    LlmReading,
)

_OPERATIONS = ("invocations", "invocations-response-stream")


def _endpoint(exchange: Exchange) -> str | None:
    """Return the endpoint's name when an endpoint is invoked: it stands for the model."""
    invoked = posts(exchange) and exchange.segments[-1:] in tuple((one,) for one in _OPERATIONS)
    return after(exchange, "endpoints") if invoked else None


def _is_generation(exchange: Exchange) -> bool:
    if _endpoint(exchange) is None:
        return False
    request = exchange.request
    return (
        is_generation(exchange)
        or isinstance(at(request, "messages"), list)
        or isinstance(at(request, "inputs", 0, 0), dict)
        or (isinstance(at(request, "text_inputs"), str) and not _vectors(exchange))
    )


def _read_generation(exchange: Exchange) -> LlmReading:
    request, model = exchange.request, _endpoint(exchange)
    if isinstance(at(request, "messages"), list):
        return chat_reading(exchange, text(request, "model") or model)
    if isinstance(at(request, "inputs", 0, 0), dict):
        # Llama 2 of JumpStart takes dialogues, a list of messages each.
        return LlmReading(
            model=model,
            messages=openai_messages(at(request, "inputs", 0)),
            answer=text(exchange.response, 0, "generation", "content") or None,
            parameters=chosen(mapping(request, "parameters"), SAMPLING),
        )
    prompt = text(request, "text_inputs")
    if prompt is None:
        return generation_reading(exchange, model)
    return LlmReading(
        model=model,
        messages=(ChatMessage("user", prompt),),
        answer=text(exchange.response, "generated_texts", 0)
        or text(exchange.response, "generated_text")
        or None,
        parameters=chosen(request, SAMPLING),
    )


def _is_embedding(exchange: Exchange) -> bool:
    if _endpoint(exchange) is None:
        return False
    texts_sent = isinstance(at(exchange.request, "text_inputs"), str | list)
    return is_embedding(exchange) or (texts_sent and bool(_vectors(exchange)))


def _read_embedding(exchange: Exchange) -> EmbedderReading:
    inputs = texts(exchange.request, "text_inputs")
    if not inputs:
        return embedding_reading(exchange, _endpoint(exchange))
    return EmbedderReading(model=_endpoint(exchange), inputs=inputs, vectors=_vectors(exchange))


def _vectors(exchange: Exchange) -> tuple[tuple[float, ...], ...]:
    return embedded(items(exchange.response, "embedding"))


APIS = (
    Api(
        "sagemaker.embedding",
        CallStage.EMBEDDER,
        "POST …/endpoints/{name}/invocations with texts answered by vectors",
        _is_embedding,
        _read_embedding,
    ),
    Api(
        "sagemaker.generation",
        CallStage.LLM,
        "POST …/endpoints/{name}/invocations with a prompt or messages",
        _is_generation,
        _read_generation,
    ),
)
