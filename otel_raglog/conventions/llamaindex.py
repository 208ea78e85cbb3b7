"""Spans of LlamaIndex's own OpenTelemetry integration to facts.

``llama-index-observability-otel`` 0.7 names a span ``Class.method`` and writes what happened in it as
events, each field of the event as an attribute (``QueryStartEvent``, ``RetrievalEndEvent`` ...). A
span without events says nothing but its name; that it is of the integration's scope tells that it
belongs to the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from otel_raglog.conventions.base import BaseConvention
from otel_raglog.conventions.chat import content_text, finish_reason_in
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.documents import chunks_in, with_score_kinds
from otel_raglog.conventions.json_text import as_count, as_data, as_text, parse_json
from otel_raglog.conventions.work import NO_MODEL, WorkReader
from otel_raglog.model import (
    NOT_CAPTURED,
    AttributeValue,
    Chunk,
    Field,
    FieldStatus,
    Message,
    Role,
    Span,
    TokenUsage,
    missing,
)

NAME = "llamaindex"
SCOPE = "llamaindex.opentelemetry.tracer"
TAGS = "llamaindex."
"""Beginning of the attributes that ``instrument_tags`` writes."""

_ROLES = (
    ("LLMChat", Role.LLM),
    ("LLMCompletion", Role.LLM),
    ("LLMPredict", Role.LLM),
    ("LLMStructuredPredict", Role.LLM),
    ("ReRank", Role.RERANKER),
    ("Retrieval", Role.RETRIEVER),
    ("Embedding", Role.EMBEDDER),
    ("SparseEmbedding", Role.EMBEDDER),
    ("Query", Role.CHAIN),
    ("Synthesize", Role.CHAIN),
    ("GetResponse", Role.CHAIN),
    ("GetMessageResponse", Role.CHAIN),
    ("AgentChatWithStep", Role.AGENT),
)
"""What the events are of, the more telling first: each has a start and an end."""

EVENTS = tuple(f"{name}{end}Event" for name, _ in _ROLES for end in ("Start", "End"))

_CALLS = ("LLMChat", "LLMCompletion")
_NOTHING = "null"
"""How a value that is not there is written."""

_QUERY_KEYS = (
    "RetrievalStartEvent/str_or_query_bundle",
    "RetrievalEndEvent/str_or_query_bundle",
    "ReRankStartEvent/query",
)
_GIVEN_KEYS = (
    "QueryStartEvent/query",
    "QueryEndEvent/query",
    "SynthesizeStartEvent/query",
    "SynthesizeEndEvent/query",
    "GetResponseStartEvent/query_str",
    "GetMessageResponseStartEvent/query_str",
    "AgentChatWithStepStartEvent/user_msg",
)
_ANSWER_KEYS = (
    "QueryEndEvent/response.response",
    "SynthesizeEndEvent/response.response",
    "AgentChatWithStepEndEvent/response.response",
)
_MESSAGE_KEYS = ("LLMChatStartEvent/messages", "LLMChatEndEvent/messages")
_PROMPT_KEYS = ("LLMCompletionStartEvent/prompt", "LLMCompletionEndEvent/prompt")
_SAID_KEYS = (
    "LLMChatEndEvent/response.message.blocks",
    "LLMChatEndEvent/response.message.content",
    "LLMCompletionEndEvent/response.text",
    "LLMPredictEndEvent/output",
    "LLMStructuredPredictEndEvent/output",
)
_MODEL_KEYS = (
    "LLMChatEndEvent/response.raw.model",
    "LLMCompletionEndEvent/response.raw.model",
    "LLMChatStartEvent/model_dict.model_name",
    "LLMChatStartEvent/model_dict.model",
    "LLMCompletionStartEvent/model_dict.model_name",
    "LLMCompletionStartEvent/model_dict.model",
    "EmbeddingStartEvent/model_dict.model_name",
    "SparseEmbeddingStartEvent/model_dict.model_name",
    "ReRankStartEvent/model_name",
)
_TOKEN_NAMES = (
    ("prompt_tokens", "input_tokens"),
    ("completion_tokens", "output_tokens"),
    ("total_tokens",),
)
_USAGES = ("response.raw.usage", "response.additional_kwargs")
_TEXT_KEYS = ("EmbeddingEndEvent/chunks", "SparseEmbeddingEndEvent/chunks")
_ARGUMENTS = tuple(
    f"{name}StartEvent/{part}."
    for name in ("LLMPredict", "LLMStructuredPredict")
    for part in ("template.kwargs", "template_args")
)
_TEMPLATE_KEYS = tuple(
    f"{name}StartEvent/{part}"
    for name in ("LLMPredict", "LLMStructuredPredict")
    for part in ("template.template", "template.default_template.template")
)
_SESSION_TAGS = ("session_id", "session.id", "conversation_id", "thread_id", "chat_id")
_USER_TAGS = ("user_id", "user.id")

_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.LLM: (
        Wanted("messages", (*_MESSAGE_KEYS[:1], *_PROMPT_KEYS[:1])),
        Wanted("output_messages", _SAID_KEYS, note="the span of a streamed answer ends before it"),
        Wanted("model", _MODEL_KEYS[:6]),
        Wanted(
            "tokens",
            tuple(f"{call}EndEvent/{_USAGES[0]}.prompt_tokens" for call in _CALLS),
        ),
        Wanted("finish_reason", tuple(f"{call}EndEvent/response.raw.choices" for call in _CALLS)),
    ),
    Role.EMBEDDER: (Wanted("embedding_texts", _TEXT_KEYS), Wanted("model", _MODEL_KEYS[6:8])),
    Role.RETRIEVER: (
        Wanted("query", _QUERY_KEYS[:1]),
        Wanted("documents", ("RetrievalEndEvent/nodes",)),
    ),
    Role.RERANKER: (
        Wanted("query", _QUERY_KEYS[2:]),
        Wanted("input_documents", ("ReRankStartEvent/nodes",)),
        Wanted("documents", ("ReRankEndEvent/nodes",)),
        Wanted("model", _MODEL_KEYS[8:]),
    ),
    Role.CHAIN: (
        Wanted("input", _GIVEN_KEYS[:-1]),
        Wanted("output", _ANSWER_KEYS[:-1]),
        Wanted("session_id", ("llamaindex.session_id",), note="a tag (instrument_tags)"),
    ),
    Role.AGENT: (Wanted("input", _GIVEN_KEYS[-1:]), Wanted("output", _ANSWER_KEYS[-1:])),
}


def _written_out(span: Span) -> dict[str, AttributeValue]:
    """Return the fields of a span's events as attributes, ``event name/field``; the last counts."""
    return {
        f"{event.name}/{key}": value
        for event in span.events
        if event.name in EVENTS
        for key, value in event.attributes.items()
        if value != _NOTHING
    }


