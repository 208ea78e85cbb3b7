"""LlamaIndex custom query engine: rewritten query, embedder, vector retriever, reranker, answer to the original."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faults import Faults
from llama_index.core.base.response.schema import RESPONSE_TYPE
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.response_synthesizers import BaseSynthesizer, get_response_synthesizer
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import QueryBundle
from llama_index.llms.openai_like import OpenAILike
from llamaindex_parts import HttpRerank, Search, build_llm, context_prompt, instrument
from tracing import run_jobs

SERVICE = "passenger-desk"
REWRITE_PROMPT = PromptTemplate(
    "Rewrite the question below so that it finds the right page of the company handbook. "
    "Answer with the rewritten question only.\n\nQuestion: {question}\nRewritten:"
)
ANSWER_PROMPT = (
    "You answer questions of the ticket desk from the pages below and from nothing else. "
    "Say so when the pages do not hold the answer.\n\n"
    "Pages:\n{context_str}\n\nQuestion: {query_str}\nAnswer:"
)


class RewritingQueryEngine(CustomQueryEngine):
    """Searches with a rewrite; reranks and answers by the question as it was asked."""

    llm: OpenAILike
    retriever: BaseRetriever
    reranker: HttpRerank
    synthesizer: BaseSynthesizer

    def custom_query(self, query_str: str) -> RESPONSE_TYPE:
        """One question."""
        rewritten = self.llm.predict(REWRITE_PROMPT, question=query_str).strip()
        nodes = self.retriever.retrieve(rewritten)
        kept = self.reranker.postprocess_nodes(nodes, query_bundle=QueryBundle(query_str))
        return self.synthesizer.synthesize(query_str, kept)


def build(faults: Faults) -> Callable[[dict[str, Any]], None]:
    """The application."""
    search = Search(SERVICE, faults)
    llm = build_llm()

    def answer(job: dict[str, Any]) -> None:
        engine = RewritingQueryEngine(
            llm=llm,
            retriever=search.retriever(),
            reranker=HttpRerank(),
            synthesizer=get_response_synthesizer(
                llm=llm, text_qa_template=context_prompt(ANSWER_PROMPT, faults)
            ),
        )
        engine.query(job["plans"][0]["question"])

    return answer


if __name__ == "__main__":
    faults = Faults()
    run_jobs(SERVICE, instrument, build(faults), faults)
