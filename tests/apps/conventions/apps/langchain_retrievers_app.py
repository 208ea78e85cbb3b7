"""LangChain retrievers that do more than one search: self-query, parent documents, ensemble."""

from __future__ import annotations

import re
from typing import Any

import options
from corpus import PAGES, QUESTION
from langchain_app import chain
from langchain_classic.retrievers import (
    EnsembleRetriever,
    ParentDocumentRetriever,
    SelfQueryRetriever,
)
from langchain_classic.storage import InMemoryStore
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.structured_query import Comparison, Operation, StructuredQuery, Visitor
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_parts import EMBEDDING, LLM, STORE, retriever
from langchain_text_splitters import RecursiveCharacterTextSplitter

FIELDS = [{"name": "page", "description": "Which page of the handbook", "type": "string"}]


class EqualityTranslator(Visitor):
    """Makes of one comparison a filter of the store in memory."""

    def visit_operation(self, operation: Operation) -> Any:
        """Say that nothing but one comparison is understood."""
        raise NotImplementedError(operation)

    def visit_comparison(self, comparison: Comparison) -> Any:
        """Compare one field of the metadata."""
        return lambda document: document.metadata.get(comparison.attribute) == comparison.value

    def visit_structured_query(
        self, structured_query: StructuredQuery
    ) -> tuple[str, dict[str, Any]]:
        """Return the text to search for and the filter."""
        wanted = structured_query.filter
        return structured_query.query, {"filter": wanted.accept(self)} if wanted else {}


class WordRetriever(BaseRetriever):
    """Finds the pages that share the most words with the query."""

    k: int = 3

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        del run_manager
        words = set(re.findall(r"\w{4,}", query.lower()))
        shared = {
            name: len(words & set(re.findall(r"\w{4,}", text.lower())))
            for name, text in PAGES.items()
        }
        best = sorted(PAGES, key=lambda name: -shared[name])[: self.k]
        return [Document(page_content=PAGES[at], metadata={"page": at}, id=at) for at in best]


def self_query(_: str) -> None:
    """The model writes a query and a filter."""
    search = SelfQueryRetriever.from_llm(
        LLM,
        STORE,
        "Pages of a ferry company's handbook",
        FIELDS,
        structured_query_translator=EqualityTranslator(),
        search_kwargs={"k": 3},
    )
    chain(search).invoke(QUESTION)


def parent_document(_: str) -> None:
    """Sentences are searched, the pages that they are from are read."""
    search = ParentDocumentRetriever(
        vectorstore=InMemoryVectorStore(EMBEDDING),
        docstore=InMemoryStore(),
        child_splitter=RecursiveCharacterTextSplitter(chunk_size=50, chunk_overlap=0),
        search_kwargs={"k": 4},
    )
    pages = [Document(page_content=text, metadata={"page": at}) for at, text in PAGES.items()]
    search.add_documents(pages, ids=list(PAGES))
    chain(search).invoke(QUESTION)


def ensemble(_: str) -> None:
    """A search by words and one by vectors, fused."""
    search = EnsembleRetriever(retrievers=[WordRetriever(), retriever()], weights=[0.5, 0.5])
    chain(search).invoke(QUESTION)


if __name__ == "__main__":
    options.run(
        ["langchain"],
        {"self_query": self_query, "parent_document": parent_document, "ensemble": ensemble},
    )
