"""Spans of OpenLLMetry (Traceloop) to facts.

Keys are those of the OpenLLMetry packages 0.62.4 and of older ones. What a step was given and gave
back is JSON under ``traceloop.entity``, in a shape of each framework's own; models, messages and
tokens are under GenAI keys of all ages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from otel_raglog.conventions.chat import messages_in
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.documents import chunks_in, with_score_kinds
from otel_raglog.conventions.genai import OPERATIONS, WANTED, GenAiDialect, GenAiReader
from otel_raglog.conventions.genai_messages import beginning_of_list
from otel_raglog.conventions.json_text import as_count, as_data, as_text, parse_json
from otel_raglog.conventions.queries import embedded_texts_in
from otel_raglog.conventions.quoted import beginning_of_text, unquoted
from otel_raglog.conventions.traceloop_content import (
    answer_of,
    without_wrapping,
)
from otel_raglog.conventions.traceloop_rerank import reranked_by_message
from otel_raglog.conventions.work import WorkReader
from otel_raglog.model import (
    Chunk,
    Field,
    FieldStatus,
    Message,
    Role,
    Span,
    missing,
)

NAME = "traceloop"
MARKERS = ("traceloop.", "llm.request.type", "llm.usage.")
KIND = "traceloop.span.kind"
ENTITY = "traceloop.entity.name"
GIVEN = "traceloop.entity.input"
RETURNED = "traceloop.entity.output"
PROPERTIES = "traceloop.association.properties."
_PYTHON = (
    "agno alephalpha anthropic bedrock cohere crewai google_generativeai groq haystack langchain "
    "litellm llamaindex mcp mistralai ollama openai.v0 openai.v1 openai_agents replicate sagemaker "
    "together transformers vertexai voyageai watsonx writer"
)
SCOPES = (
    "traceloop",
    "@traceloop",
    *(f"opentelemetry.instrumentation.{name}" for name in _PYTHON.split()),
)
"""Scopes of the packages for Python and JavaScript that write GenAI keys.

The OpenTelemetry project's own are ``opentelemetry.instrumentation.genai.*``, ``openai_v2``,
``google_genai`` and ``opentelemetry.util.genai.*``; Elastic's is ``openai`` without more.
"""

_SHARED = frozenset(
    f"opentelemetry.instrumentation.{name}" for name in ("openai_agents", "vertexai")
)
"""Names that packages of the OpenTelemetry project have as well, which write no version there."""

_FINAL = re.compile(r"\d+(?:\.\d+)*")

_KINDS = {
    "workflow": Role.CHAIN,
    "task": Role.CHAIN,
    "agent": Role.AGENT,
    "tool": Role.TOOL,
}
_SUFFIX = re.compile(r"\.(?:workflow|task|agent|tool)$")
_EMBEDDER = re.compile(r"(?:Embeddings?|Embedder)$")
_PROMPT = re.compile(r"PromptTemplate$")
_RERANKED = "gen_ai.completion"
_SESSIONS = ("session_id", "thread_id", "conversation_id", "chat_id")
_TOP_K_KEYS = ("rerank.top_n", "db.vector.query.top_k")
_CALL_KEYS = frozenset({"raw", "delta", "additional_kwargs", "logprobs"})
"""What LlamaIndex's responses of a model have beside the text or message."""

_NO_MODEL = {"", "unknown", "none"}

_ENTITY_KEYS = {"messages": GIVEN, "output_messages": RETURNED}
_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.LLM: tuple(
        replace(item, keys=(*item.keys, _ENTITY_KEYS[item.fact]))
        if item.fact in _ENTITY_KEYS
        else item
        for item in WANTED[Role.LLM]
    ),
    Role.EMBEDDER: (
        Wanted("embedding_texts", ("gen_ai.input.messages", "gen_ai.prompt.N.content", GIVEN)),
        Wanted("model", ("gen_ai.response.model", "gen_ai.request.model")),
    ),
    Role.RETRIEVER: (
        Wanted("query", (GIVEN,)),
        Wanted("documents", (RETURNED,), note="LangChain's have neither ids nor scores"),
    ),
    Role.RERANKER: (
        Wanted("query", ("gen_ai.input.messages", "gen_ai.prompt.N.content")),
        Wanted("input_documents", ("gen_ai.prompt.N.content", GIVEN)),
        Wanted("documents", ("gen_ai.completion.N.content", RETURNED)),
        Wanted("top_k", ("rerank.top_n",)),
    ),
    Role.TOOL: (Wanted("query", (GIVEN,)), Wanted("documents", (RETURNED,))),
    Role.PROMPT: (Wanted("input", (GIVEN,)), Wanted("output", (RETURNED,))),
    Role.CHAIN: (Wanted("input", (GIVEN,)), Wanted("output", (RETURNED,))),
    Role.AGENT: (Wanted("input", (GIVEN,)), Wanted("output", (RETURNED,))),
}


