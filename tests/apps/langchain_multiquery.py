"""LangChain chain with several queries for one question: rewrites, vector retriever, answer; no reranker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faults import Faults
from langchain_classic.retrievers import MultiQueryRetriever
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_parts import Search, build_llm, context_block, instrument
from tracing import run_jobs

SERVICE = "policy-finder"
PROMPT = ChatPromptTemplate.from_template(
    "Use the following pages of the handbook to answer the question at the end. If you cannot find the answer "
    "in them, say that you cannot.\n\n{context}\n\nQuestion: {question}"
)


def build(faults: Faults) -> Callable[[dict[str, Any]], None]:
    """The application."""
    search = Search(SERVICE, faults)
    llm = build_llm()

    def answer(job: dict[str, Any]) -> None:
        retriever = MultiQueryRetriever.from_llm(retriever=search.retriever(), llm=llm)
        chain = (
            {"context": retriever | context_block(faults), "question": RunnablePassthrough()}
            | PROMPT
            | llm
            | StrOutputParser()
        )
        chain.invoke(job["plans"][0]["question"])

    return answer


if __name__ == "__main__":
    faults = Faults()
    run_jobs(SERVICE, instrument, build(faults), faults)
