"""What spans of the Vercel AI SDK say."""

import json

import pytest
from span_trees import span, spans_of

from otel_raglog.conventions.vercel_ai import VercelAi
from otel_raglog.model import FieldStatus, Message, Role, ScoreKind

OPERATION = "ai.operationId"


def read(attributes, **options):
    (one,) = spans_of(span("x", attributes=attributes, **options))
    return VercelAi().read(one)


@pytest.mark.parametrize(
    ("operation", "role"),
    [
        ("ai.generateText", Role.CHAIN),
        ("ai.generateText.doGenerate", Role.LLM),
        ("ai.streamText", Role.CHAIN),
        ("ai.streamText.doStream", Role.LLM),
        ("ai.generateObject", Role.CHAIN),
        ("ai.streamObject.doStream", Role.LLM),
        ("ai.embed", Role.EMBEDDER),
        ("ai.embed.doEmbed", Role.EMBEDDER),
        ("ai.embedMany.doEmbed", Role.EMBEDDER),
        ("ai.rerank", Role.RERANKER),
        ("ai.rerank.doRerank", Role.RERANKER),
        ("ai.toolCall", Role.TOOL),
        ("ai.generateImage", Role.UNKNOWN),
    ],
)
def test_roles(operation, role):
    """The operation tells the role, also with the name of the function behind it."""
    assert read({OPERATION: operation}).role is role
    named = {"operation.name": f"{operation} my-function", "ai.telemetry.functionId": "f"}
    assert read(named).role is role


def test_roles_of_the_newer_tracer():
    """Its operation stands under the GenAI key; keys of the application's own are not read."""
    new = {"gen_ai.operation.name": "embeddings", "ai.value": '"why?"'}
    assert read(new).role is Role.EMBEDDER
    assert read({"gen_ai.operation.name": 7, "ai.settings.x": 1}).role is Role.UNKNOWN
    assert read({"ai.custom": "x", "air.quality": 1, "gen_ai.operation.name": "chat"}) is None


@pytest.mark.parametrize(
    ("attributes", "texts"),
    [
        ({"ai.value": '"a \\"b\\""'}, ('a "b"',)),
        ({"ai.values": ('"a"', '"b"')}, ("a", "b")),
        ({"ai.values": '["\\"a\\"", "b"]'}, ("a", "b")),
        ({"ai.value": '"cut of'}, ("cut of",)),
        ({"ai.value": "plain"}, ("plain",)),
    ],
)
def test_embedded_texts(attributes, texts):
    """Each text was written as JSON by itself."""
    facts = read({OPERATION: "ai.embed", "ai.model.id": "e", "ai.usage.tokens": 3, **attributes})
    assert facts.embedding_texts.value == texts
    assert (facts.model, facts.tokens.prompt) == ("e", 3)


def test_embedded_texts_that_are_not_there():
    """Nothing, an empty text and a placeholder are told apart."""
    kind = {OPERATION: "ai.embed"}
    assert read(kind).embedding_texts.status is FieldStatus.NOT_CAPTURED
    assert read({**kind, "ai.value": '""'}).embedding_texts.status is FieldStatus.EMPTY
    hidden = read({**kind, "ai.values": ('"[REDACTED]"',)})
    assert hidden.embedding_texts.status is FieldStatus.REDACTED


def test_a_reranker():
    """What is kept are places among the texts that were given, with new scores."""
    facts = read(
        {
            OPERATION: "ai.rerank.doRerank",
            "ai.model.id": "r",
            "ai.documents": ('"one"', '{"id": "b", "text": "two"}', '{"title": "three"}', '""'),
            "ai.ranking": ('{"index": 1, "relevanceScore": 0.9}', '{"index": 0}', '{"index": 9}'),
        }
    )
    given = facts.input_documents.value
    assert [chunk.text for chunk in given] == ["one", "two", '{"title": "three"}', ""]
    kept = facts.documents.value
    assert [(chunk.text, chunk.id, chunk.score) for chunk in kept] == [
        ("two", "b", 0.9),
        ("one", None, None),
        ("", None, None),
    ]
    assert kept[0].score_kind is ScoreKind.SIMILARITY
    assert kept[2].text_status is FieldStatus.NOT_CAPTURED
    assert facts.query.status is FieldStatus.NOT_CAPTURED
    assert facts.model == "r"


def test_a_reranker_without_content():
    """Without documents the ranking still tells how many were kept; masks are told."""
    kind = {OPERATION: "ai.rerank.doRerank"}
    facts = read({**kind, "ai.ranking": ('{"index": 0, "relevanceScore": 1}',)})
    assert facts.input_documents.status is FieldStatus.NOT_CAPTURED
    assert len(facts.documents.value) == 1
    hidden = read({**kind, "ai.documents": "__REDACTED__", "ai.ranking": "__REDACTED__"})
    assert hidden.input_documents.status is FieldStatus.REDACTED
    assert hidden.documents.status is FieldStatus.REDACTED
    masked = read({**kind, "ai.documents": ('"[REDACTED]"',)})
    assert masked.input_documents.value[0].text_status is FieldStatus.REDACTED
    assert read(kind).documents.status is FieldStatus.NOT_CAPTURED


MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": [{"type": "text", "text": "Why?"}, {"type": "image", "image": ""}]},
    {"role": "assistant", "content": [{"type": "tool-call", "toolName": "find", "input": {}}]},
    {
        "role": "tool",
        "content": [
            {"type": "tool-result", "output": {"type": "text", "value": "found"}},
            {"type": "tool-result", "result": {"n": 1}},
        ],
    },
]


