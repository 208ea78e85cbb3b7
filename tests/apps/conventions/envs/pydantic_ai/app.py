"""A Pydantic AI agent that searches with a tool, under the framework's own instrumentation."""

from __future__ import annotations

import os
import sys

from corpus import PAGES, QUESTION
from opentelemetry import trace
from pydantic_ai import Agent, Embedder
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from tracing_setup import setup

NAMES, TEXTS = list(PAGES), list(PAGES.values())


def settings() -> InstrumentationSettings:
    """Return how much is recorded, and in which format."""
    return InstrumentationSettings(
        tracer_provider=trace.get_tracer_provider(),
        include_content=os.environ.get("CONTENT", "on") == "on",
        version=int(os.environ.get("FORMAT", "5")),
    )


def agent() -> Agent:
    """Return the agent with its search tool."""
    plain = Embedder("openai:stub-embed-1", instrument=False)
    embedder = Embedder("openai:stub-embed-1", instrument=settings())
    answering = Agent(
        OpenAIChatModel("stub-chat-1"),
        name="ferry_agent",
        instructions="Answer from what search_handbook finds.",
        capabilities=[Instrumentation(settings())],
    )

    @answering.tool_plain
    async def search_handbook(query: str) -> list[dict[str, object]]:
        """Search the handbook of the ferry company."""
        vectors = (await plain.embed_documents(TEXTS)).embeddings
        wanted = (await embedder.embed_query(query)).embeddings[0]
        nearness = [sum(a * b for a, b in zip(wanted, vector, strict=True)) for vector in vectors]
        best = sorted(range(len(TEXTS)), key=lambda place: -nearness[place])[:3]
        return [
            {"id": NAMES[place], "text": TEXTS[place], "score": round(nearness[place], 3)}
            for place in best
        ]

    return answering


def tool() -> None:
    """One question, one search."""
    agent().run_sync(QUESTION)


def second_turn() -> None:
    """A second question after the first, in the same conversation."""
    answering = agent()
    first = answering.run_sync(QUESTION, conversation_id="chat-1")
    history = first.all_messages()
    answering.run_sync("And a tandem?", message_history=history, conversation_id="chat-1")


if __name__ == "__main__":
    setup("none", [])
    {"tool": tool, "second_turn": second_turn}[sys.argv[1]]()
