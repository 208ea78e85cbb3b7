"""Rerankers told by the shape of a call, wherever they run."""

from __future__ import annotations

import dataclasses

import pytest
from call_exchanges import exchange_of, told

from otel_raglog_proxy_bridge.formats.rerank_servers import APIS
from otel_raglog_proxy_bridge.parsing import parse

ASKS = {"query": "q", "documents": ["a"]}


@pytest.mark.parametrize(
    "path",
    [
        "/rerank",
        "/v1/rerank",
        "/gate/v2/rerank/",
        "/v1/reranking",
        "/v1/ranking",
        "/score",
        "/v1/score",
        "/Rerank",
        "/re-rank",
        "/models/bge-reranker-v2-m3",
        "/rankingConfigs/default:rank",
        "/_inference/rerank/mine",
    ],
)
def test_a_ranking_at_a_ranker_s_path_is_told(path):
    """On any host."""
    assert told(exchange_of(f"http://10.0.0.7:9000{path}", ASKS)) == "rerank_servers.rerank"


@pytest.mark.parametrize(
    ("path", "request_"),
    [
        ("/search", ASKS),
        ("/v1/rerank", {"query": "q"}),
        ("/v1/score", {"user": "u", "value": 1}),
        ("/v1/rerank", None),
    ],
)
def test_neither_path_nor_shape_suffices_alone(path, request_):
    """A score may be anything's."""
    assert not APIS[0].recognises(exchange_of(path, request_))


def test_other_methods_are_none():
    """Ranking is asked for by POST."""
    assert not APIS[0].recognises(exchange_of("/rerank", ASKS, method="GET"))


def test_a_request_that_was_cut_is_told_by_its_path():
    """Many long candidates exceed the limit; what is left is no JSON."""
    for path, expected in (("/v1/rerank", True), ("/v1/score", False)):
        call = exchange_of(path, '{"query": "q", "documents": ["a').call
        call = dataclasses.replace(call, cut=frozenset({"request"}))
        assert APIS[0].recognises(parse(call)) is expected


@pytest.mark.parametrize(
    ("path", "response", "expected"),
    [
        ("/api/score", {"score": 31}, None),
        ("/rankings", {"rankings": ["a", "b"]}, None),
        ("/rankings", {"rankings": [{"index": 1, "logit": 0.5}]}, "rerank_servers.rerank"),
        ("/rankings", None, "rerank_servers.rerank"),
        ("/rerank", {"results": []}, "rerank_servers.rerank"),
    ],
)
def test_scores_and_rankings_of_other_things_are_none(path, response, expected):
    """Games and sports have such addresses; a reranker answers with scores of the candidates."""
    asked = {"query": "tennis", "items": ["a", "b"]}
    assert told(exchange_of(path, asked, response)) == expected
