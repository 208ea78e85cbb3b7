"""Spans of Langfuse's SDKs to facts.

Keys are those of the Python SDK 5.0 and of the server of August 2026; older SDKs wrote a trace's
input and output as well. What an observation was given and gave back is free JSON, or the
arguments of the function that the decorator is on. A reranker has no type of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.conventions.base import BaseConvention
from otel_raglog.conventions.calls import arguments_in, first_found, the_argument
from otel_raglog.conventions.chat import messages_in
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.documents import chunks_in, with_score_kinds
from otel_raglog.conventions.json_text import as_count, as_text
from otel_raglog.conventions.queries import embedded_texts_in, query_in
from otel_raglog.conventions.values import text_within
from otel_raglog.conventions.work import NO_MODEL, NO_TOKENS, WorkReader
from otel_raglog.model import (
    Chunk,
    Field,
    FieldStatus,
    Message,
    Role,
    Span,
    TokenUsage,
)

NAME = "langfuse"
MARKERS = ("langfuse.observation.", "langfuse.trace.", "langfuse.session.id", "langfuse.user.id")
TYPE = "langfuse.observation.type"
GIVEN = "langfuse.observation.input"
RETURNED = "langfuse.observation.output"
MODEL = "langfuse.observation.model.name"
USAGE = "langfuse.observation.usage_details"
ENVIRONMENT = "langfuse.environment"
JUDGES = frozenset({"langfuse-llm-as-a-judge"})
"""Environments in which Langfuse itself calls models, to judge what others said."""

_OF_TRACE = {GIVEN: "langfuse.trace.input", RETURNED: "langfuse.trace.output"}
_ROLES = {
    "generation": Role.LLM,
    "embedding": Role.EMBEDDER,
    "retriever": Role.RETRIEVER,
    "tool": Role.TOOL,
    "agent": Role.AGENT,
    "chain": Role.CHAIN,
    "span": Role.CHAIN,
    "event": Role.CHAIN,
    "evaluator": Role.EVALUATOR,
    "guardrail": Role.GUARDRAIL,
}
_MODEL_KEYS = (MODEL, "langfuse.observation.metadata.ls_model_name")
_PROMPT_TOKENS = ("input", "input_tokens", "prompt_tokens", "inputTokens", "promptTokens")
_COMPLETION_TOKENS = ("output", "output_tokens", "completion_tokens", "outputTokens")
_ALL_TOKENS = ("total", "total_tokens", "totalTokens")
_SESSIONS = ("session.id", "langfuse.session.id", "langfuse.trace.session_id")
_USERS = ("user.id", "langfuse.user.id", "langfuse.trace.user_id")
_OBSERVATION = "langfuse.observation."
_TELLING = frozenset({*_OF_TRACE.values(), *_SESSIONS[1:], *_USERS[1:]})
"""Names and tags of a trace are handed on to the spans of others too, and say nothing of these."""

_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.LLM: (
        Wanted("messages", (GIVEN,)),
        Wanted("output_messages", (RETURNED,)),
        Wanted("model", _MODEL_KEYS),
        Wanted("tokens", (USAGE,)),
        Wanted("finish_reason", (RETURNED,), note="only in a whole response of a model"),
        Wanted("prompt_template", note="prompts are recorded by name and version only"),
    ),
    Role.EMBEDDER: (Wanted("embedding_texts", (GIVEN,)), Wanted("model", (MODEL,))),
    Role.RETRIEVER: (Wanted("query", (GIVEN,)), Wanted("documents", (RETURNED,))),
    Role.TOOL: (Wanted("query", (GIVEN,)), Wanted("documents", (RETURNED,))),
    Role.CHAIN: (
        Wanted("input", (GIVEN, "langfuse.trace.input")),
        Wanted("output", (RETURNED, "langfuse.trace.output")),
    ),
    Role.AGENT: (Wanted("input", (GIVEN,)), Wanted("output", (RETURNED,))),
}


class _Reader(WorkReader):
    """Reads one span; every method returns one fact."""

    def __init__(self, span: Span, convention: str) -> None:
        super().__init__(span, convention)
        self.role = self._role()
        self.input, self.input_data = self._content(GIVEN)
        self.output, self.output_data = self._content(RETURNED)

    def _role(self) -> Role:
        places = (self.attributes, self.span.resource)
        if any(place.get(ENVIRONMENT) in JUDGES for place in places if _is_text(place)):
            return Role.EVALUATOR
        kind = self.attributes.get(TYPE)
        if isinstance(kind, str):
            return _ROLES.get(kind.strip().lower(), Role.UNKNOWN)
        return Role.LLM if MODEL in self.attributes else Role.UNKNOWN

    def _content(self, key: str) -> tuple[Field[str], object | None]:
        """Return what an observation was given or gave back; a root's may be its trace's."""
        read, data = self.value(key)
        if key not in self.attributes and not self.span.parent_id:
            of_trace, its_data = self.value(_OF_TRACE[key])
            if of_trace.status is not FieldStatus.NOT_CAPTURED:
                read, data = of_trace, its_data
        inner = the_argument(data)
        if inner is data or read.value is None:
            return read, data
        if isinstance(inner, str):
            return text_within(read, inner), None
        return read, inner if isinstance(inner, list | dict) else None

    # ------------------------------------------------------------------ searching

    def query(self) -> Field[str]:
        found = first_found(self.input_data, query_in)
        if found is None:
            return super().query()
        return Field(found, FieldStatus.PRESENT, self.input.source)

    def input_documents(self) -> Field[tuple[Chunk, ...]]:
        chunks = first_found(self.input_data, lambda data: chunks_in(data, bare_strings=False))
        if chunks is None:
            return super().input_documents()
        return Field(with_score_kinds(chunks), FieldStatus.PRESENT, self.input.source)

    def embedding_texts(self) -> Field[tuple[str, ...]]:
        texts = first_found(self.input_data, embedded_texts_in)
        if texts is None or self.role is not Role.EMBEDDER:
            return super().embedding_texts()
        return Field(texts, self.input.status, self.input.source)

    # ------------------------------------------------------------------ talking

    def messages(self) -> Field[tuple[Message, ...]]:
        if self.role is not Role.LLM or not arguments_in(self.input_data):
            return super().messages()
        found = first_found(self.input_data, messages_in)
        if found is None:
            text = first_found(self.input_data, lambda data: data if isinstance(data, str) else "")
            found = (Message("user", text),) if text else None
        if found is None:
            return super().messages()
        return Field(found, self.input.status, self.input.source)

    # ------------------------------------------------------------------ single values

    def model(self) -> str | None:
        for key in _MODEL_KEYS:
            text = as_text(self.attributes.get(key))
            text = text.strip('"') if text else ""
            if text.lower() not in NO_MODEL and key not in self.redacted:
                return text
        return None

    def tokens(self) -> TokenUsage:
        _, usage = self.value(USAGE)
        if not isinstance(usage, dict):
            return NO_TOKENS
        kinds = (_PROMPT_TOKENS, _COMPLETION_TOKENS, _ALL_TOKENS)
        return TokenUsage(*(_first_count(usage, keys) for keys in kinds))

    def tool_name(self) -> str | None:
        return self.span.name if self.role is Role.TOOL else None

    def session_id(self) -> str | None:
        return next((text for key in _SESSIONS if (text := self.identity(key))), None)

    def user_id(self) -> str | None:
        return next((text for key in _USERS if (text := self.identity(key))), None)


def _is_text(place: Mapping[str, object]) -> bool:
    return isinstance(place.get(ENVIRONMENT), str)


def _first_count(usage: Mapping[str, object], keys: tuple[str, ...]) -> int | None:
    return next((n for key in keys if (n := as_count(usage.get(key))) is not None), None)


class Langfuse(BaseConvention):
    """What Langfuse's SDKs write."""

    name = NAME
    title = "Langfuse"
    marker_prefixes = MARKERS
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "Langfuse records content unless LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED=false, "
        "capture_input or capture_output of a decorator, or a mask function says otherwise"
    )

    def speaks(self, span: Span) -> bool:
        """Tell whether Langfuse says something of a span; who asked, alone, may stand on any."""
        return any(key.startswith(_OBSERVATION) or key in _TELLING for key in span.attributes)
