"""LlamaIndex chat engine of several turns: condensed question, embedder, vector retriever, reranker, answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faults import Faults
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.memory import ChatMemoryBuffer
from llamaindex_parts import HttpRerank, Search, build_llm, context_prompt, instrument
from tracing import run_jobs

SERVICE = "crew-assistant"
CONTEXT_PROMPT = (
    "You are the assistant of a ferry company. Answer the user from these pages of the handbook:\n\n"
    "{context_str}\n\n"
    "Say that you do not know when the pages do not hold the answer."
)


def build(faults: Faults) -> Callable[[dict[str, Any]], None]:
    """The application; each session has a memory of its own."""
    search = Search(SERVICE, faults)
    llm = build_llm()
    memories: dict[str, ChatMemoryBuffer] = {}

    def answer(job: dict[str, Any]) -> None:
        memory = memories.setdefault(
            job["session"], ChatMemoryBuffer.from_defaults(token_limit=3000)
        )
        engine = CondensePlusContextChatEngine.from_defaults(
            retriever=search.retriever(),
            llm=llm,
            memory=memory,
            context_prompt=context_prompt(CONTEXT_PROMPT, faults),
            node_postprocessors=[HttpRerank()],
        )
        engine.chat(job["plans"][0]["question"])

    return answer


if __name__ == "__main__":
    faults = Faults()
    run_jobs(SERVICE, instrument, build(faults), faults)
