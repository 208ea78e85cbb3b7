"""LangGraph application of several hops: the question is split, each part is searched, one answer is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict

from faults import Faults
from langchain_core.documents import Document
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_parts import Search, build_llm, context_block, instrument
from langgraph.graph import END, START, StateGraph
from tracing import run_jobs

SERVICE = "compare-desk"
SPLIT_PROMPT = ChatPromptTemplate.from_template(
    "Split this question into the search queries, one per line, that are needed to answer it.\n\n{question}"
)
ANSWER_PROMPT = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "Answer from the notes only. Say what the notes leave open.\n\nNotes:\n{context}",
        ),
        ("human", "{question}"),
    ]
)


class State(TypedDict, total=False):
    """What the nodes hand on."""

    question: str
    queries: list[str]
    pages: list[Document]
    answer: str


def build(faults: Faults) -> Callable[[dict[str, Any]], None]:
    """The application."""
    search = Search(SERVICE, faults)
    llm = build_llm()
    render = context_block(faults)

    def split(state: State) -> State:
        lines = (SPLIT_PROMPT | llm | StrOutputParser()).invoke({"question": state["question"]})
        return {"queries": lines.splitlines(), "pages": []}

    def retrieve(state: State) -> State:
        query, *rest = state["queries"]
        known = {page.id for page in state["pages"]}
        found = [page for page in search.retriever().invoke(query) if page.id not in known]
        return {"queries": rest, "pages": state["pages"] + found}

    def generate(state: State) -> State:
        values = {"context": render.invoke(state["pages"]), "question": state["question"]}
        return {"answer": (ANSWER_PROMPT | llm | StrOutputParser()).invoke(values)}

    graph = StateGraph(State)
    graph.add_node("split", split)
    graph.add_node("retrieve", retrieve)
    graph.add_node("generate", generate)
    graph.add_edge(START, "split")
    graph.add_edge("split", "retrieve")
    graph.add_conditional_edges(
        "retrieve", lambda state: "retrieve" if state["queries"] else "generate"
    )
    graph.add_edge("generate", END)
    compiled = graph.compile()

    def answer(job: dict[str, Any]) -> None:
        compiled.invoke({"question": job["plans"][0]["question"]})

    return answer


if __name__ == "__main__":
    faults = Faults()
    run_jobs(SERVICE, instrument, build(faults), faults)
