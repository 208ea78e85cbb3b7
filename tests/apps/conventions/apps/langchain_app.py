"""LangChain chains: plain, several queries, reranker as contextual compression, batch under one request."""

from __future__ import annotations

from collections.abc import Sequence

import options
from corpus import QUESTION
from langchain_classic.retrievers import ContextualCompressionRetriever, MultiQueryRetriever
from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_parts import LLM, render, retriever
from opentelemetry import trace
from opentelemetry.trace import SpanKind
from reranking import rerank

BROAD = 5
PROMPT = ChatPromptTemplate.from_messages(
    [
        ("system", "Answer from the context only.\n\nContext:\n{context}"),
        ("human", "{question}"),
    ]
)


class StubCompressor(BaseDocumentCompressor):
    """Keeps the best two documents by the reranker's score."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """Rerank `documents`."""
        del callbacks
        kept = rerank(query, [document.page_content for document in documents], 2)
        return [_scored(documents[place], score) for place, score in kept]


def _scored(document: Document, score: float) -> Document:
    metadata = {**document.metadata, "relevance_score": score}
    return document.model_copy(update={"metadata": metadata})


def chain(search: BaseRetriever) -> Runnable[str, str]:
    """Search, prompt, answer."""
    given = {"context": search | render, "question": RunnablePassthrough()}
    return given | PROMPT | LLM | StrOutputParser()


def plain(_: str) -> None:
    """One question."""
    chain(retriever()).invoke(QUESTION)


def multi_query(_: str) -> None:
    """The model writes queries, each is searched, the union is read."""
    chain(MultiQueryRetriever.from_llm(retriever=retriever(), llm=LLM)).invoke(QUESTION)


def reranking(_: str) -> None:
    """Five candidates, of which two are kept."""
    search = ContextualCompressionRetriever(
        base_compressor=StubCompressor(), base_retriever=retriever(BROAD)
    )
    chain(search).invoke(QUESTION)


def batch(_: str) -> None:
    """Two questions of one HTTP request."""
    tracer = trace.get_tracer("ferry.http", "1.4.0")
    attributes = {"http.request.method": "POST", "url.path": "/answers"}
    with tracer.start_as_current_span(
        "POST /answers", kind=SpanKind.SERVER, attributes=attributes
    ) as span:
        questions = [QUESTION, "How long is lost property kept?"]
        chain(retriever()).batch(questions, config={"max_concurrency": 1})
        span.set_attribute("http.response.status_code", 200)


if __name__ == "__main__":
    options.run(
        ["langchain"],
        {"plain": plain, "multi_query": multi_query, "rerank": reranking, "batch": batch},
    )
