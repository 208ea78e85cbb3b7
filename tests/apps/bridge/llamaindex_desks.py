"""LlamaIndex applications with the query engines that its users build: each function returns question → answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property
from typing import Any

from catalogue import load_handbook
from faults import NOTICES, Faults
from llama_index.core import VectorStoreIndex
from llama_index.core.agent.workflow import AgentOutput, ReActAgent
from llama_index.core.chat_engine import CondenseQuestionChatEngine
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.indices.query.query_transform.base import StepDecomposeQueryTransform
from llama_index.core.postprocessor import LLMRerank
from llama_index.core.query_engine import (
    MultiStepQueryEngine,
    RetrieverQueryEngine,
    RouterQueryEngine,
    SubQuestionQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.response_synthesizers import ResponseMode, get_response_synthesizer
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.selectors import LLMSingleSelector
from llama_index.core.tools import FunctionTool, QueryEngineTool
from llamaindex_parts import HttpRerank, QueryEmbedding, Search, _node, build_llm
from noting import Notes

Answer = Callable[[str], str]


class Desk:
    """What the engines share: an index in Chroma, a language model, and the notes of the recording."""

    def __init__(self, name: str, notes: Notes) -> None:
        self.name = name
        self.faults = Faults()
        self.llm = build_llm()
        self.notes = notes

    @cached_property
    def search(self) -> Search:
        """The handbook in Chroma, filled now."""
        return Search(self.name, self.faults)

    def engine(self, **options: Any) -> RetrieverQueryEngine:
        """Return the plain engine: search, answer."""
        return RetrieverQueryEngine.from_args(self.search.retriever(), llm=self.llm, **options)


def hyde(desk: Desk) -> Answer:
    """Search with a made-up passage and the question together."""
    transform = HyDEQueryTransform(llm=desk.llm, include_original=True)
    engine = TransformQueryEngine(desk.engine(), transform)
    return lambda question: str(engine.query(question))


def fusion(desk: Desk) -> Answer:
    """Search with the question and three more, rerank what came together."""
    retriever = QueryFusionRetriever(
        [desk.search.retriever()], llm=desk.llm, num_queries=4, similarity_top_k=6, use_async=False
    )
    engine = RetrieverQueryEngine.from_args(
        retriever, llm=desk.llm, node_postprocessors=[HttpRerank()]
    )
    return lambda question: str(engine.query(question))


def sub_questions(desk: Desk) -> Answer:
    """Answer parts of the question, each with a search of its own, then the whole."""
    tool = QueryEngineTool.from_defaults(
        desk.engine(), name="handbook", description="The handbook of a ferry company"
    )
    engine = SubQuestionQueryEngine.from_defaults(
        [tool],
        llm=desk.llm,
        question_gen=LLMQuestionGenerator.from_defaults(llm=desk.llm),
        use_async=False,
        verbose=False,
    )
    return lambda question: str(engine.query(question))


def multi_step(desk: Desk) -> Answer:
    """Ask one question after the other, each told what is known so far."""
    engine = MultiStepQueryEngine(
        desk.engine(),
        StepDecomposeQueryTransform(llm=desk.llm),
        response_synthesizer=get_response_synthesizer(llm=desk.llm),
        index_summary="The handbook of a ferry company",
        num_steps=3,
    )
    return lambda question: str(engine.query(question))


def react(desk: Desk) -> Answer:
    """Let an agent with a search tool decide (ReAct; the model's answers are streamed)."""

    class NotedAgent(ReActAgent):
        async def take_step(self, *arguments: Any, **options: Any) -> AgentOutput:
            output = await super().take_step(*arguments, **options)
            if output.tool_calls:
                desk.notes.last_was("rewriter")
            return output

    retriever = desk.search.retriever()

    def search_handbook(query: str) -> str:
        """Search the handbook of the ferry company."""
        nodes = retriever.retrieve(query)
        return "\n\n".join(node.get_content() for node in nodes)

    tool = FunctionTool.from_defaults(search_handbook)

    async def ask(question: str) -> str:
        return str(await NotedAgent(tools=[tool], llm=desk.llm).run(question))

    return lambda question: asyncio.run(ask(question))


def router(desk: Desk) -> Answer:
    """Let the model choose which index to ask."""
    tools = [
        QueryEngineTool.from_defaults(desk.engine(), description="The handbook: rules and prices"),
        QueryEngineTool.from_defaults(
            RetrieverQueryEngine.from_args(
                desk.search._indexes[NOTICES].as_retriever(), llm=desk.llm
            ),
            description="Notices of the day",
        ),
    ]
    engine = RouterQueryEngine(LLMSingleSelector.from_defaults(llm=desk.llm), tools, llm=desk.llm)
    return lambda question: str(engine.query(question))


def llm_rerank(desk: Desk) -> Answer:
    """Let the model choose among what was found."""
    engine = desk.engine(node_postprocessors=[LLMRerank(llm=desk.llm, top_n=2)])
    return lambda question: str(engine.query(question))


def refine(desk: Desk) -> Answer:
    """Show the model one page after the other; it keeps or refines its answer."""
    engine = desk.engine(response_mode=ResponseMode.REFINE)
    return lambda question: str(engine.query(question))


def in_memory(desk: Desk) -> Answer:
    """Search in this process: no call tells what was found, but the reranker's."""
    index = VectorStoreIndex(
        [_node(page) for page in load_handbook()], embed_model=QueryEmbedding(desk.faults)
    )
    engine = index.as_query_engine(
        similarity_top_k=6, llm=desk.llm, node_postprocessors=[HttpRerank()]
    )
    return lambda question: str(engine.query(question))


def streaming(desk: Desk) -> Answer:
    """Stream the answer."""
    engine = desk.engine(streaming=True, node_postprocessors=[HttpRerank()])
    return lambda question: "".join(engine.query(question).response_gen)


def condense_chat(desk: Desk) -> Answer:
    """A conversation in which each question is first made to stand alone, then asked anew."""
    engine = CondenseQuestionChatEngine.from_defaults(desk.engine(), llm=desk.llm)
    return lambda question: str(engine.chat(question))


def reranked(desk: Desk) -> Answer:
    """Search, rerank, answer."""
    engine = desk.engine(node_postprocessors=[HttpRerank()])
    return lambda question: str(engine.query(question))


def plain(desk: Desk) -> Answer:
    """Search and answer."""
    engine = desk.engine()
    return lambda question: str(engine.query(question))


DESKS: dict[str, tuple[Callable[[Desk], Answer], dict[str, str]]] = {
    "hyde-desk": (hyde, {"HyDEQueryTransform._run": "rewriter"}),
    "fusion-desk": (fusion, {"QueryFusionRetriever._get_queries": "rewriter"}),
    "subquestion-desk": (sub_questions, {"LLMQuestionGenerator.generate": "rewriter"}),
    "multistep-desk": (multi_step, {"StepDecomposeQueryTransform._run": "rewriter"}),
    "react-desk": (react, {}),
    "router-desk": (router, {"LLMSingleSelector._select": "irrelevant"}),
    "llmrank-desk": (llm_rerank, {"LLMRerank._postprocess_nodes": "reranker"}),
    "refine-desk": (refine, {}),
    "memory-search": (in_memory, {}),
    "stream-desk": (streaming, {}),
    "condense-chat": (
        condense_chat,
        {"CondenseQuestionChatEngine._condense_question": "rewriter"},
    ),
    "parallel-search": (reranked, {}),
    "retrying-desk": (plain, {}),
}
"""How each is built, and what its model is for by the calling function (else: generator)."""
