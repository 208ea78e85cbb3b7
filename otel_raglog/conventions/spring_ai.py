"""Spans of Spring AI to facts.

Keys are those of Spring AI 1.0 and 1.1 (Micrometer observations, every value a text) and of its
milestones, which wrote the texts of the chat client. Spans of models follow the GenAI conventions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.genai import WANTED, GenAiDialect, GenAiReader
from otel_raglog.conventions.genai_carriers import GIVEN, Said
from otel_raglog.conventions.json_text import as_count, as_text
from otel_raglog.model import Field, FieldStatus, Message, Role

NAME = "spring_ai"
MARKER = "spring.ai."
KIND = "spring.ai.kind"
_USER = "spring.ai.chat.client.user.text"
_SYSTEM = "spring.ai.chat.client.system.text"
_ARGUMENTS = "spring.ai.tool.call.arguments"
_RESULT = "spring.ai.tool.call.result"
_TOOL = "spring.ai.tool.definition.name"
_QUERY = "db.vector.query.content"
_FOUND = "db.vector.query.response.documents"
_TOP_K = "db.vector.query.top_k"
_SESSION = "spring.ai.chat.client.conversation.id"
_PARAMETERS = "spring.ai.chat.client.advisor.params"
_REMEMBERED_SESSION = re.compile(r'"chat_memory_conversation_id"\s*:\s*"([^"]+)"')

_CLIENT = (
    Wanted("input", ("gen_ai.prompt", _USER)),
    Wanted("output", ("gen_ai.completion",)),
    Wanted("session_id", (_SESSION, _PARAMETERS)),
)
_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    **WANTED,
    Role.CHAIN: _CLIENT,
    Role.RETRIEVER: (
        Wanted("query", (_QUERY,)),
        Wanted("documents", (_FOUND,), note="Spring AI logs what was found, and does not trace it"),
        Wanted("top_k", (_TOP_K,)),
    ),
    Role.TOOL: (
        Wanted("query", (_ARGUMENTS, "gen_ai.tool.call.arguments")),
        Wanted("documents", (_RESULT, "gen_ai.tool.call.result")),
        Wanted("tool_name", (_TOOL, "gen_ai.tool.name")),
    ),
}


class _Reader(GenAiReader):
    """Reads one span; every method returns one fact."""

    def find_role(self) -> Role:
        kind = (as_text(self.attributes.get(KIND)) or "").lower()
        if kind in {"chat_client", "advisor"} or self.span.name == "spring_ai chat_client":
            return Role.CHAIN
        if kind == "tool_call":
            return Role.TOOL
        if kind == "vector_store":
            done = (as_text(self.attributes.get("db.operation.name")) or "query").lower()
            return Role.RETRIEVER if done == "query" else Role.UNKNOWN
        return super().find_role()

    def said_to(self) -> Said:
        said = super().said_to()
        user = self.text(_USER)
        if said.messages.source is not None or user.status is FieldStatus.NOT_CAPTURED:
            return said
        if user.value is None:
            return Said(Field(None, user.status, user.source))
        system = self.text(_SYSTEM).value
        messages = (Message("system", system),) if system else ()
        return Said(
            Field((*messages, Message(GIVEN.speaker, user.value)), user.status, user.source)
        )

    def work_given(self) -> tuple[Field[str], object | None]:
        if self.role is Role.TOOL and _ARGUMENTS in self.attributes:
            return self.value(_ARGUMENTS)
        return super().work_given()

    def work_done(self) -> tuple[Field[str], object | None]:
        if self.role is Role.TOOL and _RESULT in self.attributes:
            return self.value(_RESULT)
        return super().work_done()

    def query_keys(self) -> tuple[str, ...]:
        return (_QUERY, *super().query_keys())

    def document_keys(self) -> tuple[str, ...]:
        return (_FOUND, *super().document_keys())

    def top_k(self) -> int | None:
        if self.role is Role.RETRIEVER and _TOP_K in self.attributes:
            return as_count(self.attributes[_TOP_K])
        return super().top_k()

    def tool_name(self) -> str | None:
        return as_text(self.attributes.get(_TOOL)) or super().tool_name()

    def session_id(self) -> str | None:
        named = self.identity(_SESSION)
        if named is None:
            match = _REMEMBERED_SESSION.search(as_text(self.attributes.get(_PARAMETERS)) or "")
            named = match[1] if match else None
        return named or super().session_id()


class SpringAi(GenAiDialect):
    """What Spring AI writes beside the GenAI conventions."""

    name = NAME
    title = "Spring AI"
    marker_prefixes = (MARKER,)
    marker_names = ("spring_ai ",)
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "Spring AI logs prompts, completions and what a vector store found "
        "(spring.ai.chat.observations.log-prompt and the like) and does not trace them: add an "
        "ObservationFilter that puts them on the spans, and spring.ai.tools.observations."
        "include-content=true"
    )
    sender_scopes = ("org.springframework.boot",)
