"""Mappings: what they match, read and fit, and the JSON that people write."""

import json

import pytest
from unknown_calls import LAPTOPS, QUESTION, SEARCH_EXPRESSIONS, VACATION, exchange_of, search_call

from otel_raglog_proxy_bridge.mappings import (
    CallMapping,
    MappingError,
    Match,
    Origin,
    mapping_from,
)
from otel_raglog_proxy_bridge.model import CallStage, Document, RetrieverReading, Search

WRITTEN = {
    "stage": "retriever",
    "match": {"method": "POST", "host": "search.acme.test", "path": "/tenants/{tenant}/lookup"},
    "expressions": SEARCH_EXPRESSIONS,
}


def written(**changes):
    return {**WRITTEN, **changes}


def test_a_mapping_that_a_person_wrote_reads_a_call():
    """It needs a stage, a match and the expressions; the rest is filled in."""
    mapping = mapping_from(WRITTEN)
    assert mapping.read(search_call()) == RetrieverReading(
        (
            Search(
                QUESTION,
                None,
                (Document("d1", VACATION, 0.91), Document("d2", LAPTOPS, 0.14)),
            ),
        ),
        2,
    )
    assert mapping.origin is Origin.USER
    assert mapping.lacks(search_call()) is None
    assert mapping.name == "POST search.acme.test/tenants/{tenant}/lookup"


def test_json_of_a_mapping_makes_the_same_mapping():
    """Through a file and back."""
    mapping = mapping_from(written(origin="llm", created="2026-01-02T03:04:05+00:00", reason="r"))
    assert mapping_from(json.loads(json.dumps(mapping.as_json()))) == mapping


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"expression": {}}, "unknown key 'expression': did you mean expressions"),
        ({"stage": "retreiver"}, "stage: 'retreiver' is unknown: did you mean retriever"),
        ({"stage": None}, "stage is missing: one of embedder"),
        ({"expressions": {"qurey": "request.q"}}, "unknown key 'qurey'.*did you mean query"),
        ({"expressions": {"query": "request.q"}}, "needs documents"),
        ({"expressions": {"documents": "response"}}, "needs query or vector"),
        ({"expressions": {"query": 7}}, "expressions.query is int, not a text"),
        ({"expressions": {"query": "reqest.q"}}, "expressions.query: begins with 'reqest'"),
        ({"expressions": []}, "expressions is list, not an object"),
        ({"match": None}, "match is missing"),
        ({"match": {"method": "POST", "host": "a"}}, "match.path is missing"),
        ({"match": {"method": "POST", "hots": "a", "path": "/"}}, "'hots': did you mean host"),
        ({"match": {"method": "POST", "host": "https://a/b", "path": "/"}}, "is no host"),
        ({"match": {"method": "POST", "host": "a", "path": "v1?x=1"}}, "is no template"),
        ({"match": {"method": "P OST", "host": "a", "path": "/"}}, "is no HTTP method"),
        ({"created": "yesterday"}, "created: 'yesterday' is no ISO time"),
        ({"origin": "me"}, "origin: 'me' is unknown"),
        ({"stage": "irrelevant"}, "unknown key 'query' of a stage irrelevant"),
    ],
)
def test_wrong_json_names_the_key_and_the_nearest(changes, problem):
    """So that people find it."""
    with pytest.raises(MappingError, match=problem):
        mapping_from(written(**changes))


def test_anything_but_an_object_is_refused():
    """A list of mappings, for one."""
    with pytest.raises(MappingError, match="is list, not an object"):
        mapping_from([WRITTEN])


def test_calls_can_be_said_to_be_irrelevant():
    """Nothing is read of them then."""
    mapping = mapping_from({"stage": "irrelevant", "match": WRITTEN["match"]})
    assert mapping.fits(search_call())
    assert mapping.read(search_call()) is None
    assert mapping.lacks(search_call()) is None


def test_a_match_leaves_ids_open():
    """Other tenants are asked the same way."""
    match = Match.of(search_call())
    assert str(match) == "POST search.acme.test/tenants/{id}/lookup"
    assert match.matches(search_call(url="https://search.acme.test/tenants/815/lookup"))
    assert not match.matches(search_call(method="GET"))
    assert not match.matches(search_call(url="https://search.acme.test/tenants/815/other"))


def learned(stage=CallStage.RETRIEVER, expressions=SEARCH_EXPRESSIONS):
    return CallMapping(stage, Match.of(search_call()), expressions, Origin.STRUCTURE)


def test_what_a_rule_found_fits_only_calls_that_ask_the_same():
    """One address may search and store."""
    assert learned().fits(search_call())
    assert learned().fits(search_call(response={"found": []}))
    assert not learned().fits(search_call(response={"stored": 3}))
    assert not learned().fits(search_call(request={"texts": ["x"]}))


def test_a_call_that_failed_fits_by_its_request():
    """It is of its stage all the same."""
    assert learned().fits(search_call(status=500, response={"error": "busy"}))
    assert learned().fits(search_call(status=None, response=None))


def test_what_a_person_wrote_always_fits():
    """They know better."""
    mapping = mapping_from(WRITTEN)
    assert mapping.fits(search_call(request={"texts": ["x"]}, response={"stored": 3}))
    assert not mapping.fits(exchange_of({}, {}, url="https://other.test/"))


def test_what_no_person_wrote_may_hold_no_literal():
    """It is checked again when it is read from a file."""
    expressions = {**SEARCH_EXPRESSIONS, "query": "request.q || 'What is the salary of Ann?'"}
    with pytest.raises(MappingError, match=r"expressions\.query: holds a text"):
        mapping_from(written(origin="llm", expressions=expressions))
    assert mapping_from(written(expressions=expressions)).expressions == expressions
