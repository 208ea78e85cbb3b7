"""Embedding servers with shapes of their own: TEI's ``/embed``, Pinecone's inference, llama.cpp's."""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.addresses import posts
from otel_raglog_proxy_bridge.formats.embed_parts import numbered, paired, text_of
from otel_raglog_proxy_bridge.formats.fields import at, count, items, mappings, text, texts, vector
from otel_raglog_proxy_bridge.formats.purposes import purpose_of
from otel_raglog_proxy_bridge.model import Api, CallStage, EmbedderReading, Exchange

_TEI = ("embed", "embed_all", "embed_sparse")
_COUNTERS = ("tokenize", "detokenize")


def _is_tei(exchange: Exchange) -> bool:
    """Tell TEI by inputs that are texts, and an answer, if one came, that is a list."""
    inputs = at(exchange.request, "inputs")
    if exchange.ok and isinstance(exchange.response, dict):
        return False
    return any(posts(exchange, name) for name in _TEI) and (
        isinstance(inputs, str)
        or (isinstance(inputs, list) and not any(isinstance(item, dict) for item in inputs))
    )


def _read_tei(exchange: Exchange) -> EmbedderReading:
    """Read dense vectors alone: one for each token, or sparse ones, are none for a text."""
    inputs = texts(exchange.request, "inputs")
    return EmbedderReading(
        model=text(exchange.request, "model"),
        inputs=inputs,
        vectors=paired(inputs, (vector(item) for item in items(exchange.response))),
        purpose=purpose_of(text(exchange.request, "prompt_name")),
    )


def _is_pinecone(exchange: Exchange) -> bool:
    return posts(exchange, "embed") and any(
        isinstance(at(item, "text"), str) for item in mappings(exchange.request, "inputs")
    )


def _read_pinecone(exchange: Exchange) -> EmbedderReading:
    inputs = tuple(text_of(item) for item in items(exchange.request, "inputs"))
    found = (vector(item, "values") for item in mappings(exchange.response, "data"))
    return EmbedderReading(
        model=text(exchange.request, "model"),
        inputs=inputs,
        vectors=paired(inputs, found),
        tokens=count(exchange.response, "usage", "total_tokens"),
        purpose=purpose_of(text(exchange.request, "parameters", "input_type")),
    )


def _is_llama_cpp(exchange: Exchange) -> bool:
    return posts(exchange, "embedding") and bool(texts(exchange.request, "content"))


def _read_llama_cpp(exchange: Exchange) -> EmbedderReading:
    """Read pooled vectors, which newer servers put into a list; one for each token is none."""
    inputs = texts(exchange.request, "content")
    answered = numbered(exchange.response) or (exchange.response,)
    found = (
        vector(one, "embedding")
        or (vector(one, "embedding", 0) if len(items(one, "embedding")) == 1 else None)
        for one in answered
    )
    return EmbedderReading(inputs=inputs, vectors=paired(inputs, found))


def _is_counting(exchange: Exchange) -> bool:
    return any(posts(exchange, name) for name in _COUNTERS)


APIS: tuple[Api, ...] = (
    Api(
        "embed_servers.tei",
        CallStage.EMBEDDER,
        "POST …/embed, …/embed_all or …/embed_sparse with inputs that are texts",
        _is_tei,
        _read_tei,
    ),
    Api(
        "embed_servers.pinecone",
        CallStage.EMBEDDER,
        "POST …/embed with inputs that have a text",
        _is_pinecone,
        _read_pinecone,
    ),
    Api(
        "embed_servers.llama_cpp",
        CallStage.EMBEDDER,
        "POST …/embedding with a content",
        _is_llama_cpp,
        _read_llama_cpp,
    ),
    Api(
        "embed_servers.tokenize",
        CallStage.IRRELEVANT,
        "POST …/tokenize or …/detokenize",
        _is_counting,
    ),
)
