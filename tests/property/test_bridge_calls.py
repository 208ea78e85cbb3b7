"""Arbitrary calls through all that reads them in the bridge: always a decision, never an error."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from otel_raglog_proxy_bridge import front_answers, front_questions
from otel_raglog_proxy_bridge.classifying import Classifier
from otel_raglog_proxy_bridge.fronts import read_front
from otel_raglog_proxy_bridge.model import (
    Call,
    CallStage,
    EmbedderReading,
    LlmReading,
    RerankerReading,
    RetrieverReading,
)
from otel_raglog_proxy_bridge.parsing import parse
from otel_raglog_proxy_bridge.telling import tellers

# A busy machine is no failure.
patiently = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=150, derandomize=True
)

KINDS = {
    CallStage.EMBEDDER: EmbedderReading,
    CallStage.RETRIEVER: RetrieverReading,
    CallStage.RERANKER: RerankerReading,
    CallStage.LLM: LlmReading,
    CallStage.IRRELEVANT: type(None),
}
SAMPLES = Path(__file__).parent.parent / "golden" / "call_formats"
SAMPLE_CALLS = [json.loads(path.read_text())["call"] for path in sorted(SAMPLES.glob("*.json"))]
URLS = sorted({call["url"] for call in SAMPLE_CALLS})


def keys_in(data):
    """Return the keys of JSON data at any depth."""
    if isinstance(data, dict):
        return set(data).union(*map(keys_in, data.values()))
    return set().union(*map(keys_in, data)) if isinstance(data, list) else set()


KEYS = sorted(
    {
        key
        for call in SAMPLE_CALLS
        for side in ("request", "response", "events")
        for key in keys_in(call.get(side))
    }
)


def one_of_many(listed):
    """Return a strategy for one of a long list, which a failure's report would print whole."""
    return st.integers(0, len(listed) - 1).map(lambda place: listed[place])


keys = one_of_many(KEYS)
texts = st.text(max_size=20) | st.sampled_from(
    ["user", "system", "{", "data:", "query", "When does the night ferry leave?", "AAAAAAAAAAA="]
)
vectors = st.lists(st.floats(width=32), min_size=8, max_size=9)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.just(10**400)
    | st.floats()
    | texts
    | vectors
    | st.just("\ud800")
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys | texts, inner, max_size=5),
    max_leaves=25,
)
objects = st.dictionaries(keys, values, max_size=6)
bodies = (
    st.just("")
    | texts
    | (values | objects).map(json.dumps)
    | st.lists(objects.map(json.dumps), max_size=4).map("\n".join)
    | st.lists(objects.map(json.dumps), max_size=4).map(
        lambda events: "".join(f"data: {event}\n\n" for event in events)
    )
)
urls = one_of_many(URLS) | st.builds(
    "{}{}".format,
    st.sampled_from(["https://api.example.com/", "http://localhost:9/", "", "http://[::1/"]),
    st.text(max_size=20) | st.sampled_from(["v1/chat", "search?q=a", "%ff%2F", "x:predict", "//"]),
)


@st.composite
def own_requests(draw):
    """A sample's call with one side of it replaced by anything."""
    call = draw(one_of_many(SAMPLE_CALLS))
    request = json.dumps(call.get("request"))
    return {"url": call["url"], "request_body": draw(st.just(request) | bodies)}


calls = st.builds(
    lambda given_, more: Call(**{**more, **given_}),
    own_requests() | st.fixed_dictionaries({"url": urls, "request_body": bodies}),
    st.fixed_dictionaries(
        {
            "id": st.just("1"),
            "method": st.sampled_from(["POST", "GET", "PUT", "DELETE", "post", "", "?"]),
            "status": st.none() | st.sampled_from([0, 200, 204, 404, 500]),
            "request_headers": st.dictionaries(st.just("content-type"), texts),
            "response_headers": st.dictionaries(st.just("content-type"), texts),
            "response_body": bodies,
            "cut": st.sets(st.sampled_from(["request", "response"])).map(frozenset),
            "error": texts,
        }
    ),
)


