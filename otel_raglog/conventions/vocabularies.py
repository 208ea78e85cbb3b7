"""Spans of vocabularies that this version does not read to the name of the vocabulary.

Their spans are held all the same, so that a trace is whole when it is looked at, and so that
``otel-raglog explain`` can say why nothing was judged.
"""

from __future__ import annotations

from dataclasses import dataclass

from otel_raglog.model import Span


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A vocabulary known by the beginnings of its attribute or event keys."""

    name: str
    prefixes: tuple[str, ...]

    def keys(self, span: Span) -> tuple[str, ...]:
        """Return the keys and event names of ``span`` that belong to the vocabulary, sorted."""
        names = [*span.attributes, *(event.name for event in span.events)]
        return tuple(sorted({name for name in names if name.startswith(self.prefixes)}))


UNREAD: tuple[Vocabulary, ...] = (
    Vocabulary("OpenLLMetry", ("traceloop.", "llm.request.", "llm.usage.")),
    Vocabulary("Langfuse", ("langfuse.observation.", "langfuse.trace.")),
    Vocabulary("LangSmith", ("langsmith.",)),
    Vocabulary("MLflow", ("mlflow.span", "mlflow.trace", "mlflow.chat", "mlflow.llm")),
    Vocabulary("Haystack", ("haystack.",)),
    Vocabulary(
        "Vercel AI SDK",
        (
            "ai.operationId",
            "ai.model.",
            "ai.prompt",
            "ai.response.",
            "ai.embedding",
            "ai.value",
            "ai.documents",
            "ai.ranking",
            "ai.telemetry.",
            "ai.usage.",
        ),
    ),
    Vocabulary("Spring AI", ("spring.ai.",)),
    Vocabulary("Pydantic AI", ("pydantic_ai.",)),
    Vocabulary("OpenTelemetry GenAI", ("gen_ai.",)),
    Vocabulary(
        "LlamaIndex native OpenTelemetry",
        (
            "QueryStartEvent",
            "QueryEndEvent",
            "RetrievalStartEvent",
            "RetrievalEndEvent",
            "EmbeddingStartEvent",
            "EmbeddingEndEvent",
            "ReRankStartEvent",
            "ReRankEndEvent",
            "LLMChatStartEvent",
            "LLMChatEndEvent",
            "SynthesizeStartEvent",
            "GetResponseStartEvent",
        ),
    ),
    Vocabulary(
        "vector database client",
        (
            "db.vector.",
            "db.chroma.",
            "db.query.result",
            "db.query.embeddings",
            "db.search.result",
            "db.milvus.",
            "db.weaviate.",
            "db.marqo.",
            "db.pinecone.",
            "pinecone.",
            "qdrant.",
            "chroma.",
        ),
    ),
)
"""In order: the more specific vocabulary names a span that speaks two."""
