"""LangChain chat of several turns: condensed question, vector retriever, streamed answer; no reranker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from faults import Faults
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableBranch, RunnablePassthrough
from langchain_parts import Search, build_llm, context_block, instrument
from tracing import run_jobs

SERVICE = "island-chat"
CONDENSE_PROMPT = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "Write a standalone question from the chat history and the user's last message. Do not answer it.",
        ),
        MessagesPlaceholder("chat_history"),
        ("human", "{input}"),
    ]
)
ANSWER_PROMPT = ChatPromptTemplate.from_messages(
    [
        (
            "system",
            "You help staff and passengers of a ferry company. Use only these pages, and say so when they do not tell:\n\n{context}",
        ),
        MessagesPlaceholder("chat_history"),
        ("human", "{input}"),
    ]
)


def build(faults: Faults) -> Callable[[dict[str, Any]], None]:
    """The application; each session has a history of its own."""
    search = Search(SERVICE, faults)
    llm = build_llm()
    streaming = build_llm(streaming=True)
    histories: dict[str, list[BaseMessage]] = {}

    def answer(job: dict[str, Any]) -> None:
        history = histories.setdefault(job["session"], [])
        question = job["plans"][0]["question"]
        retriever = search.retriever()
        condense = CONDENSE_PROMPT | llm | StrOutputParser()
        search_query = RunnableBranch(
            (lambda values: not values["chat_history"], lambda values: values["input"]), condense
        )
        chain = (
            RunnablePassthrough.assign(context=search_query | retriever | context_block(faults))
            | ANSWER_PROMPT
            | streaming
            | StrOutputParser()
        )
        values = {"input": question, "chat_history": list(history)}
        said = "".join(chain.stream(values))
        history += [HumanMessage(question), AIMessage(said)]

    return answer


if __name__ == "__main__":
    faults = Faults()
    run_jobs(SERVICE, instrument, build(faults), faults)
