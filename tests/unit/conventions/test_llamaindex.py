"""What the events of LlamaIndex's own OpenTelemetry integration say."""

import json
from dataclasses import replace

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.llamaindex import SCOPE, LlamaIndex
from otel_raglog.model import FieldStatus, Message, Role, SpanEvent


def read(*events, name="Some.method", dropped=0, **attributes):
    written = tuple(SpanEvent(event, 0, fields) for event, fields in events)
    (one,) = spans_of(span(name, attributes=attributes, events=written, scope=SCOPE))
    return LlamaIndex().read(replace(one, dropped_events_count=dropped))


@pytest.mark.parametrize(
    ("event", "role"),
    [
        ("QueryStartEvent", Role.CHAIN),
        ("SynthesizeEndEvent", Role.CHAIN),
        ("GetResponseStartEvent", Role.CHAIN),
        ("RetrievalStartEvent", Role.RETRIEVER),
        ("RetrievalEndEvent", Role.RETRIEVER),
        ("EmbeddingEndEvent", Role.EMBEDDER),
        ("SparseEmbeddingEndEvent", Role.EMBEDDER),
        ("ReRankStartEvent", Role.RERANKER),
        ("LLMPredictStartEvent", Role.LLM),
        ("LLMChatStartEvent", Role.LLM),
        ("LLMCompletionEndEvent", Role.LLM),
        ("AgentChatWithStepStartEvent", Role.AGENT),
    ],
)
def test_roles(event, role):
    """The kind of an event tells the role."""
    assert read((event, {})).role is role


def test_spans_without_events():
    """They are of the integration by their scope; other spans are not read."""
    assert read().role is Role.CHAIN
    (other,) = spans_of(span("GET /", scope="http"))
    assert LlamaIndex().read(other) is None
    (event,) = spans_of(span("x", scope="http", events=(SpanEvent("QueryStartEvent", 0, {}),)))
    assert LlamaIndex().read(event) is not None


def test_a_query():
    """The question is a text, or stands in a bundle; the answer is on the end."""
    facts = read(
        ("QueryStartEvent", {"query": "Why?"}), ("QueryEndEvent", {"response.response": "So."})
    )
    assert (facts.query.value, facts.output.value) == ("Why?", "So.")
    assert facts.input.source.key == "QueryStartEvent/query"
    bundle = {"query.query_str": "Why?", "query.custom_embedding_strs": ("A passage.",)}
    facts = read(("QueryStartEvent", bundle))
    assert facts.input_data == {"query_str": "Why?", "custom_embedding_strs": ["A passage."]}
    assert facts.query.value == "Why?"


def test_a_synthesizer_and_an_agent():
    """Both have a question and an answer."""
    facts = read(
        ("SynthesizeStartEvent", {"query": "Why?"}),
        ("SynthesizeEndEvent", {"response.response": "So."}),
    )
    assert (facts.input.value, facts.output.value) == ("Why?", "So.")
    agent = ("AgentChatWithStepStartEvent", {"user_msg": "Why?"})
    assert read(agent).input.value == "Why?"


NODES = json.dumps(
    [
        {"node": {"id_": "a", "text": "one", "metadata": {"page": 1}}, "score": 0.5},
        {"node": {"id_": "b", "text": "two", "metadata": {}}, "score": 0.25},
    ]
)


def test_a_retriever():
    """The query is a text or in a bundle, the nodes are JSON."""
    facts = read(
        ("RetrievalStartEvent", {"str_or_query_bundle.query_str": "why?"}),
        ("RetrievalEndEvent", {"nodes": NODES}),
    )
    assert facts.query.value == "why?"
    assert facts.query.source.key == "RetrievalStartEvent/str_or_query_bundle.query_str"
    assert [(c.id, c.text, c.score) for c in facts.documents.value] == [
        ("a", "one", 0.5),
        ("b", "two", 0.25),
    ]
    assert facts.documents.source.key == "RetrievalEndEvent/nodes"
    assert facts.structured_documents
    plain = read(("RetrievalStartEvent", {"str_or_query_bundle": "why?"}))
    assert plain.query.value == "why?"


@pytest.mark.parametrize(
    ("nodes", "status"),
    [
        ("[]", FieldStatus.EMPTY),
        ('[{"node": {"id_": "a", "te', FieldStatus.TRUNCATED),
        ("__REDACTED__", FieldStatus.REDACTED),
        ("null", FieldStatus.NOT_CAPTURED),
    ],
)
def test_nodes_that_are_not_there(nodes, status):
    """Nothing found, cut, hidden and not recorded are told apart."""
    assert read(("RetrievalEndEvent", {"nodes": nodes})).documents.status is status


