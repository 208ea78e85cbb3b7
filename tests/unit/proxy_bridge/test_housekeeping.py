"""Calls that are surely no stage, each by its rule."""

import pytest
from unknown_calls import LAPTOPS, VACATION, VECTOR, exchange_of, search_call

from otel_raglog_proxy_bridge.housekeeping import asks_by_path, certain, likely
from otel_raglog_proxy_bridge.structural import tell

HTML = {"content-type": "text/html; charset=utf-8"}
RECORDS = {"points": [{"id": 1, "vector": VECTOR, "payload": {"text": VACATION}}]}
CASES = {
    "no_content_method": exchange_of(method="OPTIONS"),
    "delete": exchange_of(method="DELETE"),
    "write": exchange_of(RECORDS, {"status": "ok"}, method="PUT"),
    "static_file": exchange_of(url="https://a.test/assets/app.js", method="GET"),
    "health": exchange_of(None, {"status": "ok"}, "https://a.test/api/health", "GET"),
    "auth": exchange_of(
        "grant_type=client_credentials&scope=a",
        {"token": "x"},
        request_headers={"content-type": "application/x-www-form-urlencoded"},
    ),
    "telemetry": exchange_of({"resourceSpans": []}, {}, "https://a.test/v1/traces"),
    "tokenizer": exchange_of({"text": VACATION}, {"tokens": [1, 2]}, "https://a.test/v1/tokenize"),
    "media": exchange_of({"a": "b"}, "<html>hello</html>", response_headers=HTML),
    "get_without_query": exchange_of(None, {"data": [{"id": 1, "text": VACATION}]}, method="GET"),
    "indexing": exchange_of(RECORDS, {"upserted": 1, "status": "acknowledged"}),
    "records": exchange_of({"name": "index1", "dimension": 8}, {"created": True}),
}


@pytest.mark.parametrize(("rule", "exchange"), CASES.items(), ids=CASES)
def test_each_rule_tells_its_calls(rule, exchange):
    """The structure says which rule, and why in words."""
    structure = tell(exchange)
    assert (structure.stage, structure.rule) == ("irrelevant", f"structure.{rule}")
    assert structure.reason
    assert not structure.expressions


def test_answers_that_hold_a_token_are_log_ins():
    """Whatever the path."""
    assert certain(exchange_of({"user": "a"}, {"access_token": "x", "expires_in": 9}))[0] == "auth"


def test_an_empty_answer_to_a_new_record_is_no_stage():
    """201 and 204 say that it was stored."""
    assert likely(exchange_of({"name": "x"}, None, status=204))[0] == "records"


UNCLEAR = {
    "texts in, an unknown answer": exchange_of({"text": VACATION}, {"label": "policy"}),
    "vectors came out": exchange_of(RECORDS, {"vectors": [VECTOR]}),
    "passages came out": exchange_of({"name": "x"}, {"notes": [{"body": VACATION + LAPTOPS}]}),
    "a query of one word": exchange_of({"query": "tax"}, {"status": "none"}),
    "an error": exchange_of({"name": "x"}, {"error": "no"}, status=400),
    "a search by GET": exchange_of(None, {"x": 1}, "https://a.test/x?q=a+b", "GET"),
    "a search by its path": exchange_of(None, {"x": 1}, "https://a.test/search/dogs", "GET"),
    "a text in the path": exchange_of(None, {"x": 1}, "https://a.test/what%20is%20it", "GET"),
    "a prompt of one word": exchange_of({"text_inputs": "Hi"}, {"texts": ["Ho"]}),
    "a body that is no JSON": exchange_of("\x00\x01grpc", {"ok": 1}),
    "a search": search_call(),
}


@pytest.mark.parametrize("exchange", UNCLEAR.values(), ids=UNCLEAR)
def test_what_could_be_a_stage_is_not_ruled_out(exchange):
    """Others may know it."""
    assert certain(exchange) is None
    assert likely(exchange) is None


def test_a_path_may_say_that_something_is_searched():
    """By a whole word of one of its last segments."""
    for path in ("search", "v1/indexes:query", "docs/similar-items", "knn/x"):
        assert asks_by_path(exchange_of(url=f"https://a.test/{path}"))
    for path in ("research", "search/a/b", "", "questions"):
        assert not asks_by_path(exchange_of(url=f"https://a.test/{path}"))


@pytest.mark.parametrize(
    "url",
    [
        "https://api.smith.langchain.com/runs/batch",
        "https://cloud.langfuse.com/api/public/ingestion",
        "https://us.i.posthog.com/batch/",
    ],
)
def test_telemetry_in_a_file_is_told_as_live(url):
    """The add-on does not capture it; a file may hold it all the same."""
    told = tell(exchange_of({"inputs": {"messages": "How much leave?"}}, {"ok": True}, url))
    assert told.rule == "structure.telemetry"
