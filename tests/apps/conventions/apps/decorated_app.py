"""A pipeline of plain functions under a tracing SDK's decorator, and one whose OpenAI client is traced."""

from __future__ import annotations

from typing import Any

import options
import sdk_setup
from corpus import PAGES, QUESTION
from openai import OpenAI
from reranking import rerank
from sdk_setup import traced
from tracing_setup import conversation

BROAD = 4
PLAIN = OpenAI()
IDS = list(PAGES)
TEXTS = list(PAGES.values())


def vectors(client: OpenAI, texts: list[str]) -> list[list[float]]:
    """Texts to vectors."""
    answer = client.embeddings.create(model="stub-embed-1", input=texts, encoding_format="float")
    return [item.embedding for item in answer.data]


STORED = vectors(PLAIN, TEXTS)


def nearest(vector: list[float], top_k: int) -> list[dict[str, Any]]:
    """The best pages, as documents."""
    near = [sum(a * b for a, b in zip(vector, stored, strict=True)) for stored in STORED]
    best = sorted(range(len(TEXTS)), key=lambda place: -near[place])[:top_k]
    return [
        {
            "page_content": TEXTS[place],
            "id": IDS[place],
            "metadata": {"page": IDS[place], "score": round(near[place], 4)},
        }
        for place in best
    ]


def prompt(question: str, documents: list[dict[str, Any]]) -> list[dict[str, str]]:
    """The messages of the model that answers."""
    context = "\n\n".join(document["page_content"] for document in documents)
    return [
        {"role": "system", "content": f"Answer from the context only.\n\nContext:\n{context}"},
        {"role": "user", "content": question},
    ]


def chat(client: OpenAI, messages: list[dict[str, str]]) -> str:
    """One call of the model."""
    answer = client.chat.completions.create(model="stub-chat-1", temperature=0.0, messages=messages)
    return answer.choices[0].message.content or ""


@traced("embedding")
def embed_query(text: str) -> list[float]:
    """The query's vector."""
    return vectors(PLAIN, [text])[0]


@traced("retriever")
def search_pages(query: str, top_k: int) -> list[dict[str, Any]]:
    """The index."""
    return nearest(embed_query(query), top_k)


@traced("reranker")
def rerank_pages(query: str, documents: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two of the candidates."""
    kept = rerank(query, [document["page_content"] for document in documents], 2)
    return [
        {**documents[place], "metadata": {"page": documents[place]["id"], "relevance_score": score}}
        for place, score in kept
    ]


@traced("llm")
def call_model(messages: list[dict[str, str]]) -> str:
    """The model."""
    return chat(PLAIN, messages)


@traced("chain")
def answer_question(question: str) -> str:
    """Rewrite, search, rerank, answer."""
    rewrite = f"Rewrite the question as a search query.\n\n{question}"
    query = call_model([{"role": "user", "content": rewrite}])
    documents = rerank_pages(query, search_pages(query, BROAD))
    return call_model(prompt(question, documents))


def decorated(instrumentation: str) -> None:
    """All functions are decorated; the model and the index are called underneath, untraced."""
    with conversation(instrumentation, "chat-1"):
        answer_question(QUESTION)


def wrapped(_: str) -> None:
    """The model's client is traced; the function around it is decorated, the search is not."""
    client = sdk_setup.client()

    @traced("chain")
    def ask(question: str) -> str:
        documents = nearest(vectors(client, [question])[0], 3)
        return chat(client, prompt(question, documents))

    ask(QUESTION)


if __name__ == "__main__":
    options.run(["openai"], {"decorated": decorated, "wrapped": wrapped})
