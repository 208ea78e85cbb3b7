"""Spans of OpenInference instrumentors to facts.

Keys and traps are those of ``openinference-semantic-conventions`` 0.1.42 and of the
instrumentors for LlamaIndex, LangChain, Haystack, DSPy and OpenAI.
"""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.conventions.base import BaseConvention
from otel_raglog.conventions.chat import (
    message_from_item,
    tool_calls_of,
)
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.flattened import ListAttribute
from otel_raglog.conventions.json_text import (
    as_count,
    as_data,
    as_text,
    parse_json,
    parse_json_or_literal,
)
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.conventions.openinference_search import NAME, SearchReader
from otel_raglog.conventions.work import NO_MODEL, NO_TOKENS
from otel_raglog.model import (
    NOT_CAPTURED,
    AttributeValue,
    Field,
    FieldStatus,
    Message,
    Role,
    TokenUsage,
    missing,
    present,
)

MARKERS = (
    "openinference.",
    "input.value",
    "output.value",
    "retrieval.documents",
    "reranker.",
    "embedding.embeddings",
    "embedding.model_name",
    "llm.input_messages",
    "llm.output_messages",
    "llm.model_name",
    "llm.prompts",
    "llm.prompt_template",
    "llm.choices",
    "llm.token_count",
    "llm.invocation_parameters",
    "llm.finish_reason",
)
_MODEL_KEYS = (
    "llm.response.model_name",
    "llm.model_name",
    "llm.request.model_name",
    "embedding.model_name",
    "reranker.model_name",
)
_TOKEN_KEYS = (
    "llm.token_count.prompt",
    "llm.token_count.completion",
    "llm.token_count.total",
)

_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.LLM: (
        Wanted("messages", ("llm.input_messages.N.message.content", "llm.prompts", "input.value")),
        Wanted(
            "output_messages",
            ("llm.output_messages.N.message.content", "llm.choices", "output.value"),
        ),
        Wanted("model", _MODEL_KEYS[:3]),
        Wanted("tokens", _TOKEN_KEYS),
        Wanted("finish_reason", ("llm.finish_reason",)),
    ),
    Role.EMBEDDER: (
        Wanted("embedding_texts", ("embedding.embeddings.N.embedding.text", "input.value")),
        Wanted("model", ("embedding.model_name",)),
    ),
    Role.RETRIEVER: (
        Wanted("query", ("input.value",)),
        Wanted("documents", ("retrieval.documents.N.document.content", "output.value")),
    ),
    Role.RERANKER: (
        Wanted("query", ("reranker.query", "input.value")),
        Wanted("input_documents", ("reranker.input_documents.N.document.content", "input.value")),
        Wanted(
            "documents",
            ("reranker.output_documents.N.document.content", "retrieval.documents", "output.value"),
        ),
    ),
    Role.TOOL: (Wanted("query", ("input.value",)), Wanted("documents", ("output.value",))),
    Role.CHAIN: (Wanted("input", ("input.value",)), Wanted("output", ("output.value",))),
}