def test_lost_events():
    """What is missing where events were dropped is lost."""
    facts = read(("RetrievalStartEvent", {"str_or_query_bundle": "why?"}), dropped=2)
    assert facts.documents.status is FieldStatus.EVICTED
    assert facts.loss.dropped_events == 2


def test_a_reranker():
    """Given nodes, kept nodes, query, model and number."""
    start = {"query.query_str": "why?", "nodes": NODES, "top_n": 1, "model_name": "r"}
    kept = json.dumps(json.loads(NODES)[:1])
    facts = read(("ReRankStartEvent", start), ("ReRankEndEvent", {"nodes": kept}))
    assert (facts.query.value, facts.model, facts.top_k) == ("why?", "r", 1)
    assert (len(facts.input_documents.value), len(facts.documents.value)) == (2, 1)
    assert read(("ReRankStartEvent", {"query": "null"})).query.status is FieldStatus.NOT_CAPTURED


@pytest.mark.parametrize("chunks", [("why?",), "why?", '["why?"]'])
def test_an_embedder(chunks):
    """The texts are on the end event, the model on the start event."""
    facts = read(
        ("EmbeddingStartEvent", {"model_dict.model_name": "e"}),
        ("EmbeddingEndEvent", {"chunks": chunks}),
    )
    assert (facts.embedding_texts.value, facts.model) == (("why?",), "e")
    started = read(("EmbeddingStartEvent", {}))
    assert started.embedding_texts.status is FieldStatus.NOT_CAPTURED


def test_a_chat():
    """Messages in blocks; what the provider answered has model, tokens and reason."""
    talk = [{"role": "user", "blocks": [{"block_type": "text", "text": "Why?"}]}]
    said = [
        {"block_type": "text", "text": "So."},
        {"block_type": "tool_call", "tool_name": "find", "tool_kwargs": {"query": "q"}},
    ]
    end = {
        "response.message.blocks": json.dumps(said),
        "response.raw.model": "m-1",
        "response.raw.choices": '[{"finish_reason": "stop"}]',
        "response.raw.usage.prompt_tokens": 3,
        "response.raw.usage.completion_tokens": 2,
        "response.raw.usage.total_tokens": 5,
    }
    start = {"messages": json.dumps(talk), "model_dict.model_name": "m"}
    facts = read(("LLMChatStartEvent", start), ("LLMChatEndEvent", end))
    assert facts.messages.value == (Message("user", "Why?"),)
    assert facts.output_messages.value == (Message("assistant", "So."),)
    assert facts.output_data == {"tool_calls": [{"name": "find", "arguments": {"query": "q"}}]}
    assert (facts.model, facts.finish_reason, facts.tokens.total) == ("m-1", "stop", 5)


def test_the_span_of_a_stream():
    """It ends before there is an answer."""
    facts = read(("LLMChatStartEvent", {"messages": "[]", "model_dict.model_name": "m"}))
    assert facts.output_messages.status is FieldStatus.NOT_CAPTURED
    assert (facts.model, facts.finish_reason) == ("m", None)


def test_a_completion():
    """A prompt and a text; other providers name reason and tokens differently."""
    end = {
        "response.text": "So.",
        "response.raw.stop_reason": "end_turn",
        "response.additional_kwargs.input_tokens": 3,
    }
    facts = read(("LLMCompletionStartEvent", {"prompt": "Why?"}), ("LLMCompletionEndEvent", end))
    assert facts.messages.value == (Message("user", "Why?"),)
    assert facts.output_messages.value == (Message("assistant", "So."),)
    assert (facts.finish_reason, facts.tokens.prompt) == ("end_turn", 3)


def test_a_prediction():
    """The span around a call has the template and what was put into it."""
    start = {
        "template.template": "{context_str} {query_str}",
        "template.kwargs.query_str": "Why?",
        "template_args.context_str": "One.",
        "template_args.n": 1,
    }
    facts = read(("LLMPredictStartEvent", start), ("LLMPredictEndEvent", {"output": "So."}))
    assert facts.prompt_template.value == "{context_str} {query_str}"
    assert facts.prompt_variables == {"query_str": "Why?", "context_str": "One."}
    assert facts.output_messages.value == (Message("assistant", "So."),)
    assert facts.messages.status is FieldStatus.NOT_CAPTURED


def test_tags():
    """Conversation and user are tags of the application's own; a dotted one is written as it is."""
    facts = read(**{"llamaindex.session_id": "c1", "llamaindex.user_id": "u"})
    assert (facts.session_id, facts.user_id) == ("c1", "u")
    assert read(**{"session.id": "c1"}).session_id == "c1"
    assert read().session_id is None
