"""Telling unknown calls by their shape: the order of rules, and that nothing ever raises."""

import dataclasses
import json

import pytest
from call_samples import damaged
from unknown_calls import LAPTOPS, QUESTION, VACATION, VECTOR, exchange_of, search_call

from otel_raglog_proxy_bridge.mappings import Origin, mapping_from
from otel_raglog_proxy_bridge.model import CallStage
from otel_raglog_proxy_bridge.parsing import parse
from otel_raglog_proxy_bridge.structural import mapping_of, read_by, tell

SAMPLES = {
    CallStage.EMBEDDER: exchange_of({"texts": [VACATION]}, {"vectors": [{"v": VECTOR}]}),
    CallStage.RETRIEVER: search_call(),
    CallStage.RERANKER: exchange_of(
        {"query": QUESTION, "docs": [VACATION, LAPTOPS]}, {"ranks": [{"index": 1, "score": 0.5}]}
    ),
    CallStage.LLM: exchange_of(
        {"model": "m", "messages": [{"role": "user", "content": QUESTION}]}, {"text": "25."}
    ),
    CallStage.IRRELEVANT: exchange_of(method="DELETE"),
}


@pytest.mark.parametrize(("stage", "exchange"), SAMPLES.items(), ids=SAMPLES)
def test_a_mapping_is_found_that_can_be_stored_and_read(stage, exchange):
    """Valid by the rules for what no person wrote; an irrelevant call needs none."""
    structure = tell(exchange)
    assert structure.stage is stage
    mapping = mapping_of(exchange, structure, created="2026-01-02T03:04:05+00:00")
    if stage is CallStage.IRRELEVANT:
        assert mapping is None
        assert read_by(exchange, structure) is None
        return
    assert mapping_from(json.loads(json.dumps(mapping.as_json()))) == mapping
    assert mapping.origin is Origin.STRUCTURE
    assert mapping.fits(exchange)
    assert mapping.read(exchange) == read_by(exchange, structure)


@pytest.mark.parametrize("exchange", SAMPLES.values(), ids=SAMPLES)
def test_damaged_calls_never_raise(exchange):
    """Any value of their bodies may be anything."""
    for call in damaged(exchange.call):
        changed = parse(call)
        structure = tell(changed)
        if structure is not None:
            read_by(changed, structure)


def test_a_body_that_was_cut_shows_no_shape():
    """Half a list is no list; its JSON cannot be parsed anyhow."""
    whole = search_call()
    call = dataclasses.replace(whole.call, cut=frozenset({"response"}))
    assert tell(dataclasses.replace(whole, call=call)) is None


def test_what_shows_too_little_is_not_told():
    """Then an LLM may be asked."""
    assert tell(exchange_of({"text": VACATION}, {"label": "policy"})) is None
