"""LangGraph graphs: rewrite, retrieve and generate as nodes; a tool that is called twice."""

from __future__ import annotations

from typing import TypedDict

import options
from corpus import QUESTION
from langchain_core.documents import Document
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.tools import tool
from langchain_parts import LLM, TOP_K, render, retriever
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

REWRITE = ChatPromptTemplate.from_template(
    "Rewrite the question as a search query. Answer with the query only.\n\n{question}"
)
ANSWER = ChatPromptTemplate.from_messages(
    [("system", "Answer from the notes only.\n\nNotes:\n{context}"), ("human", "{question}")]
)
TWO_HOPS = "What does a bicycle cost on the ferry to Orsay, and when does it leave in winter?"
SYSTEM = "Look things up in the handbook before you answer."


class State(TypedDict, total=False):
    """What the nodes hand on."""

    question: str
    query: str
    documents: list[Document]
    answer: str


def rewrite(state: State) -> State:
    """The question to a query."""
    return {"query": (REWRITE | LLM | StrOutputParser()).invoke({"question": state["question"]})}


def retrieve(state: State) -> State:
    """The query to documents."""
    return {"documents": retriever().invoke(state["query"])}


def generate(state: State) -> State:
    """Documents to an answer."""
    values = {"context": render(state["documents"]), "question": state["question"]}
    return {"answer": (ANSWER | LLM | StrOutputParser()).invoke(values)}


def rewrite_nodes(_: str) -> None:
    """Three nodes in a row."""
    graph = StateGraph(State)
    graph.add_node("rewrite", rewrite)
    graph.add_node("retrieve", retrieve)
    graph.add_node("generate", generate)
    graph.add_edge(START, "rewrite")
    graph.add_edge("rewrite", "retrieve")
    graph.add_edge("retrieve", "generate")
    graph.add_edge("generate", END)
    graph.compile().invoke({"question": QUESTION})


@tool
def search_handbook(query: str) -> str:
    """Search the handbook of the ferry company."""
    documents = retriever(TOP_K - 1).vectorstore.similarity_search(query, k=TOP_K - 1)
    return render(documents)


def tool_hops(_: str) -> None:
    """The model calls the search tool, reads, calls it again, then answers."""
    model = LLM.bind_tools([search_handbook])

    def assistant(state: MessagesState) -> MessagesState:
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("assistant", assistant)
    graph.add_node("tools", ToolNode([search_handbook]))
    graph.add_edge(START, "assistant")
    graph.add_conditional_edges("assistant", tools_condition)
    graph.add_edge("tools", "assistant")
    graph.compile().invoke({"messages": [SystemMessage(SYSTEM), HumanMessage(TWO_HOPS)]})


if __name__ == "__main__":
    options.run(["langchain"], {"rewrite_nodes": rewrite_nodes, "tool_hops": tool_hops})
