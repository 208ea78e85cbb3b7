"""LlamaIndex query engine: embedder, vector retriever, reranker, answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faults import Faults
from llama_index.core.prompts.default_prompts import DEFAULT_TEXT_QA_PROMPT_TMPL
from llama_index.core.query_engine import RetrieverQueryEngine
from llamaindex_parts import HttpRerank, Search, build_llm, context_prompt, instrument
from tracing import run_jobs

SERVICE = "handbook-search"


def build(faults: Faults) -> Callable[[dict[str, Any]], None]:
    """The application."""
    search = Search(SERVICE, faults)
    llm = build_llm()

    def answer(job: dict[str, Any]) -> None:
        engine = RetrieverQueryEngine.from_args(
            retriever=search.retriever(),
            llm=llm,
            node_postprocessors=[HttpRerank()],
            text_qa_template=context_prompt(DEFAULT_TEXT_QA_PROMPT_TMPL, faults),
        )
        engine.query(job["plans"][0]["question"])

    return answer


if __name__ == "__main__":
    faults = Faults()
    run_jobs(SERVICE, instrument, build(faults), faults)
