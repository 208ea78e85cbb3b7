"""LlamaIndex over an index in memory: query engine, HyDE, chat engine, sub-questions, stream, reranker."""

from __future__ import annotations

import os
from typing import Any

import options
from corpus import PAGES, QUESTION
from llama_index.core import VectorStoreIndex
from llama_index.core.chat_engine import CondensePlusContextChatEngine
from llama_index.core.indices.query.query_transform import HyDEQueryTransform
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import (
    RetrieverQueryEngine,
    SubQuestionQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.question_gen import LLMQuestionGenerator
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike
from reranking import rerank
from tracing_setup import conversation

TOP_K = 3
BROAD = 5
BASE = os.environ["OPENAI_BASE_URL"]
LLM = OpenAILike(
    model="stub-chat-1", api_base=BASE, api_key="stub", is_chat_model=True, temperature=0.0
)
EMBEDDING = OpenAILikeEmbedding(model_name="stub-embed-1", api_base=BASE, api_key="stub")
NODES = [TextNode(id_=name, text=text, metadata={"page": name}) for name, text in PAGES.items()]
INDEX = VectorStoreIndex(NODES, embed_model=EMBEDDING)
MANY = VectorStoreIndex(
    [
        TextNode(id_=f"{name}-{edition}", text=f"{text} ({edition})", metadata={"page": name})
        for edition in range(2021, 2026)
        for name, text in PAGES.items()
    ],
    embed_model=EMBEDDING,
)
dispatcher = get_dispatcher(__name__)


class StubRerank(BaseNodePostprocessor):
    """Reranks over HTTP and fires the events of LlamaIndex's own rerankers."""

    top_n: int = 2

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        assert query_bundle is not None
        dispatcher.event(
            ReRankStartEvent(
                query=query_bundle, nodes=nodes, top_n=self.top_n, model_name="stub-rerank-1"
            )
        )
        texts = [node.node.get_content() for node in nodes]
        kept = [
            NodeWithScore(node=nodes[place].node, score=score)
            for place, score in rerank(query_bundle.query_str, texts, self.top_n)
        ]
        dispatcher.event(ReRankEndEvent(nodes=kept))
        return kept


def engine(*, top_k: int = TOP_K, **settings: Any) -> RetrieverQueryEngine:
    """The query engine."""
    retriever = INDEX.as_retriever(similarity_top_k=top_k)
    return RetrieverQueryEngine.from_args(retriever=retriever, llm=LLM, **settings)


def plain(_: str) -> None:
    """One question."""
    engine().query(QUESTION)


def hyde(_: str) -> None:
    """The index is searched with an answer that the model made up."""
    transform = HyDEQueryTransform(llm=LLM, include_original=False)
    TransformQueryEngine(engine(), query_transform=transform).query(QUESTION)


def condense(instrumentation: str) -> None:
    """Two turns; the second question needs the first."""
    chat = CondensePlusContextChatEngine.from_defaults(
        retriever=INDEX.as_retriever(similarity_top_k=TOP_K),
        llm=LLM,
        memory=ChatMemoryBuffer.from_defaults(token_limit=3000),
    )
    for text in (QUESTION, "And for a tandem?"):
        with conversation(instrumentation, "chat-1"):
            chat.chat(text)


def sub_question(_: str) -> None:
    """A question of two parts, each searched and answered, then one answer."""
    tool = QueryEngineTool.from_defaults(engine(), name="handbook", description="Ferry handbook")
    questions = LLMQuestionGenerator.from_defaults(llm=LLM)
    SubQuestionQueryEngine.from_defaults(
        query_engine_tools=[tool],
        question_gen=questions,
        llm=LLM,
        response_synthesizer=get_response_synthesizer(llm=LLM),
        use_async=False,
        verbose=False,
    ).query("What does a bicycle cost, and when does the winter ferry to Orsay leave?")


def streaming(_: str) -> None:
    """The answer is read token by token."""
    for _token in engine(streaming=True).query(QUESTION).response_gen:
        pass


def reranking(_: str) -> None:
    """Five candidates, of which two are kept."""
    engine(top_k=BROAD, node_postprocessors=[StubRerank()]).query(QUESTION)


def many(_: str) -> None:
    """Forty documents: more than the SDK's limit of attributes lets stand on one span."""
    retriever = MANY.as_retriever(similarity_top_k=40)
    RetrieverQueryEngine.from_args(retriever=retriever, llm=LLM).query(QUESTION)


if __name__ == "__main__":
    options.run(
        ["llamaindex"],
        {
            "plain": plain,
            "hyde": hyde,
            "condense": condense,
            "sub_question": sub_question,
            "streaming": streaming,
            "rerank": reranking,
            "many": many,
        },
    )
