"""Spans of OpenLLMetry."""

import json

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.traceloop import Traceloop
from otel_raglog.model import FieldStatus, Message, Role, ScoreKind

GIVEN = "traceloop.entity.input"
RETURNED = "traceloop.entity.output"
NODE = {"node": {"id_": "n1", "metadata": {"page": "a"}, "text": "Dogs stay."}, "score": 0.5}
OTHER = {"node": {"id_": "n2", "metadata": {}, "text": "Cars wait."}, "score": 0.25}
NODES = [json.dumps(NODE), json.dumps(OTHER)]


def read(name="x", kind="task", given=None, returned=None, **attributes):
    found = {"traceloop.span.kind": kind, "traceloop.entity.name": name}
    for key, value in ((GIVEN, given), (RETURNED, returned)):
        if value is not None:
            found[key] = value if isinstance(value, str) else json.dumps(value)
    found |= {key.replace("__", "."): value for key, value in attributes.items()}
    (one,) = spans_of(span(name, attributes=found))
    return Traceloop().read(one)


@pytest.mark.parametrize(
    ("name", "kind", "attributes", "role"),
    [
        ("RunnableSequence", "workflow", {"gen_ai__operation__name": "invoke_agent"}, Role.CHAIN),
        ("helper", "agent", {"gen_ai__operation__name": "invoke_agent"}, Role.AGENT),
        (
            "VectorStoreRetriever",
            "task",
            {"gen_ai__operation__name": "vector_db_retrieve"},
            Role.RETRIEVER,
        ),
        ("render", "task", {"gen_ai__operation__name": "execute_task"}, Role.CHAIN),
        ("ChatPromptTemplate", "task", {"gen_ai__operation__name": "execute_task"}, Role.PROMPT),
        ("VectorIndexRetriever.task", "task", {}, Role.RETRIEVER),
        ("OpenAIEmbedding.task", "task", {}, Role.EMBEDDER),
        ("OpenAILike.task", "task", {"gen_ai__output__messages": "[]"}, Role.LLM),
        ("CohereRerank.task", "task", {"gen_ai__operation__name": "rerank"}, Role.RERANKER),
        ("lookup.tool", "tool", {}, Role.TOOL),
        ("plan.agent", "agent", {}, Role.AGENT),
        ("answer.workflow", "workflow", {}, Role.CHAIN),
        ("answer", "no such kind", {}, Role.UNKNOWN),
        ("openai.chat", None, {"llm__request__type": "chat"}, Role.LLM),
        ("openai.embeddings", None, {"llm__request__type": "embedding"}, Role.EMBEDDER),
        ("cohere.rerank", None, {"llm__request__type": "rerank"}, Role.RERANKER),
        ("x", None, {"llm__request__type": "unknown", "gen_ai__prompt__0__content": "q"}, Role.LLM),
    ],
)
def test_roles(name, kind, attributes, role):
    """By the operation or the type of the request, the component, then the kind."""
    assert read(name, kind, **attributes).role is role


def test_a_prompt_template_of_any_name():
    """LangChain says which of its runs render a prompt."""
    given = {
        "inputs": {"context": "Dogs stay.", "n": 1},
        "tags": [],
        "kwargs": {"run_type": "prompt"},
    }
    facts = read("my_prompt", given=given, gen_ai__operation__name="execute_task")
    assert facts.role is Role.PROMPT
    assert facts.prompt_variables == {"context": "Dogs stay."}


