"""What the spans of a captured run say, in OpenInference's words."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from bridge_calls import Pipeline

from otel_raglog_proxy_bridge.fronts import FrontCall
from otel_raglog_proxy_bridge.model import (
    Call,
    ChatMessage,
    Document,
    LlmReading,
    RetrieverReading,
    Search,
    ToolCall,
)
from otel_raglog_proxy_bridge.runs import CapturedRun, Grouper
from otel_raglog_proxy_bridge.spans import run_to_spans

LEAVE = "Annual leave is 27 days a year for everybody."
LAPTOPS = "Laptops are replaced every four years."


def run_of(*calls, front=None):
    grouper = Grouper()
    for call in calls:
        grouper.add(call)
    (run,) = grouper.flush()
    return CapturedRun(run.calls, front, run.told_by, run.trace_id, run.answered)


def spans_of(run):
    written = run_to_spans(run, "shop")
    (scope,) = written.resource_spans["scopeSpans"]
    return scope["spans"]


def attributes_of(span):
    return {item["key"]: next(iter(item["value"].values())) for item in span["attributes"]}


def of_kind(run, kind):
    found = map(attributes_of, spans_of(run))
    return [each for each in found if each["openinference.span.kind"] == kind]


def rag_run(front=None):
    app = Pipeline()
    return run_of(
        app.embed("How much leave?"),
        app.search("How much leave?", LEAVE, LAPTOPS),
        app.rerank("How much leave?", [LAPTOPS, LEAVE], [1, 0]),
        app.chat(f"{LEAVE} How much leave?", "27 days", system="Be brief"),
        front=front,
    )


def test_a_run_is_one_trace_with_a_root():
    """Every call is a child of the root, which says how the calls were put together."""
    root, *children = spans_of(rag_run())
    assert "parentSpanId" not in root
    assert {child["parentSpanId"] for child in children} == {root["spanId"]}
    assert {span["traceId"] for span in [root, *children]} == {root["traceId"]}
    assert attributes_of(root)["proxy_bridge.grouped_by"] == "content"
    assert attributes_of(root)["raglog.run.finished"] is True


def test_the_same_calls_give_the_same_ids():
    """Ids are hashes of the calls: a capture analysed twice is the same trace."""
    assert spans_of(rag_run()) == spans_of(rag_run())


def test_a_vector_search_gets_the_text_of_its_vector():
    """The query stands on the retriever, and its hits with ids, texts and scores."""
    (found,) = of_kind(rag_run(), "RETRIEVER")
    assert found["input.value"] == "How much leave?"
    assert found["retrieval.documents.0.document.id"] == "annual-leave-is"
    assert found["retrieval.documents.1.document.content"] == LAPTOPS
    assert found["retrieval.documents.1.document.score"] == 0.5


def test_a_rerankers_documents_have_the_ids_under_which_they_were_found():
    """Rerank APIs know texts and positions alone."""
    (ranked,) = of_kind(rag_run(), "RERANKER")
    assert ranked["reranker.query"] == "How much leave?"
    assert ranked["reranker.input_documents.0.document.id"] == "laptops-are-replaced"
    assert ranked["reranker.output_documents.0.document.id"] == "annual-leave-is"
    assert ranked["reranker.output_documents.0.document.content"] == LEAVE


def test_a_text_found_under_two_ids_gives_a_reranker_none():
    """A wrong id would be worse than none."""
    app = Pipeline()
    twice = RetrieverReading(
        (Search("leave days", None, (Document("a", LEAVE), Document("b", LEAVE))),)
    )
    run = run_of(app.call(twice), app.rerank("leave days", [LEAVE], [0]))
    (ranked,) = of_kind(run, "RERANKER")
    assert "reranker.input_documents.0.document.id" not in ranked


def test_a_model_call_has_messages_answer_and_tokens():
    """As OpenInference writes them."""
    (said,) = of_kind(rag_run(), "LLM")
    assert said["llm.model_name"] == "l"
    assert said["llm.input_messages.0.message.role"] == "system"
    assert said["llm.output_messages.0.message.content"] == "27 days"
    assert said["llm.finish_reason"] == "stop"
    assert said["llm.token_count.total"] == "12"


def test_a_call_says_who_decided_and_by_which_rule():
    """So that a wrong stage can be traced to its rule."""
    (said,) = of_kind(rag_run(), "LLM")
    assert said["proxy_bridge.stage"] == "llm"
    assert said["proxy_bridge.decided_by"] == "rule"
    assert said["proxy_bridge.rule"] == "test.rule"
    assert said["proxy_bridge.call_id"] == "c4"


def test_the_front_call_is_the_root():
    """It holds question, answer, session, and goes on with the caller's trace."""
    call = Call("f", "POST", "http://app/ask", 200, started_ns=5, ended_ns=9)
    front = FrontCall(call, "Leave?", "27", "s1", "a" * 32, "b" * 16)
    root = spans_of(rag_run(front))[0]
    assert root["traceId"] == "a" * 32
    assert root["parentSpanId"] == "b" * 16
    found = attributes_of(root)
    assert found["input.value"] == "Leave?"
    assert found["output.value"] == "27"
    assert found["session.id"] == "s1"
    assert root["name"] == "POST /ask"


def test_a_front_call_alone_is_a_run():
    """The question was answered without any call that was seen."""
    front = FrontCall(Call("f", "POST", "http://app/ask", 200), "Leave?", "27")
    (root,) = spans_of(CapturedRun((), front, "front", "", answered=False))
    assert attributes_of(root)["input.value"] == "Leave?"


