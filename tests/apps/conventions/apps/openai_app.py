"""The OpenAI SDK by hand: embed the question, search in memory, answer; with and without a span above."""

from __future__ import annotations

import options
from corpus import PAGES, QUESTION
from openai import OpenAI
from opentelemetry import trace
from opentelemetry.trace import SpanKind

TOP_K = 3
CLIENT = OpenAI()
TEXTS = list(PAGES.values())


def embed(texts: list[str]) -> list[list[float]]:
    """Texts to vectors."""
    answer = CLIENT.embeddings.create(model="stub-embed-1", input=texts)
    return [item.embedding for item in answer.data]


VECTORS = embed(TEXTS)


def ask(question: str) -> str | None:
    """Answer one question."""
    wanted = embed([question])[0]
    nearness = [sum(a * b for a, b in zip(wanted, vector, strict=True)) for vector in VECTORS]
    best = sorted(range(len(TEXTS)), key=lambda place: -nearness[place])[:TOP_K]
    context = "\n\n".join(TEXTS[place] for place in best)
    answer = CLIENT.chat.completions.create(
        model="stub-chat-1",
        temperature=0.0,
        messages=[
            {"role": "system", "content": f"Answer from the context only.\n\nContext:\n{context}"},
            {"role": "user", "content": question},
        ],
    )
    return answer.choices[0].message.content


def parent(_: str) -> None:
    """Both calls under the span of one HTTP request."""
    tracer = trace.get_tracer("ferry.http", "1.4.0")
    attributes = {"http.request.method": "POST", "url.path": "/ask"}
    with tracer.start_as_current_span("POST /ask", kind=SpanKind.SERVER, attributes=attributes):
        ask(QUESTION)


def no_parent(_: str) -> None:
    """Each call is a trace of its own."""
    ask(QUESTION)


if __name__ == "__main__":
    options.run(["openai"], {"parent": parent, "no_parent": no_parent})