def test_calls_of_models_by_their_shape():
    """LlamaIndex's components have names of their own; the arguments of a call tell."""
    asked = {"messages": [{"role": "user", "blocks": [{"text": "q?"}]}], "kwargs": {}}
    said = {"message": {"role": "assistant", "content": "a"}, "raw": None, "delta": None}
    facts = read("MyModel.task", given=asked, returned=said)
    assert facts.role is Role.LLM
    assert facts.messages.value == (Message("user", "q?"),)
    assert facts.output_messages.value == (Message("assistant", "a"),)
    assert read("MyModel.task", given=asked).role is Role.LLM
    assert read("Memory.task", given=asked, returned={"x": 1}).role is Role.CHAIN
    prompt = {"args": ["q?"], "kwargs": {"formatted": True}}
    facts = read("M.task", given=prompt, returned={"text": "a", "raw": None, "delta": None})
    assert (facts.messages.value, facts.output_messages.value) == (
        (Message("user", "q?"),),
        (Message("assistant", "a"),),
    )


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"inputs": "q?", "tags": [], "metadata": {}, "kwargs": {}}, "q?"),
        ({"args": ["q?"], "kwargs": {}}, "q?"),
        ('"q?"', "q?"),
        ("q?", "q?"),
        ('{"inputs": "q?", "tags": ["se', "q?"),
    ],
)
def test_what_a_step_was_given(given, text):
    """Without what the framework wrote around it; a text before a cut is whole."""
    facts = read("chain", given=given)
    assert (facts.input.value, facts.input.status) == (text, FieldStatus.PRESENT)
    assert facts.input.source.key == GIVEN


def test_the_answer_of_a_response():
    """LlamaIndex's response has no sources here; its text is the answer."""
    facts = read("Engine.workflow", "workflow", returned={"response": "a", "metadata": {}})
    assert (facts.output.value, facts.output_data) == ("a", None)
    wrapped = read("chain", returned={"outputs": {"answer": "a"}, "kwargs": {}})
    assert (wrapped.output.value, wrapped.output_data) == ('{"answer": "a"}', {"answer": "a"})
    assert read("chain", returned='""').output.status is FieldStatus.EMPTY
    assert read("chain", returned={"outputs": "", "kwargs": {}}).output.status is FieldStatus.EMPTY
    assert read("chain", returned="__REDACTED__").output.status is FieldStatus.REDACTED


def test_cut_json_is_no_text():
    """Of a cut value, the text it begins with is taken, cut or whole, or nothing."""
    cut = read(
        "chain", given='{"inputs": "what does it', returned='{"outputs": {"documents": [1, 2'
    )
    assert (cut.input.value, cut.input.status) == ("what does it", FieldStatus.TRUNCATED)
    assert (cut.output.value, cut.output.status) == (None, FieldStatus.TRUNCATED)
    model = read("M", gen_ai__operation__name="chat", given='{"messages": [{"role": "us')
    assert (model.messages.value, model.messages.status) == (None, FieldStatus.TRUNCATED)


def test_documents_of_langchain():
    """Texts and metadata, without ids and scores; a count beside them."""
    found = {"documents": [{"page_content": "Dogs stay.", "metadata": {"page": "a"}}], "count": 1}
    given = {"query": "dogs?", "tags": [], "metadata": {}, "kwargs": {}}
    facts = read("R", given=given, returned=found, gen_ai__operation__name="vector_db_retrieve")
    assert facts.query.value == "dogs?"
    (chunk,) = facts.documents.value
    assert (chunk.text, chunk.id, chunk.score, chunk.metadata) == (
        "Dogs stay.",
        None,
        None,
        {"page": "a"},
    )
    assert facts.structured_documents
    nothing = read("XRetriever", returned={"documents": [], "count": 0})
    assert nothing.documents.status is FieldStatus.EMPTY
    assert read("XRetriever").documents.status is FieldStatus.NOT_CAPTURED


def test_nodes_of_llamaindex():
    """JSON strings inside JSON; the query stands in a bundle, or alone."""
    bundle = {"str_or_query_bundle": {"query_str": "dogs?", "embedding": None}}
    facts = read("VectorIndexRetriever.task", given=bundle, returned=NODES)
    assert facts.query.value == "dogs?"
    assert [(c.id, c.text, c.score) for c in facts.documents.value] == [
        ("n1", "Dogs stay.", 0.5),
        ("n2", "Cars wait.", 0.25),
    ]
    assert facts.documents.value[0].score_kind is ScoreKind.SIMILARITY
    plain = read("XRetriever.task", given={"str_or_query_bundle": "dogs?"}, returned=NODES)
    assert plain.query.value == "dogs?"