class _Reader(WorkReader):
    """Reads one span; every method returns one fact."""

    def __init__(self, span: Span, convention: str) -> None:
        written = {**span.attributes, **_written_out(span)}
        super().__init__(replace(span, attributes=written), convention)
        names = {event.name for event in span.events}
        self.role = next(
            (role for name, role in _ROLES if names & {f"{name}StartEvent", f"{name}EndEvent"}),
            Role.CHAIN,
        )
        if self.role in {Role.RETRIEVER, Role.RERANKER}:
            self.input, self.input_data = self._asked(_QUERY_KEYS)
        elif self.role in {Role.CHAIN, Role.AGENT}:
            self.input, self.input_data = self._asked(_GIVEN_KEYS)
            self.output = self._first(_ANSWER_KEYS)
        elif self.role is Role.LLM:
            self.input, self.input_data = self._prompted()
            self.output = self._said()

    # ------------------------------------------------------------------ values

    def _first(self, keys: Sequence[str]) -> Field[str]:
        """Return the text of the first key that is there, else why there is none."""
        key = next((key for key in keys if key in self.attributes), None)
        if key is not None:
            return self.text(key)
        if self.span.dropped_events_count > 0:
            return missing(FieldStatus.EVICTED)
        absent = self.absent()
        return missing(absent.status, absent.source)

    def _asked(self, keys: Sequence[str]) -> tuple[Field[str], object | None]:
        """Return a question: a text, or a bundle of it and the texts to embed in its place."""
        read = self._first([key + end for key in keys for end in (".query_str", "")])
        if read.value is None or read.source is None:
            return read, None
        bundle = read.source.key.removesuffix(".query_str")
        others = as_data(self.attributes.get(f"{bundle}.custom_embedding_strs"))
        if not isinstance(others, list):
            return read, None
        return read, {"query_str": read.value, "custom_embedding_strs": others}

    def _prompted(self) -> tuple[Field[str], object | None]:
        read = self._first((*_MESSAGE_KEYS, *_PROMPT_KEYS))
        if read.source is not None and read.source.key in _MESSAGE_KEYS:
            return self.value(read.source.key)
        return read, None

    def _said(self) -> Field[str]:
        read = self._first(_SAID_KEYS)
        if read.value is None or read.source is None or read.source.key != _SAID_KEYS[0]:
            return read
        blocks = parse_json(read.value)
        return read if blocks is None else replace(read, value=content_text(blocks))

    # ------------------------------------------------------------------ searching

    def _nodes(self, key: str, *, reranked: bool = False) -> Field[tuple[Chunk, ...]]:
        if key not in self.attributes:
            absent = self._first((key,))
            return missing(absent.status, absent.source)
        read, data = self.value(key)
        found = chunks_in(data, bare_strings=False)
        if found is None:
            lost = read.status if read.value is None else FieldStatus.TRUNCATED
            return missing(lost, read.source)
        status = read.status if found else FieldStatus.EMPTY
        return Field(with_score_kinds(found, reranked=reranked), status, read.source)

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:
        if self.role is Role.RETRIEVER:
            return self._nodes("RetrievalEndEvent/nodes"), True
        if self.role is Role.RERANKER:
            return self._nodes("ReRankEndEvent/nodes", reranked=True), True
        return NOT_CAPTURED, False

    def input_documents(self) -> Field[tuple[Chunk, ...]]:
        return self._nodes("ReRankStartEvent/nodes") if self.role is Role.RERANKER else NOT_CAPTURED

    def embedding_texts(self) -> Field[tuple[str, ...]]:
        if self.role is not Role.EMBEDDER:
            return NOT_CAPTURED
        read = self._first(_TEXT_KEYS)
        if read.value is None or read.source is None:
            return missing(read.status, read.source)
        data = as_data(self.attributes[read.source.key])
        if isinstance(data, str):
            data = parse_json(data) or [data]
        texts = (
            tuple(text for text in data if isinstance(text, str)) if isinstance(data, list) else ()
        )
        return Field(texts, read.status if texts else FieldStatus.EMPTY, read.source)

    def top_k(self) -> int | None:
        return as_count(self.attributes.get("ReRankStartEvent/top_n"))

    # ------------------------------------------------------------------ talking

    def output_messages(self) -> tuple[Field[tuple[Message, ...]], object | None]:
        read, _ = super().output_messages()
        calls = self._tool_calls() if self.role is Role.LLM else []
        return read, {"tool_calls": calls} if calls else None

    def _tool_calls(self) -> list[object]:
        data = parse_json(as_text(self.attributes.get(_SAID_KEYS[0])) or "")
        return [
            {"name": block.get("tool_name"), "arguments": block.get("tool_kwargs")}
            for block in (data if isinstance(data, list) else ())
            if isinstance(block, dict) and block.get("block_type") == "tool_call"
        ]

    def prompt_template(self) -> Field[str]:
        return self._first(_TEMPLATE_KEYS) if self.role is Role.LLM else NOT_CAPTURED

    def prompt_variables(self) -> Mapping[str, str]:
        return {
            key.partition(start)[2]: value
            for start in _ARGUMENTS
            for key, value in self.attributes.items()
            if key.startswith(start) and isinstance(value, str) and key not in self.redacted
        }

    # ------------------------------------------------------------------ single values

    def model(self) -> str | None:
        names = (self.identity(key) for key in _MODEL_KEYS)
        return next((name for name in names if name and name.lower() not in NO_MODEL), None)

    def finish_reason(self) -> str | None:
        for call in _CALLS if self.role is Role.LLM else ():
            own = self.identity(f"{call}EndEvent/response.raw.stop_reason")
            data = parse_json(
                as_text(self.attributes.get(f"{call}EndEvent/response.raw.choices")) or ""
            )
            reason = own or finish_reason_in(data)
            if reason:
                return reason
        return None

    def tokens(self) -> TokenUsage:
        starts = [f"{call}EndEvent/{usage}." for call in _CALLS for usage in _USAGES]
        for start in starts:
            counts = [self._count(start, names) for names in _TOKEN_NAMES]
            if any(count is not None for count in counts):
                return TokenUsage(*counts)
        return TokenUsage()

    def _count(self, start: str, names: Sequence[str]) -> int | None:
        found = (as_count(self.attributes.get(start + name)) for name in names)
        return next((count for count in found if count is not None), None)

    def session_id(self) -> str | None:
        return self._tag(_SESSION_TAGS)

    def user_id(self) -> str | None:
        return self._tag(_USER_TAGS)

    def _tag(self, names: Sequence[str]) -> str | None:
        """Return a tag of ``instrument_tags``: a name with a dot is written as it is."""
        keys = [name if "." in name else TAGS + name for name in names]
        return next((text for key in keys if (text := self.identity(key))), None)


class LlamaIndex(BaseConvention):
    """The events of LlamaIndex's own OpenTelemetry integration."""

    name = NAME
    title = "LlamaIndex (llama-index-observability-otel)"
    marker_prefixes = EVENTS
    marker_scopes: tuple[str, ...] = (SCOPE,)
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "LlamaIndex's own integration always records content, in span events: raise "
        "OTEL_SPAN_EVENT_COUNT_LIMIT and OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT where some is missing; "
        "a streamed answer is not recorded (use the OpenInference instrumentation for these)"
    )

    def speaks(self, span: Span) -> bool:
        """Tell whether a span is of the integration's scope, or has one of its events."""
        return span.scope_name == SCOPE or any(event.name in EVENTS for event in span.events)
