"""LiteLLM as the client of every model: embed, search in memory, rerank, answer.

The calls are asynchronous: the newer tracing writes no spans of the others.
"""

from __future__ import annotations

import asyncio
import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # no price list from the network

import litellm
from corpus import PAGES, QUESTION
from opentelemetry import trace
from opentelemetry.trace import SpanKind
from tracing_setup import setup

TEXTS = list(PAGES.values())
KEPT, CANDIDATES = 2, 4


async def embed(texts: list[str]) -> list[list[float]]:
    """Texts to vectors."""
    answer = await litellm.aembedding(model="openai/stub-embed-1", input=texts)
    return [item["embedding"] for item in answer.data]


def instrument() -> None:
    """Turn LiteLLM's own tracing on, the newer one if its switch is set."""
    if os.environ.get("LITELLM_OTEL_V2"):
        from litellm.integrations.otel.logger import OpenTelemetryV2 as Logger
    else:
        from litellm.integrations.opentelemetry import OpenTelemetry as Logger
    litellm.callbacks = [Logger(tracer_provider=trace.get_tracer_provider())]


async def ask(question: str, vectors: list[list[float]]) -> None:
    """Answer one question."""
    wanted = (await embed([question]))[0]
    nearness = [sum(a * b for a, b in zip(wanted, vector, strict=True)) for vector in vectors]
    found = sorted(range(len(TEXTS)), key=lambda place: -nearness[place])[:CANDIDATES]
    candidates = [TEXTS[place] for place in found]
    ranked = await litellm.arerank(
        model="cohere/stub-rerank-1",
        query=question,
        documents=candidates,
        top_n=KEPT,
        api_base=os.environ["OPENAI_BASE_URL"] + "/rerank",
        api_key="stub",
    )
    context = "\n\n".join(candidates[item["index"]] for item in ranked.results)
    await litellm.acompletion(
        model="openai/stub-chat-1",
        messages=[
            {"role": "system", "content": f"Answer from the context only.\n\nContext:\n{context}"},
            {"role": "user", "content": question},
        ],
        metadata={"session_id": "chat-1"},
    )


async def main(*, parent: bool) -> None:
    """Answer under the span of one HTTP request, or under none."""
    setup("none", [])
    vectors = await embed(TEXTS)
    await asyncio.sleep(2)  # what is traced is decided when a worker gets to it
    instrument()
    if not parent:
        await ask(QUESTION, vectors)
    else:
        attributes = {"http.request.method": "POST", "url.path": "/ask"}
        tracer = trace.get_tracer("ferry.http", "1.4.0")
        with tracer.start_as_current_span("POST /ask", kind=SpanKind.SERVER, attributes=attributes):
            await ask(QUESTION, vectors)
            await asyncio.sleep(2)
    await asyncio.sleep(2)


if __name__ == "__main__":
    asyncio.run(main(parent=sys.argv[1] == "parent"))