def test_documents_before_a_cut():
    """What came before it is kept, and said to be cut."""
    whole = json.dumps(NODES)
    facts = read("XRetriever.task", returned=whole[: len(whole) - 20])
    assert [chunk.id for chunk in facts.documents.value] == ["n1"]
    assert facts.documents.status is FieldStatus.TRUNCATED
    assert RETURNED in facts.loss.truncated
    none = read("XRetriever.task", returned=whole[:30])
    assert (none.documents.value, none.documents.status) == (None, FieldStatus.TRUNCATED)


def test_a_reranker_of_llamaindex():
    """The query is the user's message, candidates are arguments, results nodes."""
    asked = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "dogs?"}]}])
    facts = read(
        "MyRerank.task",
        given={"nodes": NODES, "query_bundle": {"query_str": "x"}},
        returned=NODES[:1],
        gen_ai__operation__name="rerank",
        gen_ai__input__messages=asked,
        gen_ai__request__model="rerank-1",
        rerank__top_n=1,
    )
    assert (facts.query.value, facts.model, facts.top_k) == ("dogs?", "rerank-1", 1)
    assert len(facts.input_documents.value) == 2
    assert [c.score_kind for c in facts.documents.value] == [ScoreKind.SIMILARITY]


def test_a_reranker_of_cohere():
    """Documents, query and results are messages."""
    prompt = [("system", "Dogs stay."), ("system", "Cars wait."), ("user", "dogs?")]
    attributes = {
        "llm__request__type": "rerank",
        "gen_ai__completion__0__content": "Doc 0, Score: 0.9",
    }
    for index, (role, text) in enumerate(prompt):
        attributes |= {
            f"gen_ai__prompt__{index}__role": role,
            f"gen_ai__prompt__{index}__content": text,
        }
    facts = read("cohere.rerank", None, **attributes)
    assert facts.query.value == "dogs?"
    assert len(facts.input_documents.value) == 2
    assert [(c.text, c.score) for c in facts.documents.value] == [("Dogs stay.", 0.9)]
    assert facts.documents.source.key == "gen_ai.completion"


@pytest.mark.parametrize(
    ("given", "attributes"),
    [
        ({"query": "dogs?"}, {}),
        (None, {"gen_ai__prompt__0__content": "dogs?"}),
        (None, {"gen_ai__prompt__0__content": '[{"type": "text", "text": "dogs?"}]'}),
        ({"x": 1}, {"gen_ai__input__messages": '[{"role": "user", "content": "dogs?"}]'}),
    ],
)
def test_texts_that_were_embedded(given, attributes):
    """In the arguments, or as a message of the user's; Cohere's as parts of one."""
    facts = read("e", None, given=given, llm__request__type="embedding", **attributes)
    assert facts.embedding_texts.value == ("dogs?",)


def test_a_call_of_a_tool():
    """Arguments beside their text form, and a message of the tool's."""
    given = {
        "input_str": "{'query': 'dogs?'}",
        "inputs": {"query": "dogs?"},
        "tags": [],
        "kwargs": {},
    }
    said = {
        "kwargs": {"content": "Dogs stay.", "type": "tool"},
        "type": "constructor",
        "id": ["ToolMessage"],
    }
    facts = read("search", "tool", given=given, returned={"output": said, "kwargs": {}})
    assert (facts.role, facts.tool_name, facts.query.value) == (Role.TOOL, "search", "dogs?")
    assert [chunk.text for chunk in facts.documents.value] == ["Dogs stay."]


def test_old_and_new_keys_of_a_call():
    """Messages, tokens, model and reason of all ages."""
    old = read(
        "openai.chat",
        None,
        llm__request__type="chat",
        gen_ai__prompt__0__role="user",
        gen_ai__prompt__0__content="q?",
        gen_ai__completion__0__content="a",
        gen_ai__completion__0__finish_reason="stop",
        gen_ai__request__model="m",
        gen_ai__usage__prompt_tokens=3,
        gen_ai__usage__completion_tokens=1,
        llm__usage__total_tokens=4,
    )
    assert old.messages.value == (Message("user", "q?"),)
    assert old.output_messages.value == (Message("assistant", "a"),)
    assert (old.model, old.finish_reason) == ("m", "stop")
    assert (old.tokens.prompt, old.tokens.completion, old.tokens.total) == (3, 1, 4)
    named = {"gen_ai.request.model": "unknown", "llm.request.model": "m"}
    assert read("x", llm__request__type="chat", **named).model == "m"