class _Reader(GenAiReader):
    """Reads one span; every method returns one fact."""

    def __init__(self, span: Span, convention: str) -> None:
        entity = span.attributes.get(ENTITY)
        self.component = _SUFFIX.sub("", entity if isinstance(entity, str) else span.name)
        self.entity: Mapping[str, tuple[Field[str], object | None]] = {}
        super().__init__(span, convention)
        self.layout = (
            reranked_by_message(self.lists.read("gen_ai.prompt"), self.lists.read(_RERANKED))
            if self.role is Role.RERANKER
            else None
        )

    # ------------------------------------------------------------------ what kind of work

    def operation(self) -> str:
        """Return the operation; versions before 0.50 have the type of the request instead."""
        older = self.attributes.get("llm.request.type")
        return super().operation() or (older.strip().lower() if isinstance(older, str) else "")

    def find_role(self) -> Role:
        self.entity = {key: self.value(key) for key in (GIVEN, RETURNED)}
        operation = self.operation()
        kind = self.attributes.get(KIND)
        named = _KINDS.get(kind.strip().lower()) if isinstance(kind, str) else None
        if operation == "invoke_agent" and named is Role.CHAIN:
            return Role.CHAIN  # LangChain's runnables are all said to be agents
        role = OPERATIONS.get(operation)
        if role is not None and role is not Role.CHAIN:
            return role
        if self._renders_prompt():
            return Role.PROMPT
        if role is None:
            role = self._role_by_component()
        return role or named or super().find_role()

    def _renders_prompt(self) -> bool:
        _, data = self.entity[GIVEN]
        arguments = data.get("kwargs") if isinstance(data, dict) else None
        if isinstance(arguments, dict) and arguments.get("run_type") == "prompt":
            return True
        return _PROMPT.search(self.component) is not None

    def _role_by_component(self) -> Role | None:
        """Return the role of a LlamaIndex component by its class, or by what it was called with."""
        if self.component.endswith("Retriever"):
            return Role.RETRIEVER
        if _EMBEDDER.search(self.component):
            return Role.EMBEDDER
        if any(
            key.startswith(("gen_ai.output.messages", "gen_ai.completion"))
            for key in self.attributes
        ):
            return Role.LLM
        (_, given), (_, returned) = self.entity[GIVEN], self.entity[RETURNED]
        if isinstance(returned, dict) and len(_CALL_KEYS & returned.keys()) > 1:
            return Role.LLM
        if RETURNED in self.attributes or not isinstance(given, dict):
            return None
        asked = given.get("messages")
        plain = isinstance(asked, list) and asked and given.keys() <= {"messages", "kwargs"}
        return Role.LLM if plain and messages_in(asked) else None

    # ------------------------------------------------------------------ input and output

    def work_given(self) -> tuple[Field[str], object | None]:
        if GIVEN not in self.attributes:
            return super().work_given()
        return self._content(GIVEN, whole=self.role is Role.LLM)

    def work_done(self) -> tuple[Field[str], object | None]:
        if RETURNED not in self.attributes:
            return super().work_done()
        read, data = self._content(RETURNED, whole=self.role is Role.LLM)
        answer = None if self.role is Role.LLM else answer_of(data)
        return (read, data) if answer is None else (replace(read, value=answer), None)

    def _content(self, key: str, *, whole: bool) -> tuple[Field[str], object | None]:
        """Return what is in an entity's JSON, without what the framework wrapped around it."""
        read, data = self.entity[key]
        if read.value is None or read.status is FieldStatus.EMPTY:
            return read, data
        if data is None:
            text = unquoted(read.value)
            if text is None:
                is_json = read.value.lstrip().startswith(('"', "{", "["))
                cut = self._cut(read, spoken=key == GIVEN) if is_json else read
                return cut, None
        else:
            inner = data if whole else without_wrapping(data)
            if not isinstance(inner, str):
                return self._inner(read, data, inner), inner
            text = inner
        status = read.status if text.strip() else FieldStatus.EMPTY
        return replace(read, value=text, status=status), parse_json(text)

    @staticmethod
    def _inner(read: Field[str], data: object, inner: object) -> Field[str]:
        if inner is data:
            return read
        return replace(read, value=json.dumps(as_data(inner), ensure_ascii=False))

    @staticmethod
    def _cut(read: Field[str], *, spoken: bool) -> Field[str]:
        """Return the text that a cut value begins with: JSON that no longer parses is no text."""
        text, is_whole = beginning_of_text(read.value or "", spoken=spoken)
        if not text:
            return missing(FieldStatus.TRUNCATED, read.source)
        return replace(
            read, value=text, status=FieldStatus.PRESENT if is_whole else FieldStatus.TRUNCATED
        )

    # ------------------------------------------------------------------ searching

    def query(self) -> Field[str]:
        if self.layout is not None:
            return Field(self.layout.query, FieldStatus.PRESENT, self.source("gen_ai.prompt"))
        if self.role is Role.RERANKER and self.given.messages.value:
            return self.given.text()
        return WorkReader.query(self)

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:
        if self.layout is not None:
            chunks = with_score_kinds(self.layout.selected, reranked=True)
            status = FieldStatus.PRESENT if chunks else FieldStatus.EMPTY
            return Field(chunks, status, self.source(_RERANKED)), True
        cut = self._cut_documents()
        if cut is not None:
            return cut, True
        read, _ = WorkReader.documents(self)
        own = self.role in {Role.RETRIEVER, Role.RERANKER} and RETURNED in self.attributes
        return read, own and read.value is not None

    def _cut_documents(self) -> Field[tuple[Chunk, ...]] | None:
        """Return the documents before the place where a search's output was cut."""
        read, data = self.entity[RETURNED]
        text = (read.value or "").lstrip()
        searches = self.role in {Role.RETRIEVER, Role.RERANKER}
        if not searches or data is not None or not text.startswith(("{", "[")):
            return None
        found = chunks_in(beginning_of_list(text), bare_strings=False)
        source = self.source(RETURNED)
        if not found:
            return missing(FieldStatus.TRUNCATED, source)
        reranked = self.role is Role.RERANKER
        return Field(with_score_kinds(found, reranked=reranked), FieldStatus.TRUNCATED, source)

    def input_documents(self) -> Field[tuple[Chunk, ...]]:
        if self.layout is not None:
            return Field(self.layout.given, FieldStatus.PRESENT, self.source("gen_ai.prompt"))
        return super().input_documents()

    def top_k(self) -> int | None:
        for key in _TOP_K_KEYS:
            count = as_count(self.attributes.get(key))
            if count:
                return count
        return super().top_k()

    def embedding_texts(self) -> Field[tuple[str, ...]]:
        if (
            self.role is Role.EMBEDDER
            and GIVEN in self.attributes
            and not self.given.messages.value
        ):
            return WorkReader.embedding_texts(self)
        read = super().embedding_texts()
        if read.value and len(read.value) == 1:
            data = parse_json(read.value[0])  # Cohere: a list of parts as the text of one message
            texts = (
                [t for part in data for t in embedded_texts_in(part)]
                if isinstance(data, list)
                else []
            )
            return Field(tuple(texts), read.status, read.source) if texts else read
        return read

    # ------------------------------------------------------------------ talking

    def messages(self) -> Field[tuple[Message, ...]]:
        read = super().messages()
        if read.value is not None or GIVEN not in self.attributes:
            return read
        if self.input_data is None and self.input.status is FieldStatus.TRUNCATED:
            return missing(FieldStatus.TRUNCATED, self.input.source)
        return WorkReader.messages(self)

    def output_messages(self) -> tuple[Field[tuple[Message, ...]], object | None]:
        read, calls = super().output_messages()
        if read.value is not None or RETURNED not in self.attributes:
            return read, calls
        return WorkReader.output_messages(self)

    def prompt_variables(self) -> Mapping[str, str]:
        written = super().prompt_variables()
        _, managed = self.value("traceloop.prompt.template_variables")
        for data in (managed, self._template_arguments()):
            if isinstance(data, dict):
                return {**written, **{str(k): v for k, v in data.items() if isinstance(v, str)}}
        return written

    def _template_arguments(self) -> object | None:
        """Return what was put into a prompt that LangChain or LlamaIndex rendered."""
        if self.role is Role.PROMPT:
            return self.input_data
        if self.role is not Role.LLM or not isinstance(self.input_data, dict):
            return None
        arguments = {k: v for k, v in self.input_data.items() if k not in {"prompt", "messages"}}
        return arguments if "prompt" in self.input_data else None

    def prompt_template(self) -> Field[str]:
        return self.text("traceloop.prompt.template")

    # ------------------------------------------------------------------ single values

    def model(self) -> str | None:
        name = super().model()
        for text in (name, as_text(self.attributes.get("llm.request.model"))):
            if text is not None and text.strip().lower() not in _NO_MODEL:
                return text
        return None

    def tool_name(self) -> str | None:
        return super().tool_name() or (self.component if self.role is Role.TOOL else None)

    def session_id(self) -> str | None:
        found = (self.identity(PROPERTIES + name) for name in _SESSIONS)
        return next((text for text in found if text), None) or super().session_id()

    def user_id(self) -> str | None:
        for key in (PROPERTIES + "user_id", "gen_ai.user", "llm.user"):
            text = self.identity(key)
            if text:
                return text
        return super().user_id()


class Traceloop(GenAiDialect):
    """What OpenLLMetry and Traceloop's SDK write."""

    name = NAME
    title = "OpenLLMetry (Traceloop)"
    marker_prefixes = MARKERS
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "OpenLLMetry records content unless TRACELOOP_TRACE_CONTENT=false is set; long values are "
        "cut at OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"
    )
    sender_scopes = SCOPES

    def speaks(self, span: Span) -> bool:
        """Tell whether OpenLLMetry wrote a span: LiteLLM has one of its older keys, too."""
        found = [key for key in span.attributes if key.startswith(MARKERS)]
        if found == ["llm.request.type"] and "litellm.call_id" in span.attributes:
            return False
        return bool(found) or self.sent(span)

    def sent(self, span: Span) -> bool:
        """Tell senders of the same name apart: only OpenLLMetry has versions without a beta."""
        version = span.scope_version
        final = _FINAL.fullmatch(version) if version else span.scope_name not in _SHARED
        return bool(final) and super().sent(span)