@patiently
@given(calls, st.none() | st.sampled_from(list(CallStage)))
@example(Call("1", "POST", "http://x/v1/chat/completions", 200, {}, {}, "[" * 100_000, "{"), None)
@example(Call("1", "POST", "http://x/y", 200, {}, {}, '{"a":' * 900 + "1" + "}" * 900), None)
def test_any_call_is_decided_on(call, before):
    """A stage has a reading of its kind, and no stage has none; a rule and a reason are said."""
    found = Classifier(tellers()).classify(parse(call), before)
    assert isinstance(found.reading, KINDS[found.decision.stage])
    assert found.decision.rule
    assert found.decision.reason


@settings(patiently, max_examples=40, suppress_health_check=list(HealthCheck))
@given(st.lists(calls, max_size=4))
def test_any_call_is_decided_on_where_mappings_are_stored(tmp_path, given_calls):
    """What an earlier call left in the store breaks no later one."""
    classifier = Classifier(tellers(tmp_path, "pipeline"))
    for call in given_calls:
        found = classifier.classify(parse(call))
        assert isinstance(found.reading, KINDS[found.decision.stage])


FRONT_NAMES = [
    "question", "query", "messages", "message", "input", "data", "body", "answer", "response",
    "output", "outputs", "result", "results", "content", "text", "parts", "role", "type", "event",
    "delta", "token", "choices", "artifact", "ops", "path", "value", "kwargs", "variables", "error",
]  # fmt: skip
front_keys = st.sampled_from(FRONT_NAMES)
front_texts = st.sampled_from(
    ["Leave?", "27 days", "user", "ai", "", " ", '{"answer": 1}', "{ a }"]
)
front_values = st.recursive(
    scalars | front_texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(front_keys, inner, max_size=5),
    max_leaves=25,
)
front_objects = st.dictionaries(front_keys, front_values, max_size=6).map(json.dumps)
front_bodies = (
    front_objects
    | st.lists(front_objects, max_size=4).map("\n".join)
    | st.lists(front_objects, max_size=4).map(
        lambda sent: "".join(f"event: values\ndata: {each}\n\n" for each in sent)
    )
    | st.lists(front_objects, max_size=4).map(
        lambda sent: "".join(f"0:{each}\n0:{json.dumps(each)}\n" for each in sent)
    )
    | bodies
)


@patiently
@given(front_bodies, front_bodies, texts)
@example("[" * 100_000, '{"a":' * 50_000, "")
@example('{"query": "{' + " " * 9_000, "0:" + "1" * 9_000, "multipart/form-data")
def test_any_call_of_a_front_is_read(request_body, response_body, kind):
    """A question is a text with something in it; an answer is a text that does not repeat it."""
    call = Call(
        "1",
        "POST",
        "http://app/ask",
        200,
        {"content-type": kind},
        {"content-type": kind},
        request_body,
        response_body,
    )
    found = read_front(parse(call))
    if found is not None:
        assert found.question.strip()
        assert isinstance(found.answer, str)


def nested(name, wide, deep):
    """Return objects in each other under ``name``, each with ``wide`` others beside it."""
    made = {f"n{place}": {name: {}} for place in range(wide)}
    for _ in range(deep):
        made = {name: made, **{f"n{place}": {name: {}} for place in range(wide)}}
    return made


@pytest.mark.parametrize("name", ["input", "question", "messages"])
def test_what_a_request_costs_grows_with_its_size(monkeypatch, name):
    """However its objects lie in each other, each is looked at a few times."""
    assert looks(monkeypatch, front_questions, lambda: asked(nested(name, 50, 6))) < 2 * 700


@pytest.mark.parametrize("name", ["response", "answer", "result"])
def test_what_a_response_costs_grows_with_its_size(monkeypatch, name):
    """However its objects lie in each other, each is looked at a few times."""
    data = nested(name, 50, 6)
    assert looks(monkeypatch, front_answers, lambda: front_answers.answer_in(data)) < 20 * 700


def asked(data):
    """Return what is asked by a request of ``data``."""
    body = json.dumps(data)
    return front_questions.question_in(parse(Call("1", "POST", "http://app/", request_body=body)))


def looks(monkeypatch, module, read):
    """Return how many objects ``read`` looks at in ``module``."""
    counts = Counter()
    real = module.by_names

    def counted(data):
        counts["looks"] += 1
        return real(data)

    monkeypatch.setattr(module, "by_names", counted)
    read()
    return counts["looks"]
