"""What the LlamaIndex applications share: models, index over Chroma, reranker, context block of the prompt."""

from __future__ import annotations

import os
import re
from typing import Any

import chromadb
import httpx
from catalogue import Document, load_catalogue, load_handbook
from faults import EMPTY, HANDBOOK, NOTICES, Faults
from llama_index.core import VectorStoreIndex
from llama_index.core.base.embeddings.base import Embedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.prompts import PromptTemplate
from llama_index.core.retrievers import VectorIndexRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.vector_stores import MetadataFilter, MetadataFilters
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike
from llama_index.vector_stores.chroma import ChromaVectorStore
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from pydantic import PrivateAttr

TOP_K = 5
TOP_N = 3
dispatcher = get_dispatcher(__name__)


def instrument(provider: TracerProvider) -> None:
    """Turn the OpenInference instrumentation on."""
    LlamaIndexInstrumentor().instrument(tracer_provider=provider)


def build_llm() -> OpenAILike:
    """The chat model behind the stub."""
    return OpenAILike(
        model="harbour-chat-1",
        api_base=os.environ["MODEL_ENDPOINT"],
        api_key="none",
        is_chat_model=True,
        context_window=8192,
        temperature=0.0,
    )


class QueryEmbedding(OpenAILikeEmbedding):
    """An embedding model whose queries go through the application's own preparation of text."""

    _faults: Faults = PrivateAttr()

    def __init__(self, faults: Faults) -> None:
        super().__init__(
            model_name="all-MiniLM-L6-v2",
            api_base=os.environ["MODEL_ENDPOINT"],
            api_key="none",
            embed_batch_size=32,
        )
        self._faults = faults

    def get_agg_embedding_from_queries(self, queries: list[str], agg_fn: Any = None) -> Embedding:
        """Prepare the texts, then embed them."""
        prepared = [self._faults.embed_text(query) for query in queries]
        return super().get_agg_embedding_from_queries(prepared, agg_fn)


class HttpRerank(BaseNodePostprocessor):
    """Reranks over HTTP and fires the events from which the instrumentation makes a RERANKER span."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if not nodes or query_bundle is None:
            return nodes
        dispatcher.event(
            ReRankStartEvent(
                query=query_bundle, nodes=nodes, top_n=TOP_N, model_name="harbour-rerank-1"
            )
        )
        response = httpx.post(
            os.environ["MODEL_ENDPOINT"] + "/rerank",
            json={
                "model": "harbour-rerank-1",
                "query": query_bundle.query_str,
                "documents": [node.node.get_content() for node in nodes],
                "top_n": TOP_N,
            },
        )
        kept = [
            NodeWithScore(node=nodes[entry["index"]].node, score=entry["relevance_score"])
            for entry in response.raise_for_status().json()["results"]
        ]
        dispatcher.event(ReRankEndEvent(nodes=kept))
        return kept


class Search:
    """The index: a Chroma server over HTTP with the handbook, the notices and the handbook to come (still empty)."""

    def __init__(self, service: str, faults: Faults) -> None:
        self._faults = faults
        self._embedding = QueryEmbedding(faults)
        client = chromadb.HttpClient(
            host="127.0.0.1",
            port=int(os.environ["CHROMA_PORT"]),
            settings=chromadb.Settings(anonymized_telemetry=False),
        )
        pages = {HANDBOOK: load_handbook(), NOTICES: load_catalogue().notices, EMPTY: ()}
        self._indexes = {
            name: self._fill(client.get_or_create_collection(f"{service}-{name}"), documents)
            for name, documents in pages.items()
        }

    def retriever(self) -> VectorIndexRetriever:
        """The retriever for the run at hand."""
        department = self._faults.department()
        filters = (
            MetadataFilters(filters=[MetadataFilter(key="department", value=department)])
            if department
            else None
        )
        index = self._indexes[self._faults.collection()]
        return VectorIndexRetriever(
            index=index,
            similarity_top_k=TOP_K,
            filters=filters,
            embed_model=self._embedding,
        )

    def _fill(
        self, collection: chromadb.Collection, documents: tuple[Document, ...]
    ) -> VectorStoreIndex:
        index = VectorStoreIndex.from_vector_store(
            ChromaVectorStore(chroma_collection=collection), embed_model=self._embedding
        )
        index.insert_nodes([_node(document) for document in documents])
        return index


def _node(document: Document) -> TextNode:
    return TextNode(
        id_=document.id,
        text=document.text,
        metadata=document.metadata,
        excluded_embed_metadata_keys=["source", "department"],
        excluded_llm_metadata_keys=["department"],
    )


def context_prompt(template: str, faults: Faults) -> PromptTemplate:
    """A prompt whose context block is rendered by the application."""

    def render(**variables: Any) -> str:
        blocks = re.split(r"\n\n(?=source: )", str(variables["context_str"]))
        return "\n\n".join(faults.render(blocks))

    return PromptTemplate(template, function_mappings={"context_str": render})
