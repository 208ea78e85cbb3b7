"""DSPy programs: one search, and a program of several hops that writes a query for each."""

from __future__ import annotations

import os

import dspy
import httpx
import options
from corpus import PAGES, QUESTION

TOP_K = 2
BASE = os.environ["OPENAI_BASE_URL"]
TWO_HOPS = "What does a bicycle cost on the ferry to Orsay, and when does it leave in winter?"


def embed(texts: list[str]) -> list[list[float]]:
    """Texts to vectors."""
    answer = httpx.post(f"{BASE}/embeddings", json={"model": "stub-embed-1", "input": texts})
    return [item["embedding"] for item in answer.raise_for_status().json()["data"]]


TEXTS = list(PAGES.values())
VECTORS = embed(TEXTS)


def search(query: str, k: int = TOP_K, **_: object) -> list[dspy.Prediction]:
    """The retrieval model."""
    wanted = embed([query])[0]
    nearness = [sum(a * b for a, b in zip(wanted, vector, strict=True)) for vector in VECTORS]
    best = sorted(range(len(TEXTS)), key=lambda place: -nearness[place])[:k]
    return [dspy.Prediction(long_text=TEXTS[place]) for place in best]


class WriteQuery(dspy.Signature):
    """Write a search query that finds what the context still lacks."""

    context: list[str] = dspy.InputField()
    question: str = dspy.InputField()
    query: str = dspy.OutputField()


class Answer(dspy.Signature):
    """Answer the question from the context."""

    context: list[str] = dspy.InputField()
    question: str = dspy.InputField()
    answer: str = dspy.OutputField()


class Rag(dspy.Module):
    """Search with the question, then answer."""

    def __init__(self) -> None:
        super().__init__()
        self.retrieve = dspy.Retrieve(k=TOP_K)
        self.answer = dspy.Predict(Answer)

    def forward(self, question: str) -> dspy.Prediction:
        """One question."""
        return self.answer(context=self.retrieve(question).passages, question=question)


class MultiHop(dspy.Module):
    """Write a query and search, twice, then answer."""

    def __init__(self) -> None:
        super().__init__()
        self.write_query = dspy.Predict(WriteQuery)
        self.retrieve = dspy.Retrieve(k=TOP_K)
        self.answer = dspy.Predict(Answer)

    def forward(self, question: str) -> dspy.Prediction:
        """One question."""
        context: list[str] = []
        for _hop in range(2):
            query = self.write_query(context=context, question=question).query
            context += self.retrieve(query).passages
        return self.answer(context=context, question=question)


def plain(_: str) -> None:
    """One search."""
    Rag()(question=QUESTION)


def multi_hop(_: str) -> None:
    """Two searches."""
    MultiHop()(question=TWO_HOPS)


if __name__ == "__main__":
    model = dspy.LM("openai/stub-chat-1", api_base=BASE, api_key="stub", cache=False)
    dspy.configure(lm=model, rm=search)
    options.run(["dspy"], {"plain": plain, "multi_hop": multi_hop})