def test_a_search_without_hits_says_that_it_found_nothing():
    """An empty list is not the same as nothing recorded."""
    run = run_of(Pipeline().search("leave days", by_text=True))
    (found,) = of_kind(run, "RETRIEVER")
    assert json.loads(found["output.value"]) == {"documents": []}


def test_a_failed_search_does_not_say_that_it_found_nothing():
    """No answer came: how many documents there are is not known."""
    app = Pipeline()
    read = app.search("leave days", by_text=True)
    failed = type(read)(
        type(read.exchange)(
            type(read.call)("c1", "POST", "http://api.test/x", 503),
            "api.test",
            None,
            "/x",
            (),
            {},
            None,
            None,
        ),
        read.decision,
        read.reading,
    )
    (found,) = of_kind(run_of(failed), "RETRIEVER")
    assert "output.value" not in found


def test_several_searches_of_one_call_are_spans_of_their_own():
    """Batch APIs make several searches at once."""
    app = Pipeline()
    both = RetrieverReading((Search("leave days"), Search("laptop age")))
    run = run_of(app.call(both))
    assert [found["input.value"] for found in of_kind(run, "RETRIEVER")] == [
        "leave days",
        "laptop age",
    ]


def test_an_api_that_searches_and_answers_is_two_spans():
    """What it found is a search, what it said a model's answer."""
    reading = LlmReading(
        "m", (ChatMessage("user", "Leave?"),), "27", retrieved=(Document("1", LEAVE),)
    )
    run = run_of(Pipeline().call(reading))
    assert of_kind(run, "RETRIEVER")[0]["retrieval.documents.0.document.content"] == LEAVE
    assert of_kind(run, "LLM")[0]["llm.output_messages.0.message.content"] == "27"


def test_documents_given_beside_the_messages_are_in_the_prompt():
    """They are what the model saw."""
    reading = LlmReading(
        "m", (ChatMessage("user", "Leave?"),), "27", documents=(Document("1", LEAVE),)
    )
    (said,) = of_kind(run_of(Pipeline().call(reading)), "LLM")
    assert said["llm.input_messages.0.message.content"] == LEAVE
    assert said["llm.input_messages.1.message.content"] == "Leave?"


def test_tool_calls_are_written():
    """With name and arguments."""
    reading = LlmReading(
        "m", (ChatMessage("user", "Leave?"),), None, (ToolCall("search", '{"q": 1}'),)
    )
    (said,) = of_kind(run_of(Pipeline().call(reading)), "LLM")
    tool = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    assert said[f"{tool}.name"] == "search"
    assert said[f"{tool}.arguments"] == '{"q": 1}'


def test_a_call_that_failed_is_an_error():
    """Whatever the reason."""
    app = Pipeline()
    read = app.embed("leave")
    broken = type(read.call)("c1", "POST", "http://api.test/x", 503, started_ns=1, ended_ns=2)
    exchange = type(read.exchange)(broken, "api.test", None, "/x", (), {}, None, None)
    (span,) = spans_of(run_of(type(read)(exchange, read.decision, read.reading)))
    assert span["status"] == {"code": 2, "message": "HTTP status 503"}


def test_a_call_of_no_run_has_no_root():
    """A lone embedding or chat is the span itself."""
    (span,) = spans_of(run_of(Pipeline().embed("Some passage to be stored")))
    assert "parentSpanId" not in span


@pytest.mark.parametrize(
    "odd",
    [
        {"url": "http://[::1"},
        {"url": "http://x/\ud800", "id": "\udfff", "method": "\ud83d", "error": "\ud800"},
        {"started_ns": -5, "ended_ns": -9},
        {"started_ns": 2**70, "ended_ns": 2**71},
        {"started_ns": 10, "ended_ns": 5},
        {"status": 10**30},
    ],
)
def test_odd_calls_become_spans_that_can_be_read(odd):
    """Whatever a file says: URLs that are none, lone surrogates, times before or after time."""
    run = rag_run()
    call = replace(run.calls[0].call, **odd)
    first = replace(run.calls[0], exchange=replace(run.calls[0].exchange, call=call))
    front = FrontCall(replace(call, id="front"), "leave\ud800?", "27")
    for chosen in (None, front):
        written = run_to_spans(replace(run, calls=(first, *run.calls[1:]), front=chosen), "shop")
        json.dumps(written.resource_spans, allow_nan=False, ensure_ascii=False).encode()
        (scope,) = written.resource_spans["scopeSpans"]
        for span in scope["spans"]:
            started, ended = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
            assert 0 <= started <= ended < 2**64
            assert len(span["spanId"]) == 16


def test_names_are_short_whatever_a_model_is_called():
    """They are shown in lists."""
    run = run_of(Pipeline().call(LlmReading("m" * 10_000, (ChatMessage("user", "x"),), "y")))
    assert all(len(span["name"]) <= 200 for span in spans_of(run))


def test_what_is_no_json_in_metadata_and_parameters_is_told_as_text():
    """Mappings may read anything."""
    app = Pipeline()
    search = RetrieverReading((Search("q", None, ()),), 4, {"year": b"2024"})
    chat = LlmReading("m", (ChatMessage("user", "x"),), "y", parameters={"stop": {1}})
    run = run_of(app.call(search))
    assert "2024" in of_kind(run, "RETRIEVER")[0]["metadata"]
    assert "{1}" in of_kind(run_of(app.call(chat)), "LLM")[0]["llm.invocation_parameters"]
