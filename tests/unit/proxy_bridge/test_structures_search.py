"""Retrievers of unknown APIs, and the many calls that look like one."""

import pytest
from unknown_calls import LAPTOPS, QUESTION, VACATION, VECTOR, exchange_of, search_call

from otel_raglog_proxy_bridge.model import CallStage
from otel_raglog_proxy_bridge.structural import mapping_of, tell
from otel_raglog_proxy_bridge.structures_search import tell_retriever

TEXTS = [VACATION, LAPTOPS]
HITS = [{"id": "d1", "text": VACATION, "score": 0.9}, {"id": "d2", "text": LAPTOPS, "score": 0.1}]
LONG = "This company sells shoes of all kinds in many colours to people all over the world."

RETRIEVERS = {
    "a query and scored passages": ({"query": QUESTION}, {"hits": HITS}),
    "a vector and scored passages": ({"vector": VECTOR, "k": 2}, {"matches": HITS}),
    "a query under a weak name": ({"text": QUESTION}, {"docs": HITS}),
    "deep passages": (
        {"search": {"query": QUESTION}, "num_results": 2},
        {"data": {"items": [{"node": {"content": text}, "uuid": str(n)} for n, text in
                            enumerate(TEXTS)]}},
    ),
    "columns": (
        {"query": QUESTION, "n_results": 2},
        {"ids": [["d1", "d2"]], "documents": [TEXTS], "distances": [[0.2, 0.7]]},
    ),
    "flat columns": (
        {"question": QUESTION},
        {"result": {"id": ["d1", "d2"], "chunks": TEXTS, "scores": [0.9, 0.1]}},
    ),
    "nothing but passages": ({"query": QUESTION, "top_k": 2}, {"passages": TEXTS}),
    "a list as the whole answer": ({"question": QUESTION}, HITS),
    "a field without a name that says passage": (
        {"vector": VECTOR},
        {"points": [{"id": 1, "score": 0.5, "payload": {"info": f"{VACATION} {LAPTOPS}"}},
                    {"id": 2, "score": 0.4, "payload": {"info": f"{LAPTOPS} {VACATION}"}}]},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("request_", "response"), RETRIEVERS.values(), ids=RETRIEVERS)
def test_a_query_in_and_passages_out_is_a_retriever(request_, response):
    """However they are packed; the mapping that is found reads them."""
    exchange = exchange_of(request_, response)
    structure = tell(exchange)
    assert structure.stage is CallStage.RETRIEVER
    mapping = mapping_of(exchange, structure, created="")
    assert mapping.lacks(exchange) is None
    (search,) = mapping.read(exchange).searches
    assert search.query == QUESTION or search.vector == tuple(VECTOR)
    assert len(search.documents) == 2
    assert all(VACATION in each.text or LAPTOPS in each.text for each in search.documents)


def test_the_reason_names_places_and_counts():
    """And nothing of what is there."""
    structure = tell(search_call())
    assert structure.reason == (
        "a query in (request.question), 2 passages with scores (response.found) out"
    )
    assert structure.expressions == {
        "query": "request.question",
        "top_k": "request.limit",
        "documents": "response.found[].{text: body.passage, score: score}",
    }


def test_a_search_by_get_has_its_query_in_the_url():
    """As web searches have."""
    exchange = exchange_of(
        None,
        {"web": {"results": [{"url": "https://x.test/1", "snippet": VACATION},
                             {"url": "https://x.test/2", "snippet": LAPTOPS}]}},
        url="https://find.test/v1?q=vacation+days&limit=2",
        method="GET",
    )  # fmt: skip
    structure = tell(exchange)
    assert structure.stage is CallStage.RETRIEVER
    reading = mapping_of(exchange, structure, created="").read(exchange)
    assert reading.searches[0].query == "vacation days"
    assert reading.top_k == 2
    assert reading.searches[0].documents[0].id == "https://x.test/1"


def test_scored_ids_of_a_vector_search_are_hits():
    """Where the texts are kept elsewhere."""
    exchange = exchange_of({"vector": VECTOR, "top": 2}, {"matches": [{"id": "d1", "score": 0.9}]})
    structure = tell(exchange)
    assert structure.expressions["documents"] == "response.matches[].{id: id, score: score}"


def test_a_search_that_found_nothing_is_one_but_shows_no_mapping():
    """An empty result is what a fault looks like; how hits are read is not known from it."""
    for exchange in (
        exchange_of({"vector": VECTOR, "k": 5}, {"matches": []}),
        exchange_of({"query": QUESTION, "top_k": 5}, {"results": []}, "https://a.test/v1/search"),
    ):
        structure = tell(exchange)
        assert structure.stage is CallStage.RETRIEVER
        assert not structure.complete
        assert mapping_of(exchange, structure, created="") is None


PEOPLE = [
    {"id": 1, "username": "ann", "bio": LONG, "text": LONG},
    {"id": 2, "username": "bob", "bio": LONG, "text": LONG},
]
NO_RETRIEVERS = {
    "users of a CRM": ({"query": "ann"}, {"results": PEOPLE}),
    "users without a query": ({}, {"users": PEOPLE}),
    "products with descriptions": (
        {"query": "red shoes", "limit": 9},
        {"results": [{"id": 1, "name": "Shoe", "description": LONG, "price": 9.5}]},
    ),
    "short texts": ({"query": "ann"}, {"results": [{"id": 1, "text": "Ann Lee"}]}),
    "suggestions": ({"q": "how", "limit": 2}, {"items": ["how to sing", "how to dance"]}),
    "a translation": (
        {"text": VACATION, "target": "de"},
        {"translations": [{"id": 1, "text": LONG}]},
    ),
    "generations": (
        {"prompt": QUESTION, "max_tokens": 9, "k": 0},
        {"generations": [{"id": "g1", "text": LONG, "score": 0.5}]},
    ),
    "a GraphQL list": (
        {"query": "query { notes { id text } }"},
        {"data": {"notes": [{"id": 1, "text": LONG}, {"id": 2, "text": LONG}]}},
    ),
    "an answer with its sources": (
        {"question": QUESTION},
        {"answer": "25 days.", "sources": HITS},
    ),
    "a conversation": (
        {"messages": [{"role": "user", "content": QUESTION}], "query": QUESTION},
        {"hits": HITS},
    ),
    "documents that the request brings": (
        {
            "query": QUESTION,
            "records": [{"id": "d1", "content": "x"}, {"id": "d2", "content": "y"}],
        },
        {"records": [{"id": "d1", "score": 0.9, "content": VACATION}]},
    ),
    "an empty list of records": ({"query": QUESTION, "limit": 5}, {"data": []}),
    "an empty list of users": (
        {"query": QUESTION, "limit": 5},
        {"data": []},
        "https://crm.test/users/search",
    ),
}


@pytest.mark.parametrize("call", NO_RETRIEVERS.values(), ids=NO_RETRIEVERS)
def test_what_looks_like_a_retriever_is_none(call):
    """A list of records is no answer to a question."""
    assert tell_retriever(exchange_of(*call)) is None


def test_an_error_is_no_retriever():
    """It shows nothing."""
    assert tell_retriever(search_call(status=500)) is None


def test_an_analysis_of_the_text_is_no_search():
    """Sentences of what was sent come back with scores of their own."""
    text = "The night ferry leaves late today. Dogs are welcome on the deck."
    parts = [{"text": {"content": part}, "score": 0.2} for part in text.split(". ")]
    assert tell_retriever(exchange_of({"content": text}, {"sentences": parts})) is None


def test_descriptions_that_are_all_scored_alike_are_records():
    """Code hosts answer a search so."""
    about = "All about ferries that leave the island late at night in any weather"

    def found(*scores):
        return {
            "items": [{"id": i, "description": about, "score": s} for i, s in enumerate(scores)]
        }

    assert tell_retriever(exchange_of({"q": QUESTION}, found(1.0, 1.0))) is None
    assert tell_retriever(exchange_of({"q": QUESTION}, found(1.0))) is None
    assert tell_retriever(exchange_of({"q": QUESTION}, found(0.9, 0.4))) is not None
