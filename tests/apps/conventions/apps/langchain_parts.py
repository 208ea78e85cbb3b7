"""What the LangChain and LangGraph applications share: models and the index in memory."""

from __future__ import annotations

from corpus import PAGES
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import ChatOpenAI, OpenAIEmbeddings

TOP_K = 3
LLM = ChatOpenAI(model="stub-chat-1", temperature=0.0)
EMBEDDING = OpenAIEmbeddings(model="stub-embed-1", check_embedding_ctx_length=False)
STORE = InMemoryVectorStore(EMBEDDING)
STORE.add_documents(
    [Document(page_content=text, metadata={"page": name}, id=name) for name, text in PAGES.items()]
)


def retriever(top_k: int = TOP_K) -> BaseRetriever:
    """The vector retriever."""
    return STORE.as_retriever(search_kwargs={"k": top_k})


def render(documents: list[Document]) -> str:
    """The context block of the prompt."""
    return "\n\n".join(document.page_content for document in documents)
