"""LangChain and LangGraph applications as their users build them: each function returns question → answer."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import httpx
from catalogue import load_handbook
from faults import Faults
from langchain_classic.retrievers import ContextualCompressionRetriever, MultiQueryRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable, RunnablePassthrough
from langchain_core.tools import BaseTool, tool
from langchain_parts import Search, build_llm, context_block
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from noting import Notes

Answer = Callable[[str], str]
PROMPT = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "Answer from these pages only; say so if they do not hold the answer.\n\n{context}",
        ),
        ("human", "{question}"),
    ]
)
GUARD = ChatPromptTemplate.from_template(
    "Is this a question that the staff of a ferry company may be asked? Answer yes or no.\n\n{question}"
)
TITLE = ChatPromptTemplate.from_template(
    "Write a title of at most five words for the chat that begins with this question.\n\n{question}"
)
VARIANTS = ChatPromptTemplate.from_template(
    "Write the search queries, one per line, with which an answer to this question may be found.\n\n{question}"
)
AGENT = "You help the staff of a ferry company. Search before you answer, and answer from what you found."


class Desk:
    """What the chains share."""

    def __init__(self, name: str, notes: Notes) -> None:
        self.name = name
        self.notes = notes
        self.faults = Faults()
        self.llm = build_llm()

    def retriever(self) -> BaseRetriever:
        """The handbook in Chroma, filled now."""
        return Search(self.name, self.faults).retriever()

    def chain(
        self, retriever: Runnable[str, list[Document]], llm: Any = None
    ) -> Runnable[str, str]:
        """The plain chain: search, answer."""
        return (
            {
                "context": retriever | context_block(self.faults),
                "question": RunnablePassthrough(),
            }
            | PROMPT
            | (llm or self.llm)
            | StrOutputParser()
        )


class Bm25(BaseRetriever):
    """Okapi BM25 over a list of documents, in this process."""

    documents: list[Document]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        del run_manager
        bags = [Counter(_words(document.page_content)) for document in self.documents]
        mean = sum(bag.total() for bag in bags) / len(bags)
        scored = []
        for document, bag in zip(self.documents, bags, strict=True):
            score = 0.0
            for word in set(_words(query)) & set(bag):
                held = sum(word in other for other in bags)
                rare = math.log(1 + (len(bags) - held + 0.5) / (held + 0.5))
                often = bag[word] * 2.2 / (bag[word] + 1.2 * (0.25 + 0.75 * bag.total() / mean))
                score += rare * often
            scored.append((score, document))
        scored.sort(key=lambda entry: -entry[0])
        return [document for _, document in scored[:5]]


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]{2,}", text.lower())


class TeiCompressor(BaseDocumentCompressor):
    """Keeps the three best by the score of a text-embeddings-inference server."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        """Rerank `documents`."""
        del callbacks
        response = httpx.post(
            os.environ["MODEL_ENDPOINT"].removesuffix("/v1") + "/rerank",
            json={
                "query": query,
                "texts": [document.page_content for document in documents],
                "truncate": True,
            },
        )
        best = response.raise_for_status().json()[:3]
        return [documents[entry["index"]] for entry in best]


def bm25(desk: Desk) -> Answer:
    """Keyword search in this process, reranked by a service."""
    documents = [
        Document(page.text, id=page.id, metadata=page.metadata) for page in load_handbook()
    ]
    retriever = ContextualCompressionRetriever(
        base_compressor=TeiCompressor(), base_retriever=Bm25(documents=documents)
    )
    return desk.chain(retriever).invoke


def guarded(desk: Desk) -> Answer:
    """Ask a model whether to answer at all; name the chat afterwards."""
    chain = desk.chain(desk.retriever())

    def guard(question: str) -> bool:
        said = (GUARD | desk.llm | StrOutputParser()).invoke({"question": question})
        return said.strip().lower() == "yes"

    def name_chat(question: str) -> str:
        return (TITLE | desk.llm | StrOutputParser()).invoke({"question": question})

    def answer(question: str) -> str:
        if not guard(question):
            return "I cannot help with that."
        said = chain.invoke(question)
        name_chat(question)
        return said

    return answer


def fan_out(desk: Desk) -> Answer:
    """Search with several queries at once, in threads."""
    retriever = desk.retriever()

    def variants(question: str) -> list[str]:
        said = (VARIANTS | desk.llm | StrOutputParser()).invoke({"question": question})
        return said.splitlines()

    def search(question: str) -> list[Document]:
        found = retriever.batch(variants(question))
        return list({page.id: page for pages in found for page in pages}.values())

    render = context_block(desk.faults)

    def answer(question: str) -> str:
        values = {"context": render.invoke(search(question)), "question": question}
        return (PROMPT | desk.llm | StrOutputParser()).invoke(values)

    return answer


def rewrites(desk: Desk) -> Answer:
    """Several queries for one question, and a streamed answer."""
    retriever = MultiQueryRetriever.from_llm(retriever=desk.retriever(), llm=desk.llm)
    chain = desk.chain(retriever, build_llm(streaming=True))
    return lambda question: "".join(chain.stream(question))


def agent(desk: Desk) -> Answer:
    """Let a tool-calling agent search the handbook."""
    retriever = desk.retriever()

    @tool
    def search_handbook(query: str) -> str:
        """Search the handbook of the ferry company."""
        return "\n\n".join(page.page_content for page in retriever.invoke(query))

    return _agent(desk, search_handbook)


def web_agent(desk: Desk) -> Answer:
    """Let a tool-calling agent search the web (an API like Tavily's)."""

    @tool
    def web_search(query: str) -> str:
        """Search the web."""
        response = httpx.post(
            os.environ["MODEL_ENDPOINT"].removesuffix("/v1") + "/search",
            json={"query": query, "max_results": 4, "search_depth": "basic"},
            headers={"Authorization": "Bearer tvly-none"},
        )
        results = response.raise_for_status().json()["results"]
        return "\n\n".join(f"{entry['title']}\n{entry['content']}" for entry in results)

    return _agent(desk, web_search)


def _agent(desk: Desk, searching: BaseTool) -> Answer:
    model = desk.llm.bind_tools([searching])

    def decide(state: MessagesState) -> MessagesState:
        message = model.invoke([SystemMessage(AGENT), *state["messages"]])
        if isinstance(message, AIMessage) and message.tool_calls:
            desk.notes.last_was("rewriter")
        return {"messages": [message]}

    graph = StateGraph(MessagesState)
    graph.add_node("decide", decide)
    graph.add_node("tools", ToolNode([searching]))
    graph.add_edge(START, "decide")
    graph.add_conditional_edges("decide", tools_condition)
    graph.add_edge("tools", "decide")
    compiled = graph.compile()
    return lambda question: str(
        compiled.invoke({"messages": [HumanMessage(question)]})["messages"][-1].content
    )


DESKS: dict[str, tuple[Callable[[Desk], Answer], dict[str, str]]] = {
    "bm25-desk": (bm25, {}),
    "guarded-desk": (
        guarded,
        {
            "guarded.<locals>.guard": "irrelevant",
            "guarded.<locals>.name_chat": "irrelevant",
        },
    ),
    "fanout-desk": (fan_out, {"fan_out.<locals>.variants": "rewriter"}),
    "parallel-rewrites": (rewrites, {"MultiQueryRetriever.generate_queries": "rewriter"}),
    "agent-desk": (agent, {}),
    "web-agent": (web_agent, {}),
}
"""How each is built, and what its model is for by the calling function (else: generator)."""
