"""Spans of the Vercel AI SDK to facts.

Keys are those of the SDK's own tracer (``ai`` 3 to 6), of ``LegacyOpenTelemetry`` that keeps them in
``ai`` 7, and those that ``OpenTelemetry`` of ``@ai-sdk/otel`` 1 writes beside the GenAI conventions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from otel_raglog.conventions.chat import content_text, messages_in, normal_role
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.documents import chunks_in, with_score_kinds
from otel_raglog.conventions.genai import OPERATIONS, GenAiDialect
from otel_raglog.conventions.json_text import as_count, as_data, as_number, as_text, parse_json
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.conventions.work import NO_MODEL, WorkReader
from otel_raglog.model import (
    NOT_CAPTURED,
    Chunk,
    Field,
    FieldStatus,
    Message,
    Role,
    ScoreKind,
    Span,
    TokenUsage,
    missing,
)

NAME = "vercel_ai"
MARKERS = (
    "ai.operationId",
    "ai.model.id",
    "ai.model.provider",
    "ai.prompt",
    "ai.response.",
    "ai.result.",
    "ai.value",
    "ai.embedding",
    "ai.documents",
    "ai.ranking",
    "ai.toolCall.",
    "ai.telemetry.",
    "ai.settings.",
    "ai.usage.",
)

_LANGUAGE = "telemetry.sdk.language"
_JAVASCRIPT = (None, "nodejs", "webjs")
"""Values of that attribute of the resource, which may be missing."""

_OPERATION_KEYS = ("ai.operationId", "operation.name")
_ROLES = (
    ("ai.generateText.doGenerate", Role.LLM),
    ("ai.streamText.doStream", Role.LLM),
    ("ai.generateObject.doGenerate", Role.LLM),
    ("ai.streamObject.doStream", Role.LLM),
    ("ai.generateText", Role.CHAIN),
    ("ai.streamText", Role.CHAIN),
    ("ai.generateObject", Role.CHAIN),
    ("ai.streamObject", Role.CHAIN),
    ("ai.embed", Role.EMBEDDER),
    ("ai.rerank", Role.RERANKER),
    ("ai.toolCall", Role.TOOL),
)
"""Beginnings of ``ai.operationId``. What makes the calls may call tools between them: a chain."""

_ANSWER_KEYS = ("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object")
_CALL_KEYS = ("ai.response.toolCalls", "ai.result.toolCalls")
_FINISH_KEYS = ("ai.response.finishReason", "ai.finishReason")
_MODEL_KEYS = ("ai.response.model", "ai.model.id")
_USAGE = "ai.usage."
_TOKEN_KEYS = (
    ("ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens"),
    ("ai.usage.outputTokens", "ai.usage.completionTokens"),
    ("ai.usage.totalTokens",),
)
_TEXT_KEYS = ("ai.value", "ai.values")
_METADATA = ("ai.telemetry.metadata.", "ai.settings.context.")
_SESSIONS = (
    "sessionId",
    "session_id",
    "session.id",
    "conversationId",
    "conversation_id",
    "threadId",
    "thread_id",
    "chatId",
    "chat_id",
)
_USERS = ("userId", "user_id", "user.id")
_SESSION_KEYS = tuple(start + name for start in _METADATA for name in _SESSIONS)
_USER_KEYS = tuple(start + name for start in _METADATA for name in _USERS)

_WHO = (Wanted("session_id", _SESSION_KEYS[:1]), Wanted("user_id", _USER_KEYS[:1]))
_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.CHAIN: (Wanted("input", ("ai.prompt",)), Wanted("output", _ANSWER_KEYS), *_WHO),
    Role.LLM: (
        Wanted("messages", ("ai.prompt.messages",)),
        Wanted("output_messages", (*_ANSWER_KEYS, *_CALL_KEYS)),
        Wanted("model", _MODEL_KEYS),
        Wanted("tokens", tuple(key for keys in _TOKEN_KEYS for key in keys[:2])),
        Wanted("finish_reason", _FINISH_KEYS),
    ),
    Role.EMBEDDER: (
        Wanted("embedding_texts", _TEXT_KEYS),
        Wanted("model", ("ai.model.id",)),
    ),
    Role.RERANKER: (
        Wanted("query", note="the SDK does not record what was asked of a reranker"),
        Wanted("input_documents", ("ai.documents",)),
        Wanted("documents", ("ai.ranking",)),
        Wanted("model", ("ai.model.id",)),
    ),
    Role.TOOL: (
        Wanted("query", ("ai.toolCall.args",)),
        Wanted("documents", ("ai.toolCall.result",)),
        Wanted("tool_name", ("ai.toolCall.name",)),
    ),
}


class _Reader(WorkReader):
    """Reads one span; every method returns one fact."""

    def __init__(self, span: Span, convention: str) -> None:
        super().__init__(span, convention)
        self.role = self._role()
        if self.role is Role.TOOL:
            self.input, self.input_data = self._json("ai.toolCall.args")
            self.output, self.output_data = self._json("ai.toolCall.result")
        elif self.role is Role.EMBEDDER:
            self.input = self._embedded()
        elif self.role is Role.CHAIN:
            self.input, self.input_data = self._prompt()
            self.output = self._answer()
        elif self.role is Role.LLM:
            self.input, self.input_data = self.value("ai.prompt.messages")
            self.output = self._answer()

    def _role(self) -> Role:
        for key in _OPERATION_KEYS:
            operation = self.attributes.get(key)
            if isinstance(operation, str):
                for start, role in _ROLES:
                    if operation.startswith(start):
                        return role
        operation = self.attributes.get("gen_ai.operation.name")
        if isinstance(operation, str):
            return OPERATIONS.get(operation.strip().lower(), Role.UNKNOWN)
        return Role.UNKNOWN

    # ------------------------------------------------------------------ values

    def _first(self, keys: Sequence[str]) -> str | None:
        return next((key for key in keys if key in self.attributes), None)

    def _json(self, key: str) -> tuple[Field[str], object | None]:
        """Return a value that was written as JSON, a text without the quotes around it."""
        read, data = self.value(key)
        if data is not None or not read.value:
            return read, data
        return replace(read, value=_unquoted(read.value)), None

    def _elements(self, key: str) -> list[str]:
        """Return the elements of a list; each was written as JSON by itself."""
        value = self.attributes.get(key)
        data = parse_json(value) if isinstance(value, str) else as_data(value)
        elements = data if isinstance(data, list) else [] if value is None else [value]
        return [
            item if isinstance(item, str) else json.dumps(item, default=str) for item in elements
        ]

    def _prompt(self) -> tuple[Field[str], object | None]:
        """Return what the call was given, without the instructions where it is one text."""
        read, data = self.value("ai.prompt")
        if isinstance(data, dict) and isinstance(data.get("prompt"), str):
            return read, {"prompt": data["prompt"]}
        return read, data

    def _answer(self) -> Field[str]:
        """Return the text or the object that came back; an empty text beside tool calls is none."""
        found = [self.text(key) for key in _ANSWER_KEYS if key in self.attributes]
        said = next((read for read in found if read.value), None)
        return said or next(iter(found), missing(self.absent().status, self.absent().source))

    # ------------------------------------------------------------------ searching

    def query(self) -> Field[str]:
        if self.role in {Role.TOOL, Role.EMBEDDER}:
            return super().query()
        return NOT_CAPTURED

    def _embedded(self) -> Field[str]:
        texts = self.embedding_texts()
        value = "\n".join(texts.value) if texts.value else None
        return Field(value, texts.status, texts.source)

    def embedding_texts(self) -> Field[tuple[str, ...]]:
        if self.role is not Role.EMBEDDER:
            return NOT_CAPTURED
        key = self._first(_TEXT_KEYS)
        if key is None:
            absent = self.absent()
            return missing(absent.status, absent.source)
        source = self.source(key)
        if key == "ai.value":
            written = [as_text(self.attributes[key]) or ""]
        else:
            written = self._elements(key)
        texts = tuple(_unquoted(text) for text in written)
        if any(is_redacted(text) for text in texts):
            return missing(FieldStatus.REDACTED, source)
        if not any(text.strip() for text in texts):
            return Field((), FieldStatus.EMPTY, source)
        return Field(
            texts, FieldStatus.TRUNCATED if key in self.cut else FieldStatus.PRESENT, source
        )

    def input_documents(self) -> Field[tuple[Chunk, ...]]:
        if self.role is not Role.RERANKER:
            return super().input_documents()
        if "ai.documents" not in self.attributes:
            absent = self.absent()
            return missing(absent.status, absent.source)
        source = self.source("ai.documents")
        if "ai.documents" in self.redacted:
            return missing(FieldStatus.REDACTED, source)
        chunks = tuple(_chunk(text) for text in self._elements("ai.documents"))
        return Field(chunks, FieldStatus.PRESENT if chunks else FieldStatus.EMPTY, source)

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:
        """Return what a reranker kept: places among what it was given, with new scores."""
        if self.role is not Role.RERANKER:
            return super().documents()
        if "ai.ranking" not in self.attributes:
            absent = self.absent()
            return missing(absent.status, absent.source), False
        source = self.source("ai.ranking")
        if "ai.ranking" in self.redacted:
            return missing(FieldStatus.REDACTED, source), True
        given = self.input_documents().value or ()
        ranked = [parse_json(item) for item in self._elements("ai.ranking")]
        chunks = [_ranked(item, given) for item in ranked if isinstance(item, dict)]
        status = FieldStatus.PRESENT if chunks else FieldStatus.EMPTY
        return Field(with_score_kinds(chunks, reranked=True), status, source), True

    # ------------------------------------------------------------------ talking

    def messages(self) -> Field[tuple[Message, ...]]:
        if self.role is not Role.LLM or not isinstance(self.input_data, list):
            return super().messages()
        found = [_message(item) for item in self.input_data if isinstance(item, dict)]
        if not found or any(is_redacted(message.content) for message in found):
            return super().messages()
        return Field(tuple(found), self.input.status, self.input.source)

    def output_messages(self) -> tuple[Field[tuple[Message, ...]], object | None]:
        if self.role is not Role.LLM:
            return NOT_CAPTURED, None
        calls = self._calls()
        read = self.output
        if not read.value:
            if calls is None:
                return missing(read.status, read.source), None
            said = Message("assistant", "")
            return Field((said,), FieldStatus.PRESENT, self.source(_CALL_KEYS[0])), calls
        return Field((Message("assistant", read.value),), read.status, read.source), calls

    def _calls(self) -> object | None:
        """Return the tools that the model called, as JSON data."""
        key = self._first(_CALL_KEYS)
        data = None if key is None else self.value(key)[1]
        if not isinstance(data, list):
            return None
        calls = [
            {"name": item.get("toolName"), "arguments": item.get("input", item.get("args"))}
            for item in data
            if isinstance(item, dict)
        ]
        return {"tool_calls": calls} if calls else None

    # ------------------------------------------------------------------ single values

    def model(self) -> str | None:
        if self.role is Role.CHAIN:
            return None
        for key in _MODEL_KEYS:
            text = self.identity(key)
            if text is not None and text.lower() not in NO_MODEL:
                return text
        return None

    def finish_reason(self) -> str | None:
        if self.role is not Role.LLM:
            return None
        return next((text for key in _FINISH_KEYS if (text := self.identity(key))), None)

    def tokens(self) -> TokenUsage:
        """Return the tokens of one call: what made several calls has the sum of theirs."""
        if self.role is Role.CHAIN or not any(key.startswith(_USAGE) for key in self.attributes):
            return TokenUsage()
        return TokenUsage(
            *(
                next(
                    (n for key in keys if (n := as_count(self.attributes.get(key))) is not None),
                    None,
                )
                for keys in _TOKEN_KEYS
            )
        )

    def tool_name(self) -> str | None:
        return self.identity("ai.toolCall.name")

    def session_id(self) -> str | None:
        found = next((text for key in _SESSION_KEYS if (text := self.identity(key))), None)
        return found or super().session_id()

    def user_id(self) -> str | None:
        found = next((text for key in _USER_KEYS if (text := self.identity(key))), None)
        return found or super().user_id()


def _unquoted(text: str) -> str:
    """Return a text that was written as JSON; one that was cut has no quote at its end."""
    if not text.startswith('"'):
        return text
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return text[1:]
    return value if isinstance(value, str) else text


def _chunk(text: str) -> Chunk:
    """Return a document that was given to a reranker: a text, or an object of any shape."""
    data = parse_json(text)
    found = chunks_in([data], bare_strings=False) if isinstance(data, dict) else None
    if found:
        return found[0]
    plain = _unquoted(text)
    if is_redacted(plain):
        return Chunk("", text_status=FieldStatus.REDACTED)
    return Chunk(plain, text_status=FieldStatus.PRESENT if plain.strip() else FieldStatus.EMPTY)


def _ranked(item: Mapping[str, object], given: Sequence[Chunk]) -> Chunk:
    place = as_count(item.get("index"))
    score = as_number(item.get("relevanceScore", item.get("score")))
    kind = ScoreKind.UNKNOWN if score is None else ScoreKind.SIMILARITY
    if place is None or place >= len(given):
        return Chunk("", score=score, score_kind=kind, text_status=FieldStatus.NOT_CAPTURED)
    return replace(given[place], score=score, score_kind=kind)


def _message(item: Mapping[str, object]) -> Message:
    """Return one message; what a tool gave back is part of what the model was shown."""
    content = item.get("content")
    if isinstance(content, list):
        texts = [_part(part) for part in content if isinstance(part, dict)]
        return Message(normal_role(item.get("role")), "\n".join(filter(None, texts)))
    found = messages_in([item])
    return found[0] if found else Message(normal_role(item.get("role")), content_text(content))


def _part(part: Mapping[str, object]) -> str:
    if part.get("type") != "tool-result":
        return content_text(part)
    output = part.get("output", part.get("result"))
    if isinstance(output, dict) and "value" in output:
        output = output["value"]
    return (
        output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, default=str)
    )


class VercelAi(GenAiDialect):
    """What the Vercel AI SDK writes under ``ai.*``."""

    name = NAME
    title = "Vercel AI SDK"
    marker_prefixes = MARKERS
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "the AI SDK records content unless a call's telemetry says recordInputs: false or "
        "recordOutputs: false; with @ai-sdk/otel embedded texts and reranked documents also need "
        "new OpenTelemetry({ embedding: true, reranking: true })"
    )
    sender_scopes = ("gen_ai",)

    def sent(self, span: Span) -> bool:
        """Tell whether ``@ai-sdk/otel`` may have sent a span: its scope's name is a plain one."""
        language = span.resource.get(_LANGUAGE)
        return language in _JAVASCRIPT and super().sent(span)
