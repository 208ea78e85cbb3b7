"""What the LangChain applications share: models, retriever over Chroma, reranker, context block of the prompt."""

from __future__ import annotations

import os
from collections.abc import Sequence

import catalogue
import chromadb
import httpx
from faults import EMPTY, HANDBOOK, NOTICES, Faults
from langchain_chroma import Chroma
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import TracerProvider

TOP_K = 5
TOP_N = 3
NO_PAGES = "(no pages were found)"


def instrument(provider: TracerProvider) -> None:
    """Turn the OpenInference instrumentation on."""
    LangChainInstrumentor().instrument(tracer_provider=provider)


def build_llm(*, streaming: bool = False) -> ChatOpenAI:
    """The chat model behind the stub."""
    return ChatOpenAI(
        model="harbour-chat-1",
        base_url=os.environ["MODEL_ENDPOINT"],
        api_key="none",
        temperature=0.0,
        streaming=streaming,
        stream_usage=True,
    )


class HttpCompressor(BaseDocumentCompressor):
    """Keeps the best documents by the score of a reranker over HTTP."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """Rerank `documents`."""
        del callbacks
        if not documents:
            return []
        response = httpx.post(
            os.environ["MODEL_ENDPOINT"] + "/rerank",
            json={
                "model": "harbour-rerank-1",
                "query": query,
                "documents": [document.page_content for document in documents],
                "top_n": TOP_N,
            },
        )
        kept = []
        for entry in response.raise_for_status().json()["results"]:
            document = documents[entry["index"]].model_copy(deep=True)
            document.metadata["relevance_score"] = entry["relevance_score"]
            kept.append(document)
        return kept


class Search:
    """The index: a Chroma server over HTTP with the handbook, the notices and the handbook to come (still empty)."""

    def __init__(self, service: str, faults: Faults) -> None:
        self._faults = faults
        client = chromadb.HttpClient(
            host="127.0.0.1",
            port=int(os.environ["CHROMA_PORT"]),
            settings=chromadb.Settings(anonymized_telemetry=False),
        )
        embedding = OpenAIEmbeddings(
            model="all-MiniLM-L6-v2",
            base_url=os.environ["MODEL_ENDPOINT"],
            api_key="none",
            check_embedding_ctx_length=False,
        )
        pages = {
            HANDBOOK: catalogue.load_handbook(),
            NOTICES: catalogue.load_catalogue().notices,
            EMPTY: (),
        }
        self._stores = {}
        for name, documents in pages.items():
            store = Chroma(f"{service}-{name}", embedding, client=client)
            if documents:
                store.add_texts(
                    [document.text for document in documents],
                    [document.metadata for document in documents],
                    [document.id for document in documents],
                )
            self._stores[name] = store

    def retriever(self) -> BaseRetriever:
        """The retriever for the run at hand."""
        options: dict[str, object] = {"k": TOP_K}
        if department := self._faults.department():
            options["filter"] = {"department": department}
        return self._stores[self._faults.collection()].as_retriever(search_kwargs=options)


def context_block(faults: Faults) -> Runnable[list[Document], str]:
    """Documents to the text that the prompt shows."""

    def format_pages(documents: list[Document]) -> str:
        blocks = [
            f"[{document.metadata['source']}] {document.page_content}" for document in documents
        ]
        return "\n\n".join(faults.render(blocks)) if blocks else NO_PAGES

    return RunnableLambda(format_pages)
