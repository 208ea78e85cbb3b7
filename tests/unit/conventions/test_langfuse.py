"""What spans of Langfuse's SDKs say."""

import json
from dataclasses import replace

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.langfuse import Langfuse
from otel_raglog.model import FieldStatus, Message, Role, ScoreKind, TokenUsage

DOCUMENTS = [
    {"id": "a", "page_content": "one", "metadata": {"score": 0.9}, "type": "Document"},
    {"id": "b", "page_content": "two", "metadata": {"score": 0.4}, "type": "Document"},
]


def read(kind=None, given=None, said=None, name="x", parent=None, **attributes):
    """Read a span; two underscores in the name of an attribute stand for a dot."""
    found = {f"langfuse.{key.replace('__', '.')}": value for key, value in attributes.items()}
    for key, value in (("type", kind), ("input", given), ("output", said)):
        if value is not None:
            found[f"langfuse.observation.{key}"] = (
                value if isinstance(value, str) else json.dumps(value)
            )
    options = {"parent": parent} if parent else {}
    (one,) = spans_of(span(name, attributes=found, **options))
    return Langfuse().read(one)


def call(*args, **kwargs):
    return {"args": list(args), "kwargs": kwargs}


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("generation", Role.LLM),
        ("embedding", Role.EMBEDDER),
        ("retriever", Role.RETRIEVER),
        ("tool", Role.TOOL),
        ("agent", Role.AGENT),
        ("chain", Role.CHAIN),
        ("SPAN", Role.CHAIN),
        ("event", Role.CHAIN),
        ("evaluator", Role.EVALUATOR),
        ("guardrail", Role.GUARDRAIL),
        ("something new", Role.UNKNOWN),
    ],
)
def test_types(kind, role):
    """The type of the observation is the kind of work."""
    assert read(kind).role is role


def test_no_type():
    """Without a type, one with a model is a generation, as for Langfuse's server."""
    assert read(given="q").role is Role.UNKNOWN
    assert read(observation__model__name="m").role is Role.LLM


def test_a_generation():
    """Messages, answer, model and tokens; a finish reason only where the output has one."""
    facts = read(
        "generation",
        [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Why?"}],
        {"role": "assistant", "content": "Because."},
        observation__model__name="m",
        observation__usage_details='{"input": 7, "output": 2, "total": 9}',
    )
    assert facts.messages.value == (Message("system", "Be short."), Message("user", "Why?"))
    assert facts.output_messages.value == (Message("assistant", "Because."),)
    assert (facts.model, facts.tokens) == ("m", TokenUsage(7, 2, 9))
    assert facts.finish_reason is None


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ('{"prompt_tokens": 7, "completion_tokens": 2, "x": null}', TokenUsage(7, 2)),
        ('{"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}', TokenUsage(7, 2, 9)),
        ('{"input": "many"}', TokenUsage()),
        ("[7]", TokenUsage()),
    ],
)
def test_usage_of_every_client(usage, tokens):
    """Usage is written by the names of the client's API."""
    assert read("generation", observation__usage_details=usage).tokens == tokens


def test_a_model_in_the_metadata():
    """LangChain's name of the model stands in the metadata, as JSON."""
    facts = read("generation", observation__metadata__ls_model_name='"m"')
    assert facts.model == "m"


def test_a_retriever_of_langchain():
    """A plain question in, serialized documents out."""
    facts = read("retriever", "why?", DOCUMENTS)
    assert facts.query.value == "why?"
    assert [(c.id, c.text, c.score, c.score_kind) for c in facts.documents.value] == [
        ("a", "one", 0.9, ScoreKind.SIMILARITY),
        ("b", "two", 0.4, ScoreKind.SIMILARITY),
    ]


def test_decorated_functions():
    """Arguments have no names: a search text, documents and messages are known by their shape."""
    search = read("retriever", call("why?", 4), DOCUMENTS)
    assert (search.query.value, search.top_k) == ("why?", None)
    assert read("retriever", call("why?", top_k=4)).query.value == "why?"
    ranked = read("span", call("why?", DOCUMENTS), DOCUMENTS[:1])
    assert (ranked.query.value, len(ranked.input_documents.value)) == ("why?", 2)
    assert read("embedding", call("why?", "m")).embedding_texts.value == ("why?",)
    assert read("embedding", call(["a", "b"])).embedding_texts.value == ("a", "b")
    messages = [{"role": "user", "content": "Why?"}]
    assert read("generation", call(messages, 0.5)).messages.value == (Message("user", "Why?"),)
    assert read("generation", call("Why?", 0.5)).messages.value == (Message("user", "Why?"),)
    assert read("generation", call(3, 0.5)).messages.status is FieldStatus.NOT_CAPTURED
    only = read("chain", call("Why?"))
    assert (only.input.value, only.input_data) == ("Why?", None)
    assert read("chain", call("")).input.status is FieldStatus.EMPTY
    assert read("chain", call(4)).input_data is None


def test_a_trace_of_an_older_sdk():
    """The input and output of the trace are those of the root, and of no other span."""
    old = {"trace__input": "Why?", "trace__output": '{"answer": "Because."}'}
    root = read("span", **old)
    assert (root.input.value, root.output_data) == ("Why?", {"answer": "Because."})
    assert root.input.source.key == "langfuse.trace.input"
    assert read("span", "own", **old).input.value == "own"
    inner = read("span", parent=b"parent00", **old)
    assert inner.input.status is FieldStatus.NOT_CAPTURED


@pytest.mark.parametrize(
    "mask", ["<fully masked due to failed mask function>", "***", "[REDACTED]", "__REDACTED__"]
)
def test_masks(mask):
    """What a mask function put in place of the content is never taken for it."""
    facts = read("generation", mask, [{"role": "assistant", "content": mask}])
    assert facts.messages.status is FieldStatus.REDACTED
    assert facts.output_messages.status is FieldStatus.REDACTED
    assert read("chain", call(mask)).input.status is FieldStatus.REDACTED
    assert read("retriever", {"query": mask}).query.status is FieldStatus.REDACTED


@pytest.mark.parametrize("place", ["attribute", "resource"])
def test_langfuse_s_own_judges(place):
    """Model calls by which Langfuse judges are evaluations."""
    environment = {"langfuse.environment": "langfuse-llm-as-a-judge"}
    attributes = {"langfuse.observation.type": "generation"}
    if place == "attribute":
        attributes |= environment
    (one,) = spans_of(span("x", attributes=attributes))
    if place == "resource":
        one = replace(one, resource=environment)
    assert Langfuse().read(one).role is Role.EVALUATOR


def test_session_and_user():
    """Both are written under plain names; older SDKs had their own."""
    (one,) = spans_of(
        span(
            "x",
            attributes={
                "langfuse.observation.type": "span",
                "session.id": "s",
                "langfuse.user.id": "u",
            },
        )
    )
    facts = Langfuse().read(one)
    assert (facts.session_id, facts.user_id) == ("s", "u")


def test_a_tool():
    """A tool is called as its span."""
    assert read("tool", name="search_docs").tool_name == "search_docs"


def test_spans_of_others():
    """Names and tags of a trace on another instrumentation's span say nothing of that span."""
    assert read(trace__name="t", trace__tags='["a"]') is None
    assert read(session__id="s").session_id == "s"
    (plain,) = spans_of(span("x", attributes={"langfuse.internal.is_app_root": True}))
    assert Langfuse().read(plain) is None