def test_a_call():
    """Messages, answer, reason and tokens; what tools gave back is in the messages."""
    facts = read(
        {
            OPERATION: "ai.generateText.doGenerate",
            "ai.prompt.messages": json.dumps(MESSAGES),
            "ai.response.text": "So.",
            "ai.response.finishReason": "stop",
            "ai.response.model": "m-1",
            "ai.model.id": "m",
            "ai.usage.inputTokens": 3,
            "ai.usage.outputTokens": 2,
            "ai.usage.totalTokens": 5,
        }
    )
    assert facts.messages.value == (
        Message("system", "Be brief."),
        Message("user", "Why?"),
        Message("assistant", ""),
        Message("tool", 'found\n{"n": 1}'),
    )
    assert facts.output_messages.value == (Message("assistant", "So."),)
    tokens = facts.tokens
    assert (tokens.prompt, tokens.completion, tokens.total) == (3, 2, 5)
    assert (facts.model, facts.finish_reason) == ("m-1", "stop")


def test_a_call_of_older_versions():
    """Names of keys that were changed are read, too."""
    facts = read(
        {
            OPERATION: "ai.generateText.doGenerate",
            "ai.result.text": "So.",
            "ai.finishReason": "length",
            "ai.usage.promptTokens": 3,
            "ai.usage.completionTokens": 2,
        }
    )
    assert facts.output_messages.value[0].content == "So."
    assert (facts.finish_reason, facts.tokens.prompt, facts.tokens.completion) == ("length", 3, 2)


@pytest.mark.parametrize("arguments", [{"input": '{"query": "q"}'}, {"args": {"query": "q"}}])
def test_a_call_that_asks_for_tools(arguments):
    """What the model asks the tools for is data; an empty text beside it is no answer."""
    calls = [{"toolCallId": "1", "toolName": "find", **arguments}]
    facts = read(
        {
            OPERATION: "ai.streamText.doStream",
            "ai.response.text": "",
            "ai.response.toolCalls": json.dumps(calls),
        }
    )
    (asked,) = facts.output_data["tool_calls"]
    assert (asked["name"], asked["arguments"]) == ("find", next(iter(arguments.values())))
    assert facts.output_messages.value == (Message("assistant", ""),)


def test_a_call_without_content():
    """Neither prompt nor answer are guessed; a beginning of JSON was cut, a mask hides."""
    kind = {OPERATION: "ai.generateText.doGenerate"}
    facts = read(kind)
    assert facts.messages.status is FieldStatus.NOT_CAPTURED
    assert facts.output_messages.status is FieldStatus.NOT_CAPTURED
    cut = read({**kind, "ai.prompt.messages": '[{"role": "user", "conte'})
    assert cut.messages.status is FieldStatus.TRUNCATED
    hidden = read({**kind, "ai.prompt.messages": "__REDACTED__"})
    assert hidden.messages.status is FieldStatus.REDACTED
    assert read(kind, dropped=3).output_messages.status is FieldStatus.EVICTED


def test_what_makes_the_calls():
    """The outer span has prompt and answer, and sums of tokens that are not counted again."""
    facts = read(
        {
            OPERATION: "ai.generateText",
            "ai.prompt": '{"system": "Be brief.", "prompt": "Why?"}',
            "ai.response.text": "So.",
            "ai.usage.inputTokens": 9,
            "ai.model.id": "m",
        }
    )
    assert facts.input_data == {"prompt": "Why?"}
    assert (facts.output.value, facts.model, facts.tokens.prompt) == ("So.", None, None)
    answered = read({OPERATION: "ai.generateObject", "ai.response.object": '{"a": 1}'})
    assert answered.output.value == '{"a": 1}'
    talk = read({OPERATION: "ai.streamText", "ai.prompt": '{"messages": []}'})
    assert talk.input_data == {"messages": []}


def test_a_tool():
    """Name, arguments and result; a result that is a text has its quotes taken off."""
    facts = read(
        {
            OPERATION: "ai.toolCall",
            "ai.toolCall.name": "find",
            "ai.toolCall.args": '{"query": "why?"}',
            "ai.toolCall.result": '{"documents": [{"content": "one"}]}',
        }
    )
    assert (facts.tool_name, facts.query.value) == ("find", "why?")
    assert facts.documents.value[0].text == "one"
    told = read({OPERATION: "ai.toolCall", "ai.toolCall.result": '"found \\u00e9"'})
    assert told.output.value == "found \u00e9"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ai.telemetry.metadata.sessionId", "c1"),
        ("ai.telemetry.metadata.conversation_id", "c1"),
        ("ai.settings.context.threadId", "c1"),
        ("ai.settings.context.chatId", 7),
        ("session.id", "c1"),
    ],
)
def test_the_session(key, value):
    """The conversation is in the metadata of the call, or in the context of version 7."""
    facts = read({OPERATION: "ai.embed", key: value})
    assert facts.session_id == str(value)
    assert facts.user_id is None


def test_the_user():
    """So is the user."""
    assert read({"ai.telemetry.metadata.userId": "u"}).user_id == "u"
    assert read({"ai.settings.context.user_id": "u"}).user_id == "u"


@pytest.mark.parametrize(
    ("language", "its"), [(None, True), ("nodejs", True), ("python", False), ({"a": 1}, False)]
)
def test_genai_keys_alone_are_known_by_the_scope(language, its):
    """``@ai-sdk/otel`` calls its scope ``gen_ai``, as a program in another language may, too."""
    resource = {"service.name": "s"} | ({"telemetry.sdk.language": language} if language else {})
    chat = span("chat m", attributes={"gen_ai.operation.name": "chat"}, scope="gen_ai")
    (one,) = spans_of(chat, resource=resource)
    facts = VercelAi().read(one)
    assert (facts is not None) is its
    assert facts is None or facts.role is Role.LLM