@pytest.mark.parametrize("name", ["session_id", "thread_id", "conversation_id", "chat_id"])
def test_who_asked_and_where(name):
    """Association properties that name a conversation, and the user."""
    properties = {
        f"traceloop.association.properties.{name}": "s",
        "traceloop.association.properties.user_id": "u",
    }
    facts = read("x", **properties)
    assert (facts.session_id, facts.user_id) == ("s", "u")


def test_templates_of_prompts():
    """Managed prompts of the SDK, and what LlamaIndex put into its own."""
    variables = {"traceloop.prompt.template_variables": '{"context": "Dogs stay."}'}
    facts = read(
        "x", gen_ai__operation__name="chat", **variables, **{"traceloop.prompt.template": "T"}
    )
    assert (facts.prompt_variables, facts.prompt_template.value) == ({"context": "Dogs stay."}, "T")
    given = {"prompt": {"template": "{context_str}"}, "context_str": "Dogs stay."}
    facts = read("M.task", given=given, gen_ai__output__messages="[]")
    assert facts.prompt_variables == {"context_str": "Dogs stay."}


def test_without_content():
    """With TRACELOOP_TRACE_CONTENT=false there is nothing to read, and no guess."""
    facts = read("XRetriever.task")
    assert facts.query.status is facts.documents.status is FieldStatus.NOT_CAPTURED
    assert "TRACELOOP_TRACE_CONTENT" in Traceloop().remedy
    (plain,) = spans_of(span("x", attributes={"gen_ai.operation.name": "chat"}))
    assert Traceloop().read(plain) is None


CONTRIB = "opentelemetry.instrumentation."


def is_read(scope, version="0.62.4"):
    chat = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    (one,) = spans_of(span("openai.chat", attributes=chat, scope=scope, version=version))
    facts = Traceloop().read(one)
    assert facts is None or (facts.role, facts.model) == (Role.LLM, "m")
    return facts is not None


@pytest.mark.parametrize(
    "scope",
    [
        f"{CONTRIB}openai.v1",
        f"{CONTRIB}openai.v0",
        f"{CONTRIB}langchain",
        f"{CONTRIB}cohere",
        f"{CONTRIB}crewai.instrumentation",
        f"{CONTRIB}openai_agents",
        f"{CONTRIB}vertexai",
        "@traceloop/instrumentation-openai",
        "traceloop.tracer",
    ],
)
def test_without_content_the_scope_tells_the_sender(scope):
    """Spans of clients then have GenAI keys alone."""
    assert is_read(scope)


@pytest.mark.parametrize(
    ("scope", "version"),
    [
        (f"{CONTRIB}openai_v2", "2.4b0"),
        (f"{CONTRIB}genai.openai", "1.3b0"),
        (f"{CONTRIB}genai.langchain", "1.3b0"),
        (f"{CONTRIB}google_genai", "1.3b0"),
        ("opentelemetry.util.genai.handler", "1.3b0"),
        (f"{CONTRIB}openai", "1.2.0"),
        (f"{CONTRIB}vertexai", ""),
        (f"{CONTRIB}openai_agents", ""),
        (f"{CONTRIB}anthropic", "2.1b0.dev"),
    ],
)
def test_packages_of_others_are_not_mistaken_for_it(scope, version):
    """OpenTelemetry's own have names of their own, no version there or a beta's; Elastic's too."""
    assert not is_read(scope, version)


def test_the_query_of_a_tool_in_plain_json():
    """The arguments stand in ``inputs``, the result in ``outputs``, with or without more beside."""
    facts = read(
        "search", "tool", {"inputs": {"query": "dogs?", "k": 2}}, {"outputs": "Dogs stay."}
    )
    assert (facts.query.value, facts.top_k) == ("dogs?", 2)
    assert [chunk.text for chunk in facts.documents.value] == ["Dogs stay."]
