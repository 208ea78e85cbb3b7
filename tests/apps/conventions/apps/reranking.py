"""The reranker of the applications: a cross-encoder behind HTTP."""

from __future__ import annotations

import os
from collections.abc import Sequence

import httpx


def rerank(query: str, texts: Sequence[str], top_n: int) -> list[tuple[int, float]]:
    """Return the places of the best texts with their scores, best first."""
    body = {"model": "stub-rerank-1", "query": query, "documents": list(texts), "top_n": top_n}
    answer = httpx.post(os.environ["OPENAI_BASE_URL"] + "/rerank", json=body)
    results = answer.raise_for_status().json()["results"]
    return [(result["index"], result["relevance_score"]) for result in results]
