"""A Semantic Kernel chat that searches with a kernel function, and one without."""

from __future__ import annotations

import asyncio
import sys
from typing import Annotated

from corpus import PAGES, QUESTION
from openai import AsyncOpenAI
from opentelemetry import trace
from opentelemetry.trace import SpanKind
from semantic_kernel import Kernel
from semantic_kernel.connectors.ai.function_choice_behavior import FunctionChoiceBehavior
from semantic_kernel.connectors.ai.open_ai import (
    OpenAIChatCompletion,
    OpenAIChatPromptExecutionSettings,
    OpenAITextEmbedding,
)
from semantic_kernel.contents import ChatHistory
from semantic_kernel.functions import kernel_function
from tracing_setup import setup

TEXTS = list(PAGES.values())


class Handbook:
    """The search of the ferry company's handbook."""

    def __init__(self, embedding: OpenAITextEmbedding) -> None:
        self._embedding = embedding

    @kernel_function(name="search_handbook", description="Search the ferry handbook.")
    async def search_handbook(self, query: Annotated[str, "what to look for"]) -> str:
        """Return the nearest three pages."""
        vectors = await self._embedding.generate_embeddings(TEXTS)
        wanted = (await self._embedding.generate_embeddings([query]))[0]
        nearness = [sum(a * b for a, b in zip(wanted, v, strict=True)) for v in vectors]
        best = sorted(range(len(TEXTS)), key=lambda place: -nearness[place])[:3]
        return "\n\n".join(TEXTS[place] for place in best)


async def main() -> None:
    """Answer one question."""
    client = AsyncOpenAI()
    kernel = Kernel()
    chat = OpenAIChatCompletion(ai_model_id="stub-chat-1", async_client=client)
    kernel.add_service(chat)
    embedding = OpenAITextEmbedding(ai_model_id="stub-embed-1", async_client=client)
    kernel.add_plugin(Handbook(embedding), plugin_name="handbook")
    history = ChatHistory(system_message="Answer from what search_handbook finds.")
    history.add_user_message(QUESTION)
    settings = OpenAIChatPromptExecutionSettings(
        function_choice_behavior=FunctionChoiceBehavior.Auto()
    )
    if sys.argv[1] == "bare":
        await chat.get_chat_message_content(history, settings, kernel=kernel)
        return
    attributes = {"http.request.method": "POST", "url.path": "/ask"}
    tracer = trace.get_tracer("ferry.http", "1.4.0")
    with tracer.start_as_current_span("POST /ask", kind=SpanKind.SERVER, attributes=attributes):
        await chat.get_chat_message_content(history, settings, kernel=kernel)


if __name__ == "__main__":
    setup("none", [])
    asyncio.run(main())
