"""What spans of MLflow tracing say."""

import json

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.mlflow import MlFlow
from otel_raglog.model import FieldStatus, Message, Role, ScoreKind, TokenUsage

DOCUMENTS = [
    {"page_content": "one", "metadata": {"relevance_score": 0.9}, "id": "a"},
    {"page_content": "two", "metadata": {"relevance_score": 0.4}, "id": "b"},
]


def read(kind=None, given=None, said=None, name="x", raw=None, parent=None, **attributes):
    """Read a span whose values are written as MLflow writes them: as JSON, all of them."""
    found = {f"mlflow.{key.replace('__', '.')}": json.dumps(v) for key, v in attributes.items()}
    for key, value in (("spanType", kind), ("spanInputs", given), ("spanOutputs", said)):
        if value is not None:
            found[f"mlflow.{key}"] = json.dumps(value)
    options = {"parent": parent} if parent else {}
    (one,) = spans_of(span(name, attributes={**found, **(raw or {})}, **options))
    return MlFlow().read(one)


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("LLM", Role.LLM),
        ("CHAT_MODEL", Role.LLM),
        ("EMBEDDING", Role.EMBEDDER),
        ("RETRIEVER", Role.RETRIEVER),
        ("RERANKER", Role.RERANKER),
        ("TOOL", Role.TOOL),
        ("AGENT", Role.AGENT),
        ("CHAIN", Role.CHAIN),
        ("PARSER", Role.CHAIN),
        ("MEMORY", Role.CHAIN),
        ("GUARDRAIL", Role.GUARDRAIL),
        ("EVALUATOR", Role.EVALUATOR),
        ("UNKNOWN", Role.UNKNOWN),
        ("my own", Role.UNKNOWN),
    ],
)
def test_span_types(kind, role):
    """The span's type is the kind of work; it stands in quotes, or not where another wrote it."""
    assert read(kind).role is role
    assert read(raw={"mlflow.spanType": kind}).role is role


def test_quoted_texts():
    """A text is JSON, so that it stands in quotes: these are no part of it."""
    facts = read("CHAIN", 'Say "why"?', "Because.\n")
    assert (facts.input.value, facts.output.value) == ('Say "why"?', "Because.\n")
    assert (facts.input_data, facts.input.source.key) == (None, "mlflow.spanInputs")
    assert read("CHAIN", "").input.status is FieldStatus.EMPTY
    assert read("CHAIN", raw={"mlflow.spanInputs": "null"}).input.status is (
        FieldStatus.NOT_CAPTURED
    )
    assert read("CHAIN", raw={"mlflow.spanInputs": "plain"}).input.value == "plain"
    assert read("CHAIN", "__REDACTED__").input.status is FieldStatus.REDACTED


def test_a_cut_text():
    """A text whose end was cut off is known by the quote that is missing."""
    facts = read("CHAIN", raw={"mlflow.spanInputs": '"What does it cost to'})
    assert (facts.input.value, facts.input.status) == (
        "What does it cost to",
        FieldStatus.TRUNCATED,
    )
    assert facts.loss.truncated == ("mlflow.spanInputs",)


def test_a_model():
    """Messages and response in the client's or LangChain's shape, tokens under a key."""
    facts = read(
        "CHAT_MODEL",
        {"model": "asked", "messages": [{"role": "user", "content": "Why?"}]},
        {"choices": [{"message": {"role": "assistant", "content": "B."}, "finish_reason": "stop"}]},
        llm__model="answered",
        chat__tokenUsage={"input_tokens": 7, "output_tokens": 2, "total_tokens": 9},
    )
    assert facts.messages.value == (Message("user", "Why?"),)
    assert facts.output_messages.value == (Message("assistant", "B."),)
    assert (facts.model, facts.finish_reason) == ("answered", "stop")
    assert facts.tokens == TokenUsage(7, 2, 9)
    assert read("LLM", {"model": "asked", "prompt": "Why?"}).model == "asked"
    assert read("LLM", {"model": 3}).model is None
    assert read("LLM", chat__tokenUsage="many").tokens == TokenUsage()


def test_a_search():
    """A question or named arguments in, documents out."""
    facts = read("RETRIEVER", "why?", DOCUMENTS)
    assert (facts.query.value, [c.id for c in facts.documents.value]) == ("why?", ["a", "b"])
    decorated = read("RETRIEVER", {"query": "why?", "top_k": 4}, DOCUMENTS)
    assert (decorated.query.value, decorated.top_k) == ("why?", 4)


def test_a_reranker():
    """Query and candidates in, selected documents out."""
    facts = read("RERANKER", {"query": "why?", "documents": DOCUMENTS}, DOCUMENTS[:1])
    assert (facts.query.value, len(facts.input_documents.value)) == ("why?", 2)
    (kept,) = facts.documents.value
    assert (kept.score, kept.score_kind) == (0.9, ScoreKind.SIMILARITY)


def test_an_embedder():
    """The texts stand in the client's arguments."""
    assert read("EMBEDDING", {"model": "m", "input": ["a"]}).embedding_texts.value == ("a",)


def test_a_tool():
    """A tool is known by its function, else by its span."""
    assert read("TOOL", spanFunctionName="find").tool_name == "find"
    assert read("TOOL", name="search_docs").tool_name == "search_docs"


def test_the_trace_s_own_input_and_output():
    """Those of the trace are the root's."""
    whole = {"traceInputs": "Why?", "traceOutputs": {"answer": "Because."}}
    facts = read("CHAIN", **whole)
    assert (facts.input.value, facts.output_data) == ("Why?", {"answer": "Because."})
    assert read("CHAIN", parent=b"parent00", **whole).input.status is FieldStatus.NOT_CAPTURED


def test_session_and_user():
    """Both may stand on a span, under the general names or MLflow's own."""
    facts = read("CHAIN", trace__session="s", trace__user="u")
    assert (facts.session_id, facts.user_id) == ("s", "u")
    facts = read("CHAIN", raw={"session.id": "s", "user.id": "u"})
    assert (facts.session_id, facts.user_id) == ("s", "u")
    assert read("CHAIN", raw={"mlflow.trace.session": "***"}).session_id is None


def test_spans_of_others():
    """A span without a key of MLflow is not read."""
    (plain,) = spans_of(span("x", attributes={"metadata": "{}", "model": '"m"'}))
    assert MlFlow().read(plain) is None


def test_genai_keys_alone_are_known_by_the_scope():
    """With MLFLOW_ENABLE_OTEL_GENAI_SEMCONV content is left to the GenAI keys; MLflow says how."""
    chat = {"gen_ai.operation.name": "chat"}
    (one,) = spans_of(span("x", attributes=chat, scope="mlflow.tracing.provider"))
    facts = MlFlow().read(one)
    assert (facts.role, facts.messages.status) == (Role.UNKNOWN, FieldStatus.NOT_CAPTURED)
    assert "leave MLFLOW_ENABLE_OTEL_GENAI_SEMCONV off" in MlFlow().remedy
