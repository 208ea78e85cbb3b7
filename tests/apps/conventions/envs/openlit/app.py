"""The OpenAI SDK and Chroma under OpenLIT."""

from __future__ import annotations

import sys
from pathlib import Path

import chromadb
import openlit
from corpus import PAGES, QUESTION
from openai import OpenAI
from opentelemetry import trace
from opentelemetry.trace import SpanKind
from tracing_setup import setup

NAMES, TEXTS = list(PAGES), list(PAGES.values())
CLIENT = OpenAI()


def embed(texts: list[str]) -> list[list[float]]:
    """Texts to vectors."""
    answer = CLIENT.embeddings.create(model="stub-embed-1", input=texts)
    return [item.embedding for item in answer.data]


def ask(question: str, pages: chromadb.Collection) -> None:
    """Answer one question."""
    found = pages.query(query_embeddings=embed([question]), n_results=3)
    context = "\n\n".join(found["documents"][0])
    CLIENT.chat.completions.create(
        model="stub-chat-1",
        messages=[
            {"role": "system", "content": f"Answer from the context only.\n\nContext:\n{context}"},
            {"role": "user", "content": question},
        ],
    )


if __name__ == "__main__":
    setup("none", [])
    settings = chromadb.Settings(anonymized_telemetry=False)
    pages = chromadb.EphemeralClient(settings).create_collection("ferry", embedding_function=None)
    pages.add(ids=NAMES, documents=TEXTS, embeddings=embed(TEXTS))
    openlit.init(
        application_name="ferry-answers",
        capture_message_content=sys.argv[1] == "content",
        disable_metrics=True,
        disable_events=True,
        pricing_json=str(Path(__file__).with_name("prices.json")),
    )
    attributes = {"http.request.method": "POST", "url.path": "/ask"}
    tracer = trace.get_tracer("ferry.http", "1.4.0")
    with tracer.start_as_current_span("POST /ask", kind=SpanKind.SERVER, attributes=attributes):
        ask(QUESTION, pages)
