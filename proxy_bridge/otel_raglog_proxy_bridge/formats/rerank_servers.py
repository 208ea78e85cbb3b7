"""Rerankers told by the shape of a call, wherever they run.

TEI, vLLM, Infinity, llama.cpp, Mixedbread, NVIDIA NIM, Pinecone, DashScope and many more.
"""

from __future__ import annotations

from otel_raglog_proxy_bridge.formats.rank_parts import is_ranking, read_ranking, results_of
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
    surely = "rerank" in exchange.path.lower()
    if exchange.request is None and "request" in exchange.call.cut:
        return surely
    if not is_ranking(exchange.request):
        return False
    # Sports have rankings and games have scores, too.
    unanswered = not exchange.ok or exchange.response is None
    return surely or unanswered or bool(results_of(exchange.response))


APIS: tuple[Api, ...] = (
    Api(
        "rerank_servers.rerank",
        CallStage.RERANKER,
        "POST …/rerank with a query and candidates; …/ranking or …/score answered by scores, too",
        _is_rerank,
        read_ranking,
    ),
)
