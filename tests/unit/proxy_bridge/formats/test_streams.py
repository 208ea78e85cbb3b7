"""Answers to the events that they consist of."""

from __future__ import annotations

from call_exchanges import exchange_of

from otel_raglog_proxy_bridge.formats.streams import events_in


def test_a_stream_gives_its_events():
    """In their order."""
    assert events_in(exchange_of("/x", events=[{"a": 1}, {"b": 2}])) == ({"a": 1}, {"b": 2})


def test_a_whole_answer_counts_as_one_event():
    """A stream of one JSON line looks just like it."""
    assert events_in(exchange_of("/x", response='{"a": 1}\n')) == ({"a": 1},)


def test_no_answer_has_no_events():
    """Neither one that is missing nor one that is no JSON."""
    assert events_in(exchange_of("/x")) == ()
    assert events_in(exchange_of("/x", response="<html>")) == ()
