"""What every convention in the registry promises, and the rules of a user as well."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from own_rules import custom_convention
from span_trees import span, spans_of

from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.registry import CONVENTIONS, marker_prefixes
from otel_raglog.model import FieldStatus, Role, ScoreKind, SpanEvent, SpanFacts

EVERY = (custom_convention(), *CONVENTIONS)
every = pytest.mark.parametrize("convention", EVERY, ids=lambda c: c.name)
FACTS = set(SpanFacts.__dataclass_fields__)
TRUNCATED = ['{"a": [{"content": "x', '[{"role": "user", "parts": [{"type"', '{"query":', '"open']
SHAPES = [
    None,
    True,
    -1,
    7,
    3.5,
    float("nan"),
    "",
    "text",
    "__REDACTED__",
    b"\xff",
    "{}",
    "[]",
    "null",
    '"quoted"',
    *TRUNCATED,
    "{'key': 'python repr', 'n': None}",
    "[Document(id=1, content: 'x', meta: {'a': 1}, score: 0.5)]",
    json.dumps([{"id": 7, "text": "integer id", "score": "0.5", "metadata": "{'page': 1}"}]),
    json.dumps({"documents": [{"page_content": "p", "metadata": {"a": [1]}}, None, 3, "s"]}),
    json.dumps([{"role": "user", "parts": [{"type": "text", "content": "hi"}, {}, 4]}]),
    json.dumps({"messages": [["human", "hi"]], "kwargs": {"query": ["a", 1]}, "args": [{}]}),
    "[" * 5_000,
    ("a", "b"),
    ({"index": 0, "relevanceScore": 0.5}, {"role": "user", "content": ("a",)}),
    {"a": {"b": ("c", None)}, "role": "user"},
]
VALUES = st.one_of(
    st.sampled_from(SHAPES),
    st.text(max_size=20),
    st.integers(),
    st.floats(),
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3).map(tuple)
            | st.dictionaries(st.text(max_size=3), inner, max_size=2)
        ),
        max_leaves=6,
    ),
)
KINDS = st.sampled_from(
    ["LLM", "chat", "retrieval", "RETRIEVER", '"RERANKER"', "embeddings", "query", "no such", ""]
)


def keys_of(convention):
    """Return keys that the convention may look for, with indices in and out of order."""
    listed = [
        key.partition("/")[0].replace(".N", f".{index}")
        for wanted in convention.wanted.values()
        for item in wanted
        for key in item.keys
        for index in (0, 2)
    ]
    return sorted({*convention.marker_prefixes, *listed})


def spans_for(data, convention):
    """Draw a span that has something of the vocabulary on it."""
    suffixes = st.sampled_from(["", "", ".value", ".kind", ".0.x", "0.document.content", ".type"])
    keys = st.builds(str.__add__, st.sampled_from(keys_of(convention)), suffixes)
    attributes = st.dictionaries(keys, VALUES | KINDS, max_size=8)
    names = st.sampled_from([*convention.marker_names, "x", "A.retrieve", "rerank docs", "chat m"])
    event_names = st.sampled_from([*convention.marker_prefixes, "gen_ai.choice", "exception"])
    inner = st.sampled_from([key.rpartition("/")[2] for key in keys_of(convention)] + ["content"])
    events = st.lists(
        st.builds(
            SpanEvent,
            event_names,
            st.just(0),
            st.dictionaries(inner, VALUES, max_size=3),
        ),
        max_size=3,
    ).map(tuple)
    scopes = st.sampled_from(["", "a.tracer", *getattr(convention, "sender_scopes", ())])
    (odd,) = spans_of(
        span(
            data.draw(names),
            attributes=data.draw(attributes),
            events=data.draw(events),
            scope=data.draw(scopes),
        )
    )
    return odd


@every
def test_names_and_markers(convention):
    """A convention has a unique short name, and what marks its spans is held."""
    assert convention.name.isidentifier()
    assert convention.title
    assert [c.name for c in EVERY].count(convention.name) == 1
    assert convention.marker_prefixes or convention.marker_names
    conventions = ConventionSet(EVERY)
    assert set(convention.marker_prefixes) <= set(marker_prefixes(conventions))
    assert set(convention.marker_names) <= set(conventions.marker_names())


@every
def test_what_is_looked_for_is_said(convention):
    """For ``explain``: facts by their name in the model, and keys, or a note why there are none."""
    assert convention.wanted
    for role, wanted in convention.wanted.items():
        assert isinstance(role, Role)
        for item in wanted:
            assert item.fact in FACTS
            assert item.keys or item.note
    assert "\n" not in convention.remedy


@every
@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"http.request.method": "GET", "url.full": "http://x/query?q=1"},
        {"db.system": "postgresql", "db.statement": "SELECT * FROM users WHERE id = 1"},
        {"db.system.name": "redis", "db.query.text": "GET key", "db.operation.name": "GET"},
        {"rpc.system": "grpc", "rpc.service": "search.Search", "rpc.method": "Query"},
        {"messaging.system": "kafka", "messaging.operation": "receive"},
        {"code.function": "retrieve", "thread.name": "main", "faas.trigger": "http"},
    ],
    ids=lambda attributes: next(iter(attributes), "nothing"),
)
def test_plain_spans_are_not_read(convention, attributes):
    """Spans of ordinary instrumentations give no facts, and are not held for the convention."""
    (plain,) = spans_of(span("GET /search", attributes=attributes))
    assert convention.read(plain) is None
    assert not any(key.startswith(convention.marker_prefixes) for key in attributes)
    for scope in getattr(convention, "sender_scopes", ()):
        (same,) = spans_of(span("GET /search", attributes=attributes, scope=scope))
        assert convention.read(same) is None
        assert ConventionSet(EVERY).speaking(same) == ()


@every
@settings(
    deadline=None, max_examples=150, derandomize=True, suppress_health_check=list(HealthCheck)
)
@given(data=st.data())
def test_reading_never_raises(convention, data):
    """Whatever the values are, reading gives facts of that span or none, the same each time."""
    odd = spans_for(data, convention)
    facts = convention.read(odd)
    assert facts is None or (facts.span_id, facts.convention) == (odd.span_id, convention.name)
    assert repr(convention.read(odd)) == repr(facts)


@every
@settings(deadline=None, max_examples=80, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_foreign_keys_change_nothing(convention, data):
    """What other instrumentations wrote on the span does not change what is read of this one."""
    odd = spans_for(data, convention)
    foreign = {"http.route": "/ask", "net.peer.name": "h", "code.lineno": 7, "zzz.0.content": "no"}
    both = {**foreign, **odd.attributes}
    (more,) = spans_of(span(odd.name, attributes=both, events=odd.events, scope=odd.scope_name))
    before, after = convention.read(odd), convention.read(more)
    assert repr(after) == repr(before)


@every
@settings(deadline=None, max_examples=80, derandomize=True, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_facts_are_what_the_model_says(convention, data):
    """Chunks have texts and ids of text, scores are finite or missing, missing fields say why."""
    facts = convention.read(spans_for(data, convention))
    if facts is None:
        return
    for field in (facts.documents, facts.input_documents):
        for chunk in field.value or ():
            assert isinstance(chunk.text, str)
            assert chunk.id is None or isinstance(chunk.id, str)
            assert chunk.score is None or abs(chunk.score) < float("inf")
            assert chunk.score is not None or chunk.score_kind is ScoreKind.UNKNOWN
    for name in ("input", "output", "query", "embedding_texts", "messages", "output_messages"):
        field = getattr(facts, name)
        assert isinstance(field.status, FieldStatus)
        assert field.value is None or field.status in {
            FieldStatus.PRESENT,
            FieldStatus.TRUNCATED,
            FieldStatus.EMPTY,
        }
    for messages in (facts.messages, facts.output_messages):
        for message in messages.value or ():
            assert isinstance(message.role, str)
            assert isinstance(message.content, str)
    for text in facts.embedding_texts.value or ():
        assert isinstance(text, str)
    assert facts.model is None or isinstance(facts.model, str)
    assert facts.session_id is None or isinstance(facts.session_id, str)
