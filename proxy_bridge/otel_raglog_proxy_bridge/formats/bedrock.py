"""Amazon Bedrock: its models invoked or conversed with, its reranker and knowledge bases."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from otel_raglog_proxy_bridge.formats.addresses import after, ends, posts
from otel_raglog_proxy_bridge.formats.bedrock_converse import converse_reading
from otel_raglog_proxy_bridge.formats.bedrock_models import read_embedding, read_text, stage_of
from otel_raglog_proxy_bridge.formats.chat_parts import chosen
from otel_raglog_proxy_bridge.formats.fields import (
    as_json,
    at,
    count,
    items,
    mapping,
    mappings,
    number,
    text,
)
from otel_raglog_proxy_bridge.formats.rank_parts import document_text, read_ranking, results_of
from otel_raglog_proxy_bridge.formats.streams import events_in
from otel_raglog_proxy_bridge.model import (
    Api,
    CallStage,
    ChatMessage,
    Document,
    EmbedderReading,
    Exchange,
    LlmReading,
    RerankerReading,
    RetrieverReading,
    Search,
)

_INVOKE = ("invoke", "invoke-with-response-stream")
_CONVERSE = ("converse", "converse-stream")
_CHUNK_ID = "x-amz-bedrock-kb-chunk-id"
_CONTROL = frozenset(
    {
        "agents",
        "async-invoke",
        "flows",
        "foundation-models",
        "guardrail",
        "guardrails",
        "inference-profiles",
        "invocations",
        "knowledgebases",
        "optimize-prompt",
        "prompts",
        "retrieveAndGenerate",
        "sessions",
        "tags",
    }
)


def _model(exchange: Exchange, *operations: str) -> str | None:
    """Return the id of the model in a path that ends in ``/model/{id}/{operation}``.

    An ARN has slashes of its own, which some clients leave as they are, others encode twice.
    """
    segments = exchange.segments
    if "model" not in segments[:-2] or segments[-1] not in operations:
        return None
    return unquote("/".join(segments[segments.index("model") + 1 : -1]))


def _invoked(exchange: Exchange) -> CallStage | None:
    model = _model(exchange, *_INVOKE)
    if model is None or not posts(exchange):
        return None
    request = {"prompt": ""} if exchange.request is None else exchange.request  # cut, say
    return stage_of(model, request, exchange.response)


def _is_invoked_text(exchange: Exchange) -> bool:
    return _invoked(exchange) is CallStage.LLM


def _is_invoked_embedding(exchange: Exchange) -> bool:
    return _invoked(exchange) is CallStage.EMBEDDER


def _is_invoked_rerank(exchange: Exchange) -> bool:
    return _invoked(exchange) is CallStage.RERANKER


def _read_invoked_text(exchange: Exchange) -> LlmReading:
    return read_text(exchange, _model(exchange, *_INVOKE) or "")


def _read_invoked_embedding(exchange: Exchange) -> EmbedderReading:
    return read_embedding(exchange, _model(exchange, *_INVOKE) or "")


def _read_invoked_rerank(exchange: Exchange) -> RerankerReading:
    return dataclasses.replace(read_ranking(exchange), model=_model(exchange, *_INVOKE))


def _is_converse(exchange: Exchange) -> bool:
    return posts(exchange) and _model(exchange, *_CONVERSE) is not None


def _read_converse(exchange: Exchange) -> LlmReading:
    return converse_reading(exchange, _model(exchange, *_CONVERSE))


# ------------------------------------------------------------------------------- reranker


def _is_rerank(exchange: Exchange) -> bool:
    return (
        posts(exchange, "rerank")
        and isinstance(at(exchange.request, "queries"), list)
        and isinstance(at(exchange.request, "sources"), list)
    )


def _read_rerank(exchange: Exchange) -> RerankerReading:
    request = exchange.request
    configured = mapping(request, "rerankingConfiguration", "bedrockRerankingConfiguration")
    return RerankerReading(
        model=text(configured, "modelConfiguration", "modelArn"),
        query=text(request, "queries", 0, "textQuery", "text"),
        documents=tuple(Document(text=_source_text(item)) for item in items(request, "sources")),
        results=results_of(exchange.response),
        top_n=count(configured, "numberOfResults"),
    )


def _source_text(source: object) -> str | None:
    inline = mapping(source, "inlineDocumentSource")
    if "jsonDocument" in inline:
        fields = inline["jsonDocument"]
        return document_text(fields) or as_json(fields)
    return text(inline, "textDocument", "text")


# ------------------------------------------------------------------------ knowledge bases


def _is_retrieve(exchange: Exchange) -> bool:
    return (
        posts(exchange, "retrieve")
        and after(exchange, "knowledgebases") is not None
        and bool(mapping(exchange.request, "retrievalQuery"))
    )


def _read_retrieve(exchange: Exchange) -> RetrieverReading:
    search = mapping(exchange.request, "retrievalConfiguration", "vectorSearchConfiguration")
    found = tuple(_passage(item) for item in mappings(exchange.response, "retrievalResults"))
    return RetrieverReading(
        searches=(Search(query=text(exchange.request, "retrievalQuery", "text"), documents=found),),
        top_k=count(search, "numberOfResults"),
        filters=at(search, "filter"),
        collection=after(exchange, "knowledgebases"),
    )


def _passage(item: object) -> Document:
    """Return a passage found; one of a table has columns, a line each."""
    metadata = dict(mapping(item, "metadata"))
    for place in mapping(item, "location").values():
        for key in ("uri", "url"):
            if text(place, key):
                metadata.setdefault(key, text(place, key))
    documents = (text(place, "id") for place in mapping(item, "location").values())
    columns = [
        f"{text(cell, 'columnName') or ''}: {as_json(at(cell, 'columnValue'))}"
        for cell in mappings(item, "content", "row")
    ]
    return Document(
        id=text(metadata, _CHUNK_ID)
        or text(item, "documentId")
        or next((each for each in documents if each), None),
        text=text(item, "content", "text") or "\n".join(columns) or None,
        score=number(item, "score"),
        metadata=metadata,
    )


def _is_generated(exchange: Exchange) -> bool:
    streamed = posts(exchange, "retrieveAndGenerateStream")
    return (streamed or posts(exchange, "retrieveAndGenerate")) and bool(
        mapping(exchange.request, "input")
    )


def _read_generated(exchange: Exchange) -> LlmReading:
    request = exchange.request
    configuration = mapping(request, "retrieveAndGenerateConfiguration")
    configured = mapping(configuration, "knowledgeBaseConfiguration") or mapping(
        configuration, "externalSourcesConfiguration"
    )
    asked = text(request, "input", "text")
    sampling = mapping(
        configured, "generationConfiguration", "inferenceConfig", "textInferenceConfig"
    )
    events = events_in(exchange)
    return LlmReading(
        model=text(configured, "modelArn"),
        messages=(ChatMessage("user", asked),) if asked else (),
        answer="".join(text(event, "output", "text") or "" for event in events) or None,
        parameters=chosen(sampling, ("temperature", "topP", "maxTokens", "stopSequences")),
        retrieved=_cited(events),
    )


def _cited(events: Sequence[object]) -> tuple[Document, ...]:
    """Return the passages that citations refer to, each once."""
    found: dict[str, Document] = {}
    for citation in _citations(events):
        for reference in mappings(citation, "retrievedReferences"):
            passage = _passage(reference)
            found.setdefault(passage.id or f"{passage.text}{as_json(passage.metadata)}", passage)
    return tuple(found.values())


def _citations(events: Sequence[object]) -> Iterator[object]:
    for event in events:
        yield from mappings(event, "citations")
        yield from mappings(event, "chunk", "attribution", "citations")
        streamed = mapping(event, "citation")
        if streamed:
            yield mapping(streamed, "citation") or streamed


# --------------------------------------------------------------------------------- agents


def _is_agent(exchange: Exchange) -> bool:
    return (
        posts(exchange)
        and after(exchange, "agents") is not None
        and ("agentAliases" in exchange.segments or "foundationModel" in mapping(exchange.request))
        and text(exchange.request, "inputText") is not None
    )


def _read_agent(exchange: Exchange) -> LlmReading:
    asked, told = text(exchange.request, "inputText"), text(exchange.request, "instruction")
    system = (ChatMessage("system", told),) if told else ()
    events = events_in(exchange)
    return LlmReading(
        model=text(exchange.request, "foundationModel"),
        messages=(*system, ChatMessage("user", asked)) if asked else system,
        answer="".join(text(event, "chunk", "text") or "" for event in events) or None,
        retrieved=_cited(events),
    )


# --------------------------------------------------------------------------- housekeeping


def _is_other(exchange: Exchange) -> bool:
    """Tell models that make no text, counting of tokens, and the control plane."""
    if _model(exchange, *_INVOKE, "count-tokens") is not None:
        return True
    first = "".join(exchange.segments[:1])
    return exchange.host.startswith("bedrock") and (first in _CONTROL or ends(exchange, "apply"))


APIS: tuple[Api, ...] = (
    Api(
        "bedrock.converse",
        CallStage.LLM,
        "POST …/model/{id}/converse, or its stream",
        _is_converse,
        _read_converse,
    ),
    Api(
        "bedrock.invoke_text",
        CallStage.LLM,
        "POST …/model/{id}/invoke, or its stream, with a prompt or messages",
        _is_invoked_text,
        _read_invoked_text,
    ),
    Api(
        "bedrock.invoke_embedding",
        CallStage.EMBEDDER,
        "POST …/model/{id}/invoke of an embedding model, by its name or the bodies",
        _is_invoked_embedding,
        _read_invoked_embedding,
    ),
    Api(
        "bedrock.invoke_rerank",
        CallStage.RERANKER,
        "POST …/model/{id}/invoke of a reranker, by its name or the request",
        _is_invoked_rerank,
        _read_invoked_rerank,
    ),
    Api(
        "bedrock.rerank",
        CallStage.RERANKER,
        "POST …/rerank with queries and sources",
        _is_rerank,
        _read_rerank,
    ),
    Api(
        "bedrock.retrieve",
        CallStage.RETRIEVER,
        "POST …/knowledgebases/{id}/retrieve with a retrievalQuery",
        _is_retrieve,
        _read_retrieve,
    ),
    Api(
        "bedrock.retrieve_and_generate",
        CallStage.LLM,
        "POST …/retrieveAndGenerate, or its stream, with an input",
        _is_generated,
        _read_generated,
    ),
    Api(
        "bedrock.agent",
        CallStage.LLM,
        "POST …/agents/… with an inputText, of an alias or with a foundationModel",
        _is_agent,
        _read_agent,
    ),
    Api(
        "bedrock.other",
        CallStage.IRRELEVANT,
        "…/model/{id}/invoke without text, …/count-tokens, and the control plane",
        _is_other,
    ),
)
