"""Calls in, runs and their spans out."""

from __future__ import annotations

import json

from otel_raglog_proxy_bridge.classifying import Classifier, by_known_api
from otel_raglog_proxy_bridge.line import Line, LineOptions
from otel_raglog_proxy_bridge.model import Call, Side


def line():
    return Line(LineOptions("shop", "1.0"), Classifier((by_known_api(),)))


def chat(call_id="1", **more):
    body = json.dumps({"messages": [{"role": "user", "content": "Hi"}]})
    return Call(call_id, "POST", "http://h/v1/chat/completions", 200, request_body=body, **more)


def test_calls_are_counted_by_what_they_are():
    """Irrelevant ones too."""
    made = line()
    made.add(chat())
    made.add(Call("2", "GET", "http://h/v1/models", 200))
    assert made.counts == {"llm": 1, "irrelevant": 1}


def test_spans_name_the_pipeline():
    """As the service that they are of."""
    made = line()
    made.add(chat())
    (run,) = made.flush()
    written = made.spans(run)
    names = {
        item["key"]: item["value"] for item in written.resource_spans["resource"]["attributes"]
    }
    assert names["service.name"] == {"stringValue": "shop"}
    assert written.resource_spans["scopeSpans"][0]["scope"]["version"] == "1.0"
    assert written.span_count == 1


def test_a_front_call_ends_its_run():
    """The spans go out at once."""
    made = line()
    made.begin_front("f", 1)
    assert made.add(chat(started_ns=2, ended_ns=3)) == ()
    front = Call(
        "f", "POST", "http://app/ask", 200, request_body='{"question": "Hi?"}', side=Side.FRONT
    )
    (run,) = made.add(front)
    assert run.front.question == "Hi?"
    assert made.counts["front"] == 1


def test_a_call_that_is_dropped_is_waited_for_no_more():
    """Neither as a call in flight nor as a question."""
    made = line()
    made.begin_front("f", 1)
    made.begin("1", 1)
    made.add(chat("2", started_ns=2, ended_ns=3))
    made.forget("f")
    made.forget("1")
    assert len(made.tick(10**12)) == 1


def test_a_trace_header_at_the_front_marks_its_calls():
    """A pipeline that passes headers on tells by itself what belongs together."""
    made = line()
    trace = f"00-{'a' * 32}-{'b' * 16}-01"
    made.begin_front("f1", 1, trace)
    made.begin_front("f2", 1)
    made.add(chat("1", started_ns=2, ended_ns=3, request_headers={"traceparent": trace}))
    front = Call(
        "f1", "POST", "http://app/ask", 200, request_body='{"question": "Other?"}', side=Side.FRONT
    )
    (run,) = made.add(front)
    assert [read.call.id for read in run.calls] == ["1"]
