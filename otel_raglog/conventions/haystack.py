"""Spans of Haystack's own tracing to facts.

Haystack (2 and 3) opens spans through an interface of its own, for which applications supply a bridge to
OpenTelemetry; tags become attributes, what is no plain value as JSON. Every component's span has the
same name: which one it is stands in ``haystack.component.type``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from otel_raglog.conventions.base import BaseConvention
from otel_raglog.conventions.chat import content_text, finish_reason_in, messages_in, normal_role
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.json_text import as_count
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.conventions.work import NO_MODEL, NO_TOKENS, WorkReader
from otel_raglog.model import (
    NOT_CAPTURED,
    Field,
    FieldStatus,
    Message,
    Role,
    Span,
    TokenUsage,
)

NAME = "haystack"
MARKER = "haystack."
TYPE = "haystack.component.type"

_ROLE_BY_TYPE = (
    ("Evaluator", Role.EVALUATOR),
    ("PromptBuilder", Role.PROMPT),
    ("Ranker", Role.RERANKER),
    ("Retriever", Role.RETRIEVER),
    ("WebSearch", Role.RETRIEVER),
    ("Embedder", Role.EMBEDDER),
    ("ImageGenerator", Role.CHAIN),
    ("Generator", Role.LLM),
)
"""Parts of the names of component classes, the more telling ones first."""

_ROLE_BY_NAME = (
    ("haystack.agent.step.llm", Role.LLM),
    ("haystack.agent.step.tool", Role.TOOL),
    ("haystack.agent.step", Role.CHAIN),
    ("haystack.agent.run", Role.AGENT),
)
_INPUT_KEYS = (
    "haystack.component.input",
    "haystack.agent.step.llm.input",
    "haystack.agent.step.tool.input",
    "haystack.agent.input",
    "haystack.pipeline.input_data",
)
_OUTPUT_KEYS = (
    "haystack.component.output",
    "haystack.agent.step.llm.output",
    "haystack.agent.step.tool.output",
    "haystack.agent.output",
    "haystack.pipeline.output_data",
)
_DOCUMENT_FIELDS = frozenset(
    {"id", "content", "blob", "score", "embedding", "sparse_embedding", "meta", "dataframe"}
)
_IN, _OUT = _INPUT_KEYS[0], _OUTPUT_KEYS[0]
_CALL = (
    Wanted("messages", _INPUT_KEYS[:2]),
    Wanted("output_messages", _OUTPUT_KEYS[:2]),
    Wanted("model", _OUTPUT_KEYS[:2]),
    Wanted("tokens", _OUTPUT_KEYS[:2]),
    Wanted("finish_reason", _OUTPUT_KEYS[:2]),
)
_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.LLM: _CALL,
    Role.EMBEDDER: (Wanted("embedding_texts", (_IN,)), Wanted("model", (_OUT,))),
    Role.RETRIEVER: (Wanted("query", (_IN,)), Wanted("documents", (_OUT,))),
    Role.RERANKER: (
        Wanted("query", (_IN,)),
        Wanted("input_documents", (_IN,)),
        Wanted("documents", (_OUT,)),
    ),
    Role.TOOL: (
        Wanted("query", (_INPUT_KEYS[2],)),
        Wanted("documents", (_OUTPUT_KEYS[2],)),
        Wanted("tool_name", ("haystack.tool.name",)),
    ),
    Role.PROMPT: (Wanted("input", (_IN,)), Wanted("output", (_OUT,))),
    Role.AGENT: (Wanted("input", (_INPUT_KEYS[3],)), Wanted("output", (_OUTPUT_KEYS[3],))),
    Role.CHAIN: (
        Wanted("input", (_INPUT_KEYS[4], _IN)),
        Wanted("output", (_OUTPUT_KEYS[4], _OUT)),
    ),
}


class _Reader(WorkReader):
    """Reads one span; every method returns one fact."""

    def __init__(self, span: Span, convention: str) -> None:
        super().__init__(span, convention)
        self.role = self._role()
        self.input, self.input_data = self._value(_INPUT_KEYS)
        self.output, self.output_data = self._value(_OUTPUT_KEYS)

    def _role(self) -> Role:
        kind = self.attributes.get(TYPE)
        if isinstance(kind, str):
            found = (role for part, role in _ROLE_BY_TYPE if part in kind)
            return next(found, Role.AGENT if kind == "Agent" else Role.CHAIN)
        found = (role for name, role in _ROLE_BY_NAME if self.span.name.startswith(name))
        return next(found, Role.CHAIN)

    def _value(self, keys: tuple[str, ...]) -> tuple[Field[str], object | None]:
        read, data = self.value(next((key for key in keys if key in self.attributes), keys[0]))
        return read, _with_metadata(data)

    # ------------------------------------------------------------------ talking

    def messages(self) -> Field[tuple[Message, ...]]:
        data = self.input_data
        given = data.get("messages") if isinstance(data, dict) else None
        if self.role is not Role.LLM or not isinstance(given, list):
            return super().messages()
        found = [_message(item) for item in given if isinstance(item, dict)]
        if not found or any(is_redacted(message.content) for message in found):
            return super().messages()
        return Field(tuple(found), self.input.status, self.input.source)

    def output_messages(self) -> tuple[Field[tuple[Message, ...]], object | None]:
        read, _ = super().output_messages()
        if self.role is not Role.LLM:
            return read, None
        calls = list(_tool_calls(self.output_data))
        if not calls:
            return read, None
        if read.status is FieldStatus.NOT_CAPTURED:
            source = self.output.source
            read = Field((Message("assistant", ""),), FieldStatus.PRESENT, source)
        self.output_data = None
        return read, {"tool_calls": calls}

    # ------------------------------------------------------------------ single values

    def _meta(self) -> Mapping[str, object]:
        """Return what a model said of its call: beside its replies, or in the first of them."""
        data = self.output_data
        if not isinstance(data, dict):
            return {}
        replies = data.get("replies")
        places = [data.get("meta"), *(replies[:1] if isinstance(replies, list) else ())]
        for place in places:
            inner = place[0] if isinstance(place, list) and place else place
            if isinstance(inner, dict):
                own = inner.get("meta", inner)
                if isinstance(own, dict) and own:
                    return own
        return {}

    def model(self) -> str | None:
        if self.role not in {Role.LLM, Role.EMBEDDER, Role.RERANKER}:
            return None
        name = self._meta().get("model")
        return name if isinstance(name, str) and name.lower() not in NO_MODEL else None

    def finish_reason(self) -> str | None:
        return finish_reason_in(self._meta()) if self.role is Role.LLM else None

    def tokens(self) -> TokenUsage:
        usage = self._meta().get("usage")
        if self.role not in {Role.LLM, Role.EMBEDDER} or not isinstance(usage, dict):
            return NO_TOKENS
        return TokenUsage(
            as_count(usage.get("prompt_tokens", usage.get("input_tokens"))),
            as_count(usage.get("completion_tokens", usage.get("output_tokens"))),
            as_count(usage.get("total_tokens")),
        )

    def tool_name(self) -> str | None:
        return self.identity("haystack.tool.name")

    def component_name(self) -> str | None:
        """Return the class of the component, and what the pipeline calls it."""
        names = [self.identity(TYPE), self.identity("haystack.component.name")]
        return " ".join(name for name in names if name) or None

    def embedding_texts(self) -> Field[tuple[str, ...]]:
        data = self.input_data
        documents = data.get("documents") if isinstance(data, dict) else None
        if self.role is not Role.EMBEDDER or not isinstance(documents, list):
            return super().embedding_texts()
        texts = tuple(
            text
            for item in documents
            if isinstance(item, dict) and isinstance(text := item.get("content"), str)
        )
        return Field(texts, self.input.status, self.input.source) if texts else NOT_CAPTURED


def _with_metadata(data: object) -> object:
    """Return data whose documents have their metadata apart: Haystack puts them among the fields."""
    documents = data.get("documents") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(documents, list):
        return data
    return {**data, "documents": [_document(item) for item in documents]}


def _document(item: object) -> object:
    if not isinstance(item, dict) or "blob" not in item or "meta" in item:
        return item
    fields = {key: value for key, value in item.items() if key in _DOCUMENT_FIELDS}
    return {**fields, "meta": {k: v for k, v in item.items() if k not in _DOCUMENT_FIELDS}}


def _message(item: Mapping[str, object]) -> Message:
    """Return one message; what a tool gave back is part of what the model was shown."""
    content = item.get("content", item.get("_content"))
    if isinstance(content, list):
        texts = [_part(part) for part in content if isinstance(part, dict)]
        return Message(normal_role(item.get("role")), "\n".join(filter(None, texts)))
    found = messages_in([item])
    return found[0] if found else Message(normal_role(item.get("role")), content_text(content))


def _part(part: Mapping[str, object]) -> str:
    given_back = part.get("tool_call_result")
    if not isinstance(given_back, dict):
        return content_text(part)
    result = given_back.get("result")
    if isinstance(result, list):
        return content_text(result)
    return result if isinstance(result, str) else json.dumps(result, default=str)


def _tool_calls(data: object) -> Iterator[object]:
    """Yield the tools that a model called, as JSON data (name and arguments)."""
    replies = data.get("replies") if isinstance(data, dict) else None
    for reply in replies if isinstance(replies, list) else ():
        content = reply.get("content", reply.get("_content")) if isinstance(reply, dict) else None
        for part in content if isinstance(content, list) else ():
            call = part.get("tool_call") if isinstance(part, dict) else None
            if isinstance(call, dict):
                yield {"name": call.get("tool_name"), "arguments": call.get("arguments")}


class Haystack(BaseConvention):
    """The tags of Haystack's own tracing."""

    name = NAME
    title = "Haystack"
    marker_prefixes = (MARKER,)
    marker_names = (MARKER,)
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "Haystack records what components were given and gave back only with "
        "HAYSTACK_CONTENT_TRACING_ENABLED=true, set before haystack is imported"
    )
