"""Readings of calls to span attributes in OpenInference's vocabulary."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from otel_raglog_proxy_bridge.model import ChatMessage, Document, EmbedderReading, LlmReading

Attributes = dict[str, object]


def embedder_attributes(reading: EmbedderReading) -> Attributes:
    """Return the model and the texts; vectors are left out."""
    attributes: Attributes = {}
    if reading.model:
        attributes["embedding.model_name"] = reading.model
    for index, text in enumerate(reading.inputs):
        attributes[f"embedding.embeddings.{index}.embedding.text"] = text
    if reading.tokens is not None:
        attributes["llm.token_count.prompt"] = reading.tokens
    return attributes


def llm_attributes(reading: LlmReading) -> Attributes:
    """Return model, messages, answer, tool calls, tokens and parameters."""
    attributes: Attributes = {}
    model = reading.model or reading.response_model
    if model:
        attributes["llm.model_name"] = model
    if reading.parameters:
        attributes["llm.invocation_parameters"] = json.dumps(
            dict(reading.parameters), ensure_ascii=False, default=str
        )
    attributes |= _messages("llm.input_messages", _told(reading))
    if reading.answer is not None or reading.tool_calls:
        said = ChatMessage("assistant", reading.answer or "", reading.tool_calls)
        attributes |= _messages("llm.output_messages", [said])
    if reading.finish_reason:
        attributes["llm.finish_reason"] = reading.finish_reason
    counts = {"prompt": reading.prompt_tokens, "completion": reading.completion_tokens}
    for name, number in counts.items():
        if number is not None:
            attributes[f"llm.token_count.{name}"] = number
    if reading.prompt_tokens is not None and reading.completion_tokens is not None:
        attributes["llm.token_count.total"] = reading.prompt_tokens + reading.completion_tokens
    return attributes


def _told(reading: LlmReading) -> Sequence[ChatMessage]:
    """Return the messages; documents given beside them stand before the last as one message."""
    texts = [document.text for document in reading.documents if document.text]
    if not texts:
        return reading.messages
    context = ChatMessage("system", "\n\n".join(texts))
    return [*reading.messages[:-1], context, *reading.messages[-1:]]


def _messages(key: str, messages: Iterable[ChatMessage]) -> Attributes:
    attributes: Attributes = {}
    for index, message in enumerate(messages):
        place = f"{key}.{index}.message"
        attributes[f"{place}.role"] = message.role
        if message.content or not message.tool_calls:
            attributes[f"{place}.content"] = message.content
        for number, call in enumerate(message.tool_calls):
            tool = f"{place}.tool_calls.{number}.tool_call.function"
            attributes[f"{tool}.name"] = call.name
            attributes[f"{tool}.arguments"] = call.arguments
    return attributes


def documents_attributes(key: str, documents: Iterable[Document]) -> Attributes:
    """Return documents as a flattened list below ``key``."""
    attributes: Attributes = {}
    for index, document in enumerate(documents):
        place = f"{key}.{index}.document"
        values = {"id": document.id, "content": document.text, "score": document.score}
        attributes |= {f"{place}.{name}": v for name, v in values.items() if v is not None}
        if document.metadata:
            attributes[f"{place}.metadata"] = json.dumps(
                dict(document.metadata), ensure_ascii=False, default=str
            )
    return attributes
