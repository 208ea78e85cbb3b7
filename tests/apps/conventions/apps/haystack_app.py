"""Haystack pipelines: query embedder, retriever, (ranker,) prompt builder, generator."""

import options
from corpus import PAGES, QUESTION
from haystack import Document, Pipeline, component
from haystack.components.builders import ChatPromptBuilder, PromptBuilder
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.components.evaluators import ContextRelevanceEvaluator, FaithfulnessEvaluator
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.components.joiners import DocumentJoiner
from haystack.components.query import QueryExpander
from haystack.components.rankers import LLMRanker
from haystack.components.retrievers import (
    InMemoryBM25Retriever,
    InMemoryEmbeddingRetriever,
    MultiQueryTextRetriever,
)
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from reranking import rerank

TOP_K = 3
BROAD = 5
CONTEXT = "{% for document in documents %}{{ document.content }}\n\n{% endfor %}"
STORE = InMemoryDocumentStore(embedding_similarity_function="cosine")
STORE.write_documents(
    OpenAIDocumentEmbedder(model="stub-embed-1", progress_bar=False).run(
        [Document(id=name, content=text, meta={"page": name}) for name, text in PAGES.items()]
    )["documents"]
)


@component
class StubRanker:
    """Keeps the best two documents by the reranker's score."""

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int = 2) -> dict:
        """Rerank `documents`."""
        kept = rerank(query, [document.content or "" for document in documents], top_k)
        ranked = [
            Document(
                id=documents[at].id,
                content=documents[at].content,
                meta=documents[at].meta,
                score=score,
            )
            for at, score in kept
        ]
        return {"documents": ranked}


def _searching(top_k: int) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("embedder", OpenAITextEmbedder(model="stub-embed-1"))
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(STORE, top_k=top_k))
    pipeline.add_component("llm", OpenAIChatGenerator(model="stub-chat-1"))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    return pipeline


def plain(_: str) -> None:
    """One question; the prompt is one text."""
    pipeline = _searching(TOP_K)
    template = f"Answer from the context only.\n\nContext:\n{CONTEXT}Question: {{{{ query }}}}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables="*"))
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "llm.messages")
    pipeline.run({"embedder": {"text": QUESTION}, "prompt": {"query": QUESTION}})


def reranking(_: str) -> None:
    """Five candidates, of which two are kept; the prompt is messages."""
    pipeline = _searching(BROAD)
    pipeline.add_component("ranker", StubRanker())
    template = [
        ChatMessage.from_system(f"Answer from the context only.\n\nContext:\n{CONTEXT}"),
        ChatMessage.from_user("{{ query }}"),
    ]
    pipeline.add_component("prompt", ChatPromptBuilder(template, required_variables="*"))
    pipeline.connect("retriever.documents", "ranker.documents")
    pipeline.connect("ranker.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "llm.messages")
    pipeline.run(
        {
            "embedder": {"text": QUESTION},
            "ranker": {"query": QUESTION},
            "prompt": {"query": QUESTION},
        }
    )


def expanding(_: str) -> None:
    """Queries that a model wrote, each searched for by words."""
    pipeline = Pipeline()
    model = OpenAIChatGenerator(model="stub-chat-1")
    expander = QueryExpander(chat_generator=model, n_expansions=2, include_original_query=False)
    pipeline.add_component("expander", expander)
    searching = MultiQueryTextRetriever(retriever=InMemoryBM25Retriever(STORE, top_k=1))
    pipeline.add_component("retriever", searching)
    template = f"Answer from the context only.\n\nContext:\n{CONTEXT}Question: {{{{ query }}}}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables="*"))
    pipeline.add_component("llm", OpenAIChatGenerator(model="stub-chat-1"))
    pipeline.connect("expander.queries", "retriever.queries")
    pipeline.connect("retriever.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "llm.messages")
    pipeline.run({"expander": {"query": QUESTION}, "prompt": {"query": QUESTION}})


def hybrid(_: str) -> None:
    """A search by words and one by vectors, joined."""
    pipeline = _searching(2)
    pipeline.add_component("words", InMemoryBM25Retriever(STORE, top_k=2))
    pipeline.add_component("joiner", DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=3))
    template = f"Answer from the context only.\n\nContext:\n{CONTEXT}Question: {{{{ query }}}}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables="*"))
    pipeline.connect("retriever.documents", "joiner.documents")
    pipeline.connect("words.documents", "joiner.documents")
    pipeline.connect("joiner.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "llm.messages")
    asked = {"query": QUESTION}
    pipeline.run({"embedder": {"text": QUESTION}, "words": asked, "prompt": asked})


def judged(_: str) -> None:
    """Two searches, joined and ranked by a model; then evaluators in a pipeline of their own."""
    model = OpenAIChatGenerator(model="stub-chat-1")
    pipeline = _searching(3)
    pipeline.add_component("words", InMemoryBM25Retriever(STORE, top_k=3))
    pipeline.add_component("joiner", DocumentJoiner())
    pipeline.add_component("ranker", LLMRanker(chat_generator=model, top_k=2))
    template = f"Answer from the context only.\n\nContext:\n{CONTEXT}Question: {{{{ query }}}}"
    pipeline.add_component("prompt", PromptBuilder(template, required_variables="*"))
    pipeline.connect("retriever.documents", "joiner.documents")
    pipeline.connect("words.documents", "joiner.documents")
    pipeline.connect("joiner.documents", "ranker.documents")
    pipeline.connect("ranker.documents", "prompt.documents")
    pipeline.connect("prompt.prompt", "llm.messages")
    asked = {"query": QUESTION}
    given = {"embedder": {"text": QUESTION}, "words": asked, "ranker": asked, "prompt": asked}
    answer = pipeline.run(given)["llm"]["replies"][0].text
    evaluation = Pipeline()
    settings = {"chat_generator": model, "progress_bar": False}
    evaluation.add_component("faithfulness", FaithfulnessEvaluator(**settings))
    evaluation.add_component("relevance", ContextRelevanceEvaluator(**settings))
    found = {"questions": [QUESTION], "contexts": [[PAGES["bicycles"], PAGES["dogs"]]]}
    evaluation.run({"faithfulness": {**found, "predicted_answers": [answer]}, "relevance": found})


if __name__ == "__main__":
    options.run(
        ["haystack"],
        {
            "plain": plain,
            "rerank": reranking,
            "expand": expanding,
            "hybrid": hybrid,
            "judged": judged,
        },
    )
