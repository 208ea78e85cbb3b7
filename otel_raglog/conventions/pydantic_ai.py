"""Spans of Pydantic AI, as Logfire shows them, to facts.

Keys are those of ``pydantic-ai`` 2.68, whose formats 2 to 6 differ in the names of the tool spans,
of the events of the first format, and of Logfire's own instrumentation of LLM clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.genai import WANTED, GenAiDialect, GenAiReader
from otel_raglog.conventions.genai_carriers import ANSWERED, GIVEN, Said
from otel_raglog.conventions.queries import embedded_texts_in
from otel_raglog.model import Field, Message, Role, Span

NAME = "pydantic_ai"
MARKERS = (
    "pydantic_ai.",
    "final_result",
    "all_messages_events",
    "model_request_parameters",
    "tool_arguments",
    "tool_response",
    "inputs_count",
    "request_data",
    "response_data",
)
_CERTAIN = ("gen_ai.", "pydantic_ai.", "final_result", "all_messages_events")
"""Without any of these a span with a marker is of the application's own making."""

_RUN_MESSAGES = ("pydantic_ai.all_messages", "all_messages_events")
_ARGUMENTS = ("gen_ai.tool.call.arguments", "tool_arguments")
_RESULT = ("gen_ai.tool.call.result", "tool_response")

_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    **WANTED,
    Role.AGENT: (Wanted("input", _RUN_MESSAGES), Wanted("output", ("final_result",))),
    Role.LLM: (
        Wanted("messages", (GIVEN.current, "gen_ai.system_instructions", "events", "request_data")),
        Wanted("output_messages", (ANSWERED.current, "events", "response_data")),
        *WANTED[Role.LLM][2:],
    ),
    Role.EMBEDDER: (
        Wanted("embedding_texts", ("inputs", "request_data")),
        Wanted("model", ("gen_ai.response.model", "gen_ai.request.model")),
    ),
    Role.TOOL: (
        Wanted("query", _ARGUMENTS),
        Wanted("documents", _RESULT),
        Wanted("tool_name", ("gen_ai.tool.name",)),
    ),
}


class _Reader(GenAiReader):
    """Reads one span; every method returns one fact."""

    def find_role(self) -> Role:
        role = super().find_role()
        if role is not Role.UNKNOWN:
            return role
        keys = self.attributes.keys()
        if not keys.isdisjoint(_RUN_MESSAGES) or "final_result" in keys:
            return Role.AGENT
        if "inputs_count" in keys:
            return Role.EMBEDDER
        if {"request_data", "response_data"} <= keys:
            return Role.LLM
        return role

    def said_to(self) -> Said:
        """Return what was asked; of an agent, up to the message that asks, not what it did then."""
        if self.role is Role.AGENT:
            return self._run_asked() or super().said_to()
        said = super().said_to()
        if said.messages.source is None:
            return self._events(given=True) or self.whole(GIVEN, "request_data") or said
        return said

    def said_back(self) -> Said:
        said = super().said_back()
        if said.messages.source is None and self.role is Role.LLM:
            return self._events(given=False) or self._response() or said
        return said

    def _run_asked(self) -> Said | None:
        for key in _RUN_MESSAGES:
            said = self.whole(GIVEN, key)
            if said is None:
                continue
            messages = said.messages.value or ()
            asking = [at for at, m in enumerate(messages) if m.role == "user" and m.content]
            if asking:
                kept = messages[: asking[-1] + 1]
                return replace(said, messages=replace(said.messages, value=kept))
            return said
        return None

    def _events(self, *, given: bool) -> Said | None:
        """Return one side of the conversation of the first format: a list of events."""
        read, data = self.value("events")
        if not isinstance(data, list) or read.source is None:
            return None
        messages: list[Message] = []
        for event in data:
            if not isinstance(event, dict):
                continue
            body: Mapping[str, object] = event
            choice = body.get("event.name") == "gen_ai.choice"
            inner = body.get("message") if choice else body
            if choice is given or not isinstance(inner, dict):
                continue
            content = inner.get("content")
            role = "assistant" if choice else str(inner.get("role") or "user")
            messages.append(Message(role, content if isinstance(content, str) else ""))
        if not any(message.content for message in messages):
            return None
        return Said(Field(tuple(messages), read.status, read.source))

    def _response(self) -> Said | None:
        """Return what Logfire's own instrumentation of a client recorded of a response."""
        read, data = self.value("response_data")
        if not isinstance(data, dict) or read.source is None:
            return None
        message = data.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        content = content or data.get("combined_chunk_content") or data.get("text")
        if not isinstance(content, str) or not content:
            return None
        return Said(Field((Message("assistant", content),), read.status, read.source))

    def work_given(self) -> tuple[Field[str], object | None]:
        key = self.first_key(_ARGUMENTS)
        if self.role is Role.TOOL and key is not None:
            return self.value(key)
        return super().work_given()

    def work_done(self) -> tuple[Field[str], object | None]:
        key = self.first_key(_RESULT)
        if self.role is Role.TOOL and key is not None:
            return self.value(key)
        if self.role is Role.AGENT and "final_result" in self.attributes:
            return self.value("final_result")
        return super().work_done()

    def embedding_texts(self) -> Field[tuple[str, ...]]:
        if self.role is Role.EMBEDDER:
            for key in ("inputs", "request_data"):
                read, data = self.value(key)
                found = () if read.value is None else embedded_texts_in(data)
                if found:
                    return Field(found, read.status, read.source)
        return super().embedding_texts()

    def model(self) -> str | None:
        if self.role is Role.AGENT:
            return None
        return super().model()


class PydanticAi(GenAiDialect):
    """What Pydantic AI and Logfire write beside the GenAI conventions."""

    name = NAME
    title = "Pydantic AI / Logfire"
    marker_prefixes = MARKERS
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "Pydantic AI records content unless InstrumentationSettings(include_content=False) is set"
    )
    sender_scopes = ("pydantic-ai", "logfire")

    def speaks(self, span: Span) -> bool:
        """Tell whether a span has a key of these, and one that no application would choose."""
        certain = any(key.startswith(_CERTAIN) for key in span.attributes)
        return certain and super().speaks(span)
