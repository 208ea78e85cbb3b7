"""Rerankers told by the shape of a call, wherever they run.

TEI, vLLM, Infinity, llama.cpp, Mixedbread, NVIDIA NIM, Pinecone, DashScope and many more.
"""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.rank_parts import is_ranking, read_ranking
from otel_raglog_proxy_bridge.model import Api, CallStage, Exchange

_LAST = frozenset({"ranking", "rankings", "rank", "score", "scores", "cross-encoder"})


def _names_a_reranker(exchange: Exchange) -> bool:
    """Return whether the path ends in a reranker's operation, or in the name of its model."""
    last = "".join(exchange.segments[-1:]).lower()
    return (
        "rerank" in last
        or "re-rank" in last
        or last in _LAST
        or last.endswith(":rank")
        or ("_inference" in exchange.segments and "rerank" in exchange.segments)
    )


def _is_rerank(exchange: Exchange) -> bool:
    if exchange.call.method.upper() != "POST" or not _names_a_reranker(exchange):
        return False
    if exchange.request is None and "request" in exchange.call.cut:
        return "rerank" in exchange.path.lower()
    return is_ranking(exchange.request)


APIS: tuple[Api, ...] = (
    Api(
        "rerank_servers.rerank",
        CallStage.RERANKER,
        "POST …/rerank, …/ranking or …/score with a query and candidates",
        _is_rerank,
        read_ranking,
    ),
)
