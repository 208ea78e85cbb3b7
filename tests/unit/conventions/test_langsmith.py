"""What spans say that LangSmith's SDK exports over OpenTelemetry."""

import json

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.langsmith import LangSmith
from otel_raglog.conventions.registry import read_span
from otel_raglog.model import FieldStatus, Message, Role, TokenUsage

KIND = "langsmith.span.kind"


def one_of(kind, given=None, said=None, name="x", **attributes):
    found = {key.replace("__", "."): value for key, value in attributes.items()}
    for key, value in ((KIND, kind), ("gen_ai.prompt", given), ("gen_ai.completion", said)):
        if value is not None:
            found[key] = value if isinstance(value, str) else json.dumps(value)
    (one,) = spans_of(span(name, attributes=found))
    return one


def read(*args, **attributes):
    return LangSmith().read(one_of(*args, **attributes))


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("llm", Role.LLM),
        ("embedding", Role.EMBEDDER),
        ("retriever", Role.RETRIEVER),
        ("tool", Role.TOOL),
        ("prompt", Role.PROMPT),
        ("chain", Role.CHAIN),
        ("parser", Role.CHAIN),
        ("something new", Role.UNKNOWN),
    ],
)
def test_run_types(kind, role):
    """The run type is the kind of work."""
    assert read(kind).role is role


@pytest.mark.parametrize(
    ("kind", "operation", "role"),
    [("retriever", "embeddings", Role.RETRIEVER), ("prompt", "chat", Role.PROMPT)],
)
def test_the_operation_is_not_believed(kind, operation, role):
    """The exporter calls retrievers embeddings and prompts chats: the run type is right."""
    facts = read_span(one_of(kind, {"query": "why?"}, gen_ai__operation__name=operation))
    assert (facts.convention, facts.role) == ("langsmith", role)
    assert facts.embedding_texts.status is FieldStatus.NOT_CAPTURED


def serialized(kind, text):
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "schema", "messages", kind],
        "kwargs": {"content": text, "type": kind[:-7].lower()},
    }


def test_a_model_of_langchain():
    """Messages are serialized constructors in a batch of one; the answer is in the generations."""
    facts = read(
        "llm",
        {"messages": [[serialized("SystemMessage", "Short."), serialized("HumanMessage", "Why?")]]},
        {
            "generations": [
                [
                    {
                        "text": "Because.",
                        "generation_info": {"finish_reason": "length"},
                        "message": serialized("AIMessage", "Because."),
                    }
                ]
            ],
            "llm_output": {"model_name": "m"},
        },
        gen_ai__request__model="m",
        gen_ai__usage__input_tokens=7,
        gen_ai__usage__output_tokens=2,
        gen_ai__usage__total_tokens=9,
    )
    assert facts.messages.value == (Message("system", "Short."), Message("user", "Why?"))
    assert facts.output_messages.value == (Message("assistant", "Because."),)
    assert (facts.model, facts.finish_reason) == ("m", "length")
    assert facts.tokens == TokenUsage(7, 2, 9)


@pytest.mark.parametrize(("reasons", "reason"), [(("stop",), "stop"), ("stop", "stop"), ((), None)])
def test_finish_reasons(reasons, reason):
    """A wrapped client's finish reasons have a key of their own."""
    assert read("llm", gen_ai__response__finish_reasons=reasons).finish_reason == reason


def test_a_retriever():
    """A query and serialized documents."""
    document = {"id": "a", "page_content": "one", "metadata": {}, "type": "Document"}
    facts = read("retriever", {"query": "why?"}, {"documents": [document]})
    assert (facts.query.value, facts.documents.value[0].id) == ("why?", "a")
    decorated = read("retriever", {"query": "why?", "top_k": 4}, {"output": [document]})
    assert (decorated.top_k, decorated.documents.value[0].text) == (4, "one")
    assert read("retriever", {"query": "why?"}, {"output": []}).documents.status is (
        FieldStatus.EMPTY
    )


def test_what_stands_alone_under_a_name():
    """What is no object was put under ``input`` or ``output``: the text is the text."""
    facts = read("chain", {"input": "Why?"}, {"output": "Because."})
    assert (facts.input.value, facts.output.value) == ("Why?", "Because.")
    assert (facts.input_data, facts.output_data) == (None, None)
    both = read("chain", {"input": "Why?", "chat_history": []}, {"output": None})
    assert both.input_data == {"input": "Why?", "chat_history": []}
    assert both.output.status is FieldStatus.NOT_CAPTURED
    assert read("chain", {"input": ""}).input.status is FieldStatus.EMPTY
    assert read("chain", {"output": 7}).input_data == {"output": 7}


def test_hidden_content():
    """Hidden inputs are an empty object; an anonymizer leaves a mark."""
    facts = read("retriever", {}, {})
    assert facts.query.status is FieldStatus.NOT_CAPTURED
    assert facts.documents.status is FieldStatus.NOT_CAPTURED
    assert read("chain", {"input": "[redacted]"}).input.status is FieldStatus.REDACTED


def test_a_prompt():
    """What was put into a template is the input; a mask is not taken for it."""
    facts = read("prompt", {"context": "one", "question": "Why?", "n": 3, "name": "***"})
    assert facts.prompt_variables == {"context": "one", "question": "Why?"}
    assert read("chain", {"context": "one"}).prompt_variables == {}


def test_a_tool():
    """A tool has a key for its name."""
    assert read("tool", gen_ai__tool__name="find").tool_name == "find"
    assert read("tool", name="search_docs").tool_name == "search_docs"


@pytest.mark.parametrize("name", ["session_id", "thread_id", "conversation_id"])
def test_sessions(name):
    """A talk is known by the run's metadata; the session of a trace is the project."""
    metadata = {f"langsmith.metadata.{name}": "talk", "langsmith.metadata.user_id": "u"}
    facts = read("chain", langsmith__trace__session_id="project", **metadata)
    assert (facts.session_id, facts.user_id) == ("talk", "u")
    assert read("chain", langsmith__trace__session_id="project").session_id is None


def test_spans_of_others():
    """LangSmith's metadata on another instrumentation's span tells the talk and no more."""
    (one,) = spans_of(span("x", attributes={"langsmith.metadata.thread_id": "talk"}))
    assert (LangSmith().read(one).role, LangSmith().read(one).session_id) == (Role.UNKNOWN, "talk")
    (tagged,) = spans_of(span("x", attributes={"langsmith.span.tags": "a"}))
    assert LangSmith().read(tagged) is None
