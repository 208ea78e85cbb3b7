"""LlamaIndex where a model chooses: the index (router), the order of chunks (rerankers); and citations."""

from __future__ import annotations

import options
from corpus import QUESTION
from llama_index.core.postprocessor import LLMRerank
from llama_index.core.postprocessor.rankGPT_rerank import RankGPTRerank
from llama_index.core.query_engine import CitationQueryEngine, RouterQueryEngine
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import QueryEngineTool
from llamaindex_app import BROAD, INDEX, LLM, TOP_K, engine


def llm_rerank(_: str) -> None:
    """The model names the documents that help, with scores."""
    ranker = LLMRerank(llm=LLM, choice_batch_size=5, top_n=2)
    engine(top_k=BROAD, node_postprocessors=[ranker]).query(QUESTION)


def rank_gpt(_: str) -> None:
    """The model writes the order of the passages."""
    engine(top_k=BROAD, node_postprocessors=[RankGPTRerank(llm=LLM, top_n=2)]).query(QUESTION)


def router(_: str) -> None:
    """The model chooses the query engine."""
    tools = [
        QueryEngineTool.from_defaults(engine(), name="fares", description="What crossings cost"),
        QueryEngineTool.from_defaults(engine(), name="times", description="When ferries leave"),
    ]
    selector = LLMSingleSelector.from_defaults(llm=LLM)
    RouterQueryEngine(selector=selector, query_engine_tools=tools, llm=LLM).query(QUESTION)


def citation(_: str) -> None:
    """Chunks are numbered, and the answer names the numbers."""
    CitationQueryEngine.from_args(INDEX, llm=LLM, similarity_top_k=TOP_K).query(QUESTION)


if __name__ == "__main__":
    options.run(
        ["llamaindex"],
        {"llm_rerank": llm_rerank, "rank_gpt": rank_gpt, "router": router, "citation": citation},
    )
