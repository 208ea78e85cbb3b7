"""LangChain LCEL chain: vector retriever, reranker as contextual compression, answer; also in batches."""

from __future__ import annotations

from typing import Any

import langchain_parts
from faults import Faults
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_parts import HttpCompressor, Search, build_llm, context_block
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanKind
from tracing import run_jobs

SERVICE = "office-answers"
PROMPT = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "Answer from the context only. If it does not hold the answer, say so.\n\nContext:\n{context}",
        ),
        ("human", "{question}"),
    ]
)


class Application:
    """The chain, for one question or for several under one HTTP request."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._search = Search(SERVICE, faults)
        self._llm = build_llm()
        self._provider: TracerProvider | None = None

    def instrument(self, provider: TracerProvider) -> None:
        """Trace the chain, and the HTTP requests of batches."""
        self._provider = provider
        langchain_parts.instrument(provider)

    def answer(self, job: dict[str, Any]) -> None:
        """One job: a question, or a batch of them."""
        questions = [plan["question"] for plan in job["plans"]]
        if len(questions) == 1:
            self._chain().invoke(questions[0])
            return
        tracer = self._provider.get_tracer("office_answers.http", "1.4.0")
        attributes = {"http.request.method": "POST", "url.path": "/answers"}
        with tracer.start_as_current_span(
            "POST /answers", kind=SpanKind.SERVER, attributes=attributes
        ) as span:
            self._chain().batch(questions)
            span.set_attribute("http.response.status_code", 200)

    def _chain(self) -> Runnable[str, str]:
        retriever = ContextualCompressionRetriever(
            base_compressor=HttpCompressor(), base_retriever=self._search.retriever()
        )
        context = retriever | context_block(self._faults)
        return (
            {"context": context, "question": RunnablePassthrough()}
            | PROMPT
            | self._llm
            | StrOutputParser()
        )


def main() -> None:
    """Answer the jobs."""
    faults = Faults()
    application = Application(faults)
    run_jobs(SERVICE, application.instrument, application.answer, faults)


if __name__ == "__main__":
    main()
