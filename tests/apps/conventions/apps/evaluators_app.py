"""Answers that a model judges: with Ragas, DeepEval, Phoenix, openevals and LlamaIndex, at once or afterwards."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

import options
from corpus import ANSWER, PAGES, QUESTION
from opentelemetry import trace
from opentelemetry.trace import SpanKind

CONTEXT = [PAGES["bicycles"], PAGES["dogs"], PAGES["refunds"]]


def ragas() -> None:
    """Faithfulness (statements, then verdicts), then context precision (one verdict a chunk)."""
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics.collections import ContextUtilization, Faithfulness

    model = llm_factory("stub-chat-1", client=AsyncOpenAI())

    async def judge() -> None:
        given = {"user_input": QUESTION, "response": ANSWER, "retrieved_contexts": CONTEXT}
        await Faithfulness(llm=model).ascore(**given)
        await ContextUtilization(llm=model).ascore(**given)

    asyncio.run(judge())


def deepeval() -> None:
    """Answer relevancy (statements, verdicts, a reason), then faithfulness (truths and claims first)."""
    from deepeval.metrics import AnswerRelevancyMetric, FaithfulnessMetric
    from deepeval.models import LocalModel
    from deepeval.test_case import LLMTestCase

    model = LocalModel(model="stub-chat-1", base_url=os.environ["OPENAI_BASE_URL"], api_key="stub")
    case = LLMTestCase(input=QUESTION, actual_output=ANSWER, retrieval_context=CONTEXT)
    AnswerRelevancyMetric(model=model, async_mode=False).measure(case, _show_indicator=False)
    FaithfulnessMetric(model=model, async_mode=False).measure(case, _show_indicator=False)


def phoenix() -> None:
    """Faithfulness as a label with an explanation."""
    from phoenix.evals import LLM
    from phoenix.evals.metrics import FaithfulnessEvaluator

    model = LLM(provider="openai", model="stub-chat-1")
    given = {"input": QUESTION, "output": ANSWER, "context": "\n\n".join(CONTEXT)}
    FaithfulnessEvaluator(llm=model).evaluate(given)


def openevals() -> None:
    """Groundedness as a score with a comment."""
    from langchain_openai import ChatOpenAI
    from openevals.llm import create_llm_as_judge
    from openevals.prompts import RAG_GROUNDEDNESS_PROMPT

    judge = create_llm_as_judge(
        prompt=RAG_GROUNDEDNESS_PROMPT,
        feedback_key="groundedness",
        judge=ChatOpenAI(model="stub-chat-1"),
    )
    judge(outputs={"answer": ANSWER}, context="\n\n".join(CONTEXT))


def llamaindex() -> None:
    """Ask whether the answer is supported by the context, then whether it is relevant."""
    from llama_index.core.evaluation import FaithfulnessEvaluator, RelevancyEvaluator
    from llamaindex_app import LLM

    FaithfulnessEvaluator(llm=LLM).evaluate(response=ANSWER, contexts=CONTEXT)
    RelevancyEvaluator(llm=LLM).evaluate(query=QUESTION, response=ANSWER, contexts=CONTEXT)


def at_once(ask: Callable[[str], object], judge: Callable[[], None]) -> None:
    """Answer and judge under the span of one HTTP request."""
    tracer = trace.get_tracer("ferry.http", "1.4.0")
    attributes = {"http.request.method": "POST", "url.path": "/ask"}
    with tracer.start_as_current_span("POST /ask", kind=SpanKind.SERVER, attributes=attributes):
        ask(QUESTION)
        judge()


def by_openai() -> Callable[[str], object]:
    """Return what answers with the OpenAI SDK, its pages embedded."""
    from openai_app import ask

    return ask


def by_langchain() -> Callable[[str], object]:
    """Return what answers with a chain, its pages embedded."""
    from langchain_app import chain
    from langchain_parts import retriever

    return chain(retriever()).invoke


def by_llamaindex() -> Callable[[str], object]:
    """Return what answers with a query engine, its pages embedded."""
    from llamaindex_app import engine

    return engine().query


if __name__ == "__main__":
    options.run(
        ["openai"],
        {
            "ragas_at_once": lambda _: at_once(by_openai(), ragas),
            "deepeval_at_once": lambda _: at_once(by_openai(), deepeval),
            "deepeval_after": lambda _: deepeval(),
            "phoenix_at_once": lambda _: at_once(by_openai(), phoenix),
            "openevals_at_once": lambda _: at_once(by_langchain(), openevals),
            "openevals_after": lambda _: openevals(),
            "llamaindex_at_once": lambda _: at_once(by_llamaindex(), llamaindex),
        },
    )
