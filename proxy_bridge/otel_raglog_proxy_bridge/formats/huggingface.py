"""Hugging Face's inference: inputs in, a generated text, vectors or similarities out."""

from __future__ import annotations

from collections.abc import Iterator

from otel_raglog_proxy_bridge.formats.addresses import ends, posts
from otel_raglog_proxy_bridge.formats.chat_parts import chosen
from otel_raglog_proxy_bridge.formats.fields import (
    Json,
    at,
    count,
    items,
    mapping,
    number,
    text,
    texts,
    vector,
)
from otel_raglog_proxy_bridge.formats.purposes import purpose_of
from otel_raglog_proxy_bridge.formats.vectors import complete
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    Document,
    EmbedderReading,
    Exchange,
    LlmReading,
    Ranked,
    RerankerReading,
    Vector,
)

SAMPLING = (
    "temperature",
    "top_p",
    "top_k",
    "max_new_tokens",
    "max_length",
    "stop",
    "seed",
    "do_sample",
    "repetition_penalty",
)
_GENERATED = ("generated_text", "summary_text")


def model_in_path(exchange: Exchange) -> str | None:
    """Return what the path names after ``models``, up to a ``pipeline`` or the API's version."""
    segments = exchange.segments
    if "models" in segments:
        named = segments[segments.index("models") + 1 :]
    elif "pipeline" in segments:
        named = segments[segments.index("pipeline") + 2 :]
    else:
        return None
    for stop in ("pipeline", "v1", "generate", "generate_stream"):
        if stop in named:
            named = named[: named.index(stop)]
    return "/".join(named) or None


# ------------------------------------------------------------------------------- generation


def is_generation(exchange: Exchange) -> bool:
    """Return whether inputs are sent that ask for a text, or are answered by one."""
    if not posts(exchange) or not isinstance(at(exchange.request, "inputs"), str):
        return False
    asked = any(
        at(exchange.request, "parameters", key) is not None
        for key in ("max_new_tokens", "return_full_text", "do_sample", "temperature")
    )
    addressed = ends(exchange, "generate") or ends(exchange, "generate_stream")
    return asked or addressed or any(_generated(one) is not None for one in _answers(exchange))


def _read_generation(exchange: Exchange) -> LlmReading:
    return generation_reading(exchange, text(exchange.request, "model") or model_in_path(exchange))


def generation_reading(exchange: Exchange, model: str | None) -> LlmReading:
    """Return what a text generation says, asked of ``model``; an echoed prompt is left out."""
    prompt = text(exchange.request, "inputs")
    answers = list(_answers(exchange))
    whole = next((found for one in reversed(answers) if (found := _generated(one))), None)
    if whole is None:
        tokens = [mapping(one, "token") for one in answers]
        whole = "".join(
            text(token, "text") or "" for token in tokens if at(token, "special") is not True
        )
    if prompt and whole.startswith(prompt):
        whole = whole[len(prompt) :]
    details: Json = {}
    for one in answers:
        details = mapping(one, "details") or details
    return LlmReading(
        model=model,
        messages=(ChatMessage("user", prompt),) if prompt else (),
        answer=whole or None,
        finish_reason=text(details, "finish_reason"),
        prompt_tokens=count(details, "input_length"),
        completion_tokens=count(details, "generated_tokens"),
        parameters=chosen(at(exchange.request, "parameters"), SAMPLING),
    )


def _answers(exchange: Exchange) -> Iterator[Json]:
    """Yield the events of a stream, or the answer, of several the first."""
    if exchange.events:
        yield from (mapping(event) for event in exchange.events)
    else:
        first = at(exchange.response, 0)
        yield mapping(at(first, 0) if isinstance(first, list) else first) or mapping(
            exchange.response
        )


def _generated(answer: Json) -> str | None:
    return next((found for key in _GENERATED if (found := text(answer, key)) is not None), None)


# ------------------------------------------------------------------------------- embeddings


def is_embedding(exchange: Exchange) -> bool:
    """Return whether inputs are sent to an address of embeddings, or are answered by vectors."""
    if not posts(exchange) or not isinstance(at(exchange.request, "inputs"), str | list):
        return False
    # Video and social sites have an embed, too, and answer with an object.
    other = exchange.ok and isinstance(exchange.response, dict)
    addressed = (ends(exchange, "embed") and not other) or "feature-extraction" in exchange.segments
    return addressed or bool(embedded(exchange.response))


def _read_embedding(exchange: Exchange) -> EmbedderReading:
    return embedding_reading(exchange, text(exchange.request, "model") or model_in_path(exchange))


def embedding_reading(exchange: Exchange, model: str | None) -> EmbedderReading:
    """Return the inputs and the vectors that answer them, made by ``model``."""
    return EmbedderReading(
        model=model,
        inputs=texts(exchange.request, "inputs"),
        vectors=embedded(exchange.response),
        purpose=purpose_of(text(exchange.request, "prompt_name")),
    )


def embedded(response: object) -> tuple[Vector, ...]:
    """Return the vectors in an answer that is one or a list of them.

    Vectors for each token, which some models answer with, are no embedding of the text.
    """
    one = vector(response) if isinstance(response, list) else None
    if one is not None:
        return (one,)
    return complete(vector(item) if isinstance(item, list) else None for item in items(response))


# ------------------------------------------------------------------------------- similarity


def _is_similarity(exchange: Exchange) -> bool:
    inputs = at(exchange.request, "inputs")
    return (
        posts(exchange)
        and text(inputs, "source_sentence") is not None
        and isinstance(at(inputs, "sentences"), list)
    )


def _read_similarity(exchange: Exchange) -> RerankerReading:
    inputs = at(exchange.request, "inputs")
    scores = items(exchange.response) or items(exchange.response, "similarities")
    results = [
        Ranked(index=place, score=score)
        for place in range(len(scores))
        if (score := number(scores, place)) is not None
    ]
    results.sort(key=lambda result: -(result.score or 0.0))
    return RerankerReading(
        model=text(exchange.request, "model") or model_in_path(exchange),
        query=text(inputs, "source_sentence"),
        documents=tuple(Document(text=one) for one in texts(inputs, "sentences")),
        results=tuple(results),
    )


APIS = (
    Api(
        "huggingface.sentence_similarity",
        CallStage.RERANKER,
        "POST with inputs of a source_sentence and sentences",
        _is_similarity,
        _read_similarity,
    ),
    Api(
        "huggingface.feature_extraction",
        CallStage.EMBEDDER,
        "POST of inputs to …/embed or …/feature-extraction, or answered by vectors",
        is_embedding,
        _read_embedding,
    ),
    Api(
        "huggingface.text_generation",
        CallStage.LLM,
        "POST of inputs with parameters of a generation, to …/generate, or answered by a text",
        is_generation,
        _read_generation,
    ),
)
