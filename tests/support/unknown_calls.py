"""Calls of APIs that nobody has heard of, as the bridge's rules and mappings meet them."""

from __future__ import annotations

from call_samples import call_of

from otel_raglog_proxy_bridge.model import Exchange
from otel_raglog_proxy_bridge.parsing import parse

VECTOR = [0.11, -0.52, 0.03, 0.84, -0.25, 0.61, 0.07, -0.98]
VACATION = "Full-time employees receive 25 days of paid vacation per calendar year."
LAPTOPS = "Laptops are replaced every four years; lost ones must be reported at once."
QUESTION = "How many vacation days are there?"


def exchange_of(
    request: object = None,
    response: object = None,
    url: str = "https://api.acme.test/v1/do",
    method: str = "POST",
    **more: object,
) -> Exchange:
    """Return a parsed call; bodies that are no text are written as JSON."""
    data = {"method": method, "url": url, "request": request, "response": response, **more}
    return parse(call_of(data))


def search_call(**more: object) -> Exchange:
    """Return a search of an unknown API: a query in, two scored passages out."""
    hits = [
        {"ref": "d1", "body": {"passage": VACATION}, "score": 0.91},
        {"ref": "d2", "body": {"passage": LAPTOPS}, "score": 0.14},
    ]
    request = {"question": QUESTION, "limit": 2}
    return exchange_of(
        **{"request": request, "response": {"found": hits}, "url": SEARCH_URL, **more}
    )


SEARCH_URL = "https://search.acme.test/tenants/4711/lookup"
SEARCH_EXPRESSIONS = {
    "query": "request.question",
    "top_k": "request.limit",
    "documents": "response.found[].{id: ref, text: body.passage, score: score}",
}
