"""MongoDB's Data API."""

from __future__ import annotations

import pytest
from call_exchanges import exchange_of, read, told

PATH = "/app/data-x/endpoint/data/v1/action"


@pytest.mark.parametrize(
    ("action", "pipeline", "expected"),
    [
        ("aggregate", [{"$vectorSearch": {"queryVector": [0.1]}}], "mongodb.search"),
        ("aggregate", [{"$search": {"text": {"query": "a"}}}], "mongodb.search"),
        ("aggregate", [{"$match": {"a": 1}}], "mongodb.other"),
        ("insertOne", None, "mongodb.other"),
    ],
)
def test_a_search_is_an_aggregation_with_a_search_stage(action, pipeline, expected):
    """Others count, group and fetch."""
    request = {"dataSource": "c", "pipeline": pipeline}
    assert told(exchange_of(f"{PATH}/{action}", request)) == expected


def test_an_action_elsewhere_is_nobody_s():
    """Only a data source makes it MongoDB's."""
    assert told(exchange_of("/action/find", {"a": 1})) is None


def test_both_halves_of_a_fusion_are_read():
    """The vector of one pipeline, the words of the other."""
    pipelines = {
        "near": [{"$vectorSearch": {"queryVector": [0.1], "limit": 9}}],
        "words": [{"$search": {"phrase": {"query": "a b", "path": "t"}}}],
    }
    request = {"pipeline": [{"$rankFusion": {"input": {"pipelines": pipelines}}}]}
    reading = read(exchange_of(f"{PATH}/aggregate", request))
    assert (reading.searches[0].query, reading.searches[0].vector) == ("a b", (0.1,))
    assert reading.top_k == 9
