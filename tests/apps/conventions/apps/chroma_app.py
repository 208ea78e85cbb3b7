"""OpenAI SDK and Chroma client by hand: embed, query the collection, answer; with a Cohere reranker or without."""

from __future__ import annotations

import os

import chromadb
import options
from corpus import PAGES, QUESTION
from openai import OpenAI
from opentelemetry import trace
from opentelemetry.trace import SpanKind

TOP_K = 3
BROAD = 5
TOP_N = 2
OPENAI = OpenAI()
CHROMA = chromadb.EphemeralClient(chromadb.Settings(anonymized_telemetry=False))
PAGES_OF_FERRY = CHROMA.get_or_create_collection("handbook", embedding_function=None)


def embed(texts: list[str]) -> list[list[float]]:
    """Texts to vectors."""
    answer = OPENAI.embeddings.create(model="stub-embed-1", input=texts)
    return [item.embedding for item in answer.data]


def fill() -> None:
    """Put the pages into the collection, before anything is traced."""
    PAGES_OF_FERRY.add(
        ids=list(PAGES),
        documents=list(PAGES.values()),
        metadatas=[{"page": name} for name in PAGES],
        embeddings=embed(list(PAGES.values())),
    )


def search(question: str, top_k: int) -> list[str]:
    """The pages nearest to a question."""
    found = PAGES_OF_FERRY.query(query_embeddings=embed([question]), n_results=top_k)
    return found["documents"][0]


def rerank(question: str, texts: list[str]) -> list[str]:
    """The best pages by Cohere's reranker."""
    from cohere import ClientV2

    client = ClientV2(api_key="stub", base_url=os.environ["OPENAI_BASE_URL"])
    answer = client.rerank(model="stub-rerank-1", query=question, documents=texts, top_n=TOP_N)
    return [texts[result.index] for result in answer.results]


def answer(question: str, texts: list[str]) -> None:
    """Ask the model."""
    context = "\n\n".join(texts)
    OPENAI.chat.completions.create(
        model="stub-chat-1",
        temperature=0.0,
        messages=[
            {"role": "system", "content": f"Answer from the context only.\n\nContext:\n{context}"},
            {"role": "user", "content": question},
        ],
    )


def plain(_: str) -> None:
    """All calls under the span of one HTTP request."""
    with request():
        answer(QUESTION, search(QUESTION, TOP_K))


def reranking(_: str) -> None:
    """Five candidates, of which two are kept."""
    with request():
        answer(QUESTION, rerank(QUESTION, search(QUESTION, BROAD)))


def request() -> trace.Span:
    """A span as a web framework makes it."""
    tracer = trace.get_tracer("ferry.http", "1.4.0")
    attributes = {"http.request.method": "POST", "url.path": "/ask"}
    return tracer.start_as_current_span("POST /ask", kind=SpanKind.SERVER, attributes=attributes)


fill()
if __name__ == "__main__":
    options.run(["openai", "chroma"], {"plain": plain, "rerank": reranking})
