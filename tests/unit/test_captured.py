"""Captured calls become the requests that the add-on would send."""

from __future__ import annotations

import json

from otel_raglog.building import build_markers
from otel_raglog.captured import to_requests
from otel_raglog.receive.limits import Limits
from otel_raglog_proxy_bridge.classifying import Classifier
from otel_raglog_proxy_bridge.model import Call
from otel_raglog_proxy_bridge.telling import tellers

LEAVE = "Annual leave is 27 days a year for everybody."


def post(number, path, request, response):
    return Call(
        str(number), "POST", f"http://h{path}", 200, {}, {}, json.dumps(request), json.dumps(response),
        number * 10**9, number * 10**9 + 1,
    )  # fmt: skip


def rag_calls():
    return [
        post(1, "/v1/rerank", {"query": "How much leave?", "documents": [LEAVE]}, {"results": [{"index": 0, "relevance_score": 0.9}]}),
        post(2, "/v1/chat/completions", {"messages": [{"role": "user", "content": f"{LEAVE} How much leave?"}]}, {"choices": [{"message": {"content": "27"}}]}),
    ]  # fmt: skip


def chat(number):
    return post(number, "/v1/chat/completions", {"messages": [{"role": "user", "content": f"Hello number {number}"}]}, {"choices": [{"message": {"content": "Hi"}}]})  # fmt: skip


def captured(calls, **more):
    return to_requests(calls, "shop", Limits(), build_markers(), Classifier(tellers()), **more)


def test_each_run_is_a_request_and_its_spans_are_held():
    """As if it had been received."""
    found = captured(rag_calls())
    (batch,) = found.batches
    assert all(span.held for span in batch.spans)
    assert len(batch.spans) == 3
    assert [call.call_id for call in found.spans[0].calls] == ["1", "2"]


def test_calls_of_no_run_are_counted():
    """They are sent when asked for."""
    far = chat(500)
    found = captured([*rag_calls(), far])
    assert len(found.batches) == 1
    assert found.stray == {"llm": 1}
    assert len(captured([*rag_calls(), far], all_runs=True).batches) == 2


def test_a_sentence_says_what_became_of_the_calls():
    """Irrelevant ones, and those that nobody could tell."""
    odd = post(900, "/odd", {"a": 1}, {"b": 2})
    models = Call("m", "GET", "http://h/v1/models", 200, started_ns=1, ended_ns=2)
    words = captured([*rag_calls(), chat(500), odd, models]).in_words("x.har")
    assert words.startswith("x.har: 5 calls, 1 run; ")
    assert "irrelevant" in words
    assert "of no run: 1 llm" in words