class _Reader(SearchReader):
    """Reads one span; every method returns one fact."""

    # ------------------------------------------------------------------ single values

    def model(self) -> str | None:
        if self.attributes.keys().isdisjoint(_MODEL_KEYS):
            return None
        for key in _MODEL_KEYS:
            text = as_text(self.attributes.get(key))
            if text is not None and text.lower() not in NO_MODEL and key not in self.redacted:
                return text
        return None

    def finish_reason(self) -> str | None:
        text = as_text(self.attributes.get("llm.finish_reason"))
        if text or self.role is not Role.LLM:
            return text
        outputs = self.lists.read("llm.output_messages")
        for item in outputs.items if outputs else ():
            reason = item.get("message.finish_reason")
            if isinstance(reason, str):
                return reason
        return super().finish_reason()

    def tokens(self) -> TokenUsage:
        if self.attributes.keys().isdisjoint(_TOKEN_KEYS):
            return NO_TOKENS
        return TokenUsage(*(as_count(self.attributes.get(key)) for key in _TOKEN_KEYS))

    def prompt_variables(self) -> dict[str, str]:
        value = self.attributes.get("llm.prompt_template.variables")
        if value is None:
            return {}
        data = parse_json_or_literal(value) if isinstance(value, str) else as_data(value)
        if not isinstance(data, Mapping):
            return {}
        return {
            str(name): text
            for name, item in data.items()
            if isinstance(text := item if isinstance(item, str) else as_text(_value(item)), str)
            and not is_redacted(text)
        }

    def query(self) -> Field[str]:
        if self.role is Role.RERANKER:
            query = self.text("reranker.query")
            if query.status is not FieldStatus.NOT_CAPTURED:
                return query
        return super().query()

    def top_k(self) -> int | None:
        return as_count(self.attributes.get("reranker.top_k")) or super().top_k()

    def prompt_template(self) -> Field[str]:
        return self.text("llm.prompt_template.template")

    def tool_name(self) -> str | None:
        return as_text(self.attributes.get("tool.name"))

    # ------------------------------------------------------------------ texts of models

    def embedding_texts(self) -> Field[tuple[str, ...]]:
        if self.role is not Role.EMBEDDER:
            return NOT_CAPTURED
        listed = self.lists.read("embedding.embeddings")
        texts: list[str] = []
        hidden = False
        for item in listed.items if listed else ():
            value = item.get("embedding.text", item.get("text"))
            if isinstance(value, str) and is_redacted(value):
                hidden = True
            elif isinstance(value, str) and not _are_token_ids(value):
                texts.append(value)
        if hidden:
            return missing(FieldStatus.REDACTED, self.source("embedding.embeddings"))
        if listed is not None and texts:
            status = FieldStatus.TRUNCATED if listed.gaps else FieldStatus.PRESENT
            return Field(tuple(texts), status, self.source(listed.key))
        return super().embedding_texts()

    def _of_items(self, listed: ListAttribute) -> Field[tuple[Message, ...]]:
        messages = tuple(message_from_item(item) for item in listed.items)
        source = self.source(listed.key)
        if any(is_redacted(message.content) for message in messages):
            return missing(FieldStatus.REDACTED, source)
        if not messages:
            return Field((), FieldStatus.TRUNCATED if listed.cut else FieldStatus.EMPTY, source)
        cut = listed.gaps or any(key.startswith(listed.key + ".") for key in self.cut)
        return Field(messages, FieldStatus.TRUNCATED if cut else FieldStatus.PRESENT, source)

    def messages(self) -> Field[tuple[Message, ...]]:
        if self.role not in {Role.LLM, Role.UNKNOWN}:
            return NOT_CAPTURED
        listed = self.lists.read("llm.input_messages")
        if listed is not None:
            return self._of_items(listed)
        prompts = self._prompts("llm.prompts", "prompt.text", "user")
        if prompts is not None:
            return prompts
        if self.input.value is None or self.role is Role.UNKNOWN:
            absent = self.absent("input.value", "llm.prompts")
            return missing(absent.status, absent.source)
        return super().messages()

    def _prompts(self, key: str, suffix: str, role: str) -> Field[tuple[Message, ...]] | None:
        """Return legacy ``llm.prompts`` / ``llm.choices``: indexed, a list, or one text."""
        if key in self.redacted:
            return missing(FieldStatus.REDACTED, self.source(key))
        listed = self.lists.read(key)
        value = self.attributes.get(key)
        if isinstance(value, str) and (listed is None or not listed.items):
            return present((Message(role, value),), self.source(key))
        if listed is None:
            return None
        texts = [
            text
            for item in listed.items
            if isinstance(text := item.get(suffix, item.get("text", item.get(""))), str)
        ]
        if any(is_redacted(text) for text in texts):
            return missing(FieldStatus.REDACTED, self.source(key))
        if not texts:
            return None
        return present(tuple(Message(role, text) for text in texts), self.source(key))

    def output_messages(self) -> tuple[Field[tuple[Message, ...]], object | None]:
        """Return the response, and the tool calls in it as JSON data."""
        if self.role is not Role.LLM:
            return NOT_CAPTURED, None
        listed = self.lists.read("llm.output_messages")
        if listed is not None:
            calls = [call for item in listed.items for call in tool_calls_of(item)]
            return self._of_items(listed), {"tool_calls": calls} if calls else None
        choices = self._prompts("llm.choices", "completion.text", "assistant")
        if choices is not None:
            return choices, None
        if self.output.value is None:
            absent = self.absent("output.value", "llm.choices")
            return missing(absent.status, absent.source), None
        return super().output_messages()


def _value(item: object) -> AttributeValue:
    """Return a template variable that is no text as a value that can be written as JSON."""
    if isinstance(item, list):
        return tuple(_value(element) for element in item)
    if isinstance(item, dict):
        return {str(key): _value(element) for key, element in item.items()}
    return item if isinstance(item, int | float | str | bytes) else None


def _are_token_ids(text: str) -> bool:
    data = parse_json(text)
    while isinstance(data, list) and data and isinstance(data[0], list):
        data = data[0]
    return isinstance(data, list) and bool(data) and all(isinstance(n, int) for n in data)


class OpenInference(BaseConvention):
    """The OpenInference vocabulary."""

    name = NAME
    title = "OpenInference"
    marker_prefixes = MARKERS
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "OpenInference records content unless it is told to hide it: look for "
        "OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS and the like in the environment"
    )
