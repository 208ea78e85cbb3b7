"""Spans of the OpenTelemetry GenAI conventions to facts, in their present and older forms.

Keys are those of the ``semantic-conventions-genai`` repository, of the instrumentations built on
``opentelemetry-util-genai`` 1.3b0, and those that other instrumentations write beside the spec.
"""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.conventions.base import BaseConvention
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.documents import chunk_from_item, chunks_in, with_score_kinds
from otel_raglog.conventions.genai_carriers import ANSWERED, GIVEN, SYSTEM, CarrierReader, Said
from otel_raglog.conventions.json_text import as_count, as_data, as_text, parse_json
from otel_raglog.conventions.scopes import enclosing
from otel_raglog.conventions.work import NO_MODEL, NO_TOKENS
from otel_raglog.model import (
    NOT_CAPTURED,
    Chunk,
    Field,
    FieldStatus,
    Message,
    Role,
    Span,
    TokenUsage,
    missing,
)

NAME = "genai"
MARKER = "gen_ai."
EVALUATION = "gen_ai.evaluation."

OPERATIONS: Mapping[str, Role] = {
    "chat": Role.LLM,
    "generate_content": Role.LLM,
    "text_completion": Role.LLM,
    "text_completions": Role.LLM,
    "completion": Role.LLM,
    "llm_request": Role.LLM,
    "response": Role.LLM,
    "responses": Role.LLM,
    "generate": Role.LLM,
    "generate_text": Role.LLM,
    "embeddings": Role.EMBEDDER,
    "embedding": Role.EMBEDDER,
    "embed": Role.EMBEDDER,
    "retrieval": Role.RETRIEVER,
    "retrieve": Role.RETRIEVER,
    "vector_db_retrieve": Role.RETRIEVER,
    "retriever": Role.RETRIEVER,
    "search_memory": Role.RETRIEVER,
    "rerank": Role.RERANKER,
    "rerank_documents": Role.RERANKER,
    "reranker": Role.RERANKER,
    "execute_tool": Role.TOOL,
    "acompletion": Role.LLM,
    "atext_completion": Role.LLM,
    "aembedding": Role.EMBEDDER,
    "arerank": Role.RERANKER,
    "invoke_agent": Role.AGENT,
    "invoke_workflow": Role.CHAIN,
    "execute_task": Role.CHAIN,
    "chain": Role.CHAIN,
    "agent_step": Role.CHAIN,
    "plan": Role.CHAIN,
    "evaluate": Role.EVALUATOR,
    "evaluation": Role.EVALUATOR,
}
"""Values of ``gen_ai.operation.name``, of the conventions and beside them."""

_OTHER_WORK = frozenset({"create_agent", "create_memory", "update_memory", "upsert_memory"})
_ROLE_BY_KEY = (
    (EVALUATION, Role.EVALUATOR),
    ("gen_ai.tool.name", Role.TOOL),
    ("gen_ai.tool.call.", Role.TOOL),
    ("gen_ai.rerank.", Role.RERANKER),
    ("gen_ai.retrieval.", Role.RETRIEVER),
    ("gen_ai.memory.query.", Role.RETRIEVER),
    ("gen_ai.memory.records", Role.RETRIEVER),
    ("gen_ai.embeddings.", Role.EMBEDDER),
)
_ROLE_BY_OWNER = (("gen_ai.agent.", Role.AGENT), ("gen_ai.workflow.", Role.CHAIN))
_LLM_KEYS = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.request.model",
    "gen_ai.response.model",
    "gen_ai.prompt",
    "gen_ai.completion",
    "gen_ai.usage.",
)
_LLM_EVENTS = frozenset({*GIVEN.events, *ANSWERED.events, GIVEN.whole, ANSWERED.whole})
_QUERY_KEYS = (
    "gen_ai.retrieval.query.text",
    "gen_ai.retrieval.query",
    "gen_ai.retrieval.query_text",
    "gen_ai.memory.query.text",
)
_DOCUMENT_KEYS = ("gen_ai.retrieval.documents", "gen_ai.memory.records")
_RERANK_QUERY_KEYS = (
    "gen_ai.rerank.query.text",
    "gen_ai.rerank.query",
    "gen_ai.rerank.query_text",
)
_RERANK_IN_KEYS = ("gen_ai.rerank.input.documents", "gen_ai.rerank.input_documents")
_RERANK_OUT_KEYS = ("gen_ai.rerank.output.documents", "gen_ai.rerank.output_documents")
_TOP_K_KEYS = (
    "gen_ai.rerank.top_n",
    "gen_ai.rerank.top_k",
    "gen_ai.retrieval.top_k",
    "gen_ai.request.top_k",
)
_MODEL_KEYS = ("gen_ai.response.model", "gen_ai.request.model", "gen_ai.rerank.model")
_USAGE = "gen_ai.usage."
_TOKEN_KEYS = (
    ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    ("gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
)
_FINISH_KEYS = ("gen_ai.response.finish_reasons", "gen_ai.response.finish_reason")
_TALKING = (
    Wanted("input", (GIVEN.current, GIVEN.older, f"{GIVEN.whole}/{GIVEN.older}")),
    Wanted("output", (ANSWERED.current, ANSWERED.older, f"{ANSWERED.whole}/{ANSWERED.older}")),
)

WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.LLM: (
        Wanted(
            "messages",
            (
                GIVEN.current,
                SYSTEM,
                "gen_ai.user.message/content",
                f"{GIVEN.older}.N.content",
                f"{GIVEN.whole}/{GIVEN.older}",
                GIVEN.older,
            ),
        ),
        Wanted(
            "output_messages",
            (
                ANSWERED.current,
                "gen_ai.choice/message",
                f"{ANSWERED.older}.N.content",
                f"{ANSWERED.whole}/{ANSWERED.older}",
                ANSWERED.older,
            ),
        ),
        Wanted("model", _MODEL_KEYS[:2]),
        Wanted("tokens", tuple(key for keys in _TOKEN_KEYS for key in keys)),
        Wanted("finish_reason", _FINISH_KEYS),
    ),
    Role.EMBEDDER: (
        Wanted(
            "embedding_texts",
            (GIVEN.current, f"{GIVEN.older}.N.content"),
            note="the conventions have no key for the embedded text",
        ),
        Wanted("model", _MODEL_KEYS[:2]),
    ),
    Role.RETRIEVER: (
        Wanted("query", _QUERY_KEYS),
        Wanted(
            "documents",
            _DOCUMENT_KEYS,
            note="texts of documents are extras of the conventions: many write ids alone",
        ),
        Wanted("top_k", _TOP_K_KEYS[2:]),
    ),
    Role.RERANKER: (
        Wanted("query", _RERANK_QUERY_KEYS),
        Wanted("input_documents", _RERANK_IN_KEYS),
        Wanted("documents", (*_RERANK_OUT_KEYS, _DOCUMENT_KEYS[0])),
        Wanted("top_k", _TOP_K_KEYS[:2]),
    ),
    Role.TOOL: (
        Wanted("query", ("gen_ai.tool.call.arguments",)),
        Wanted("documents", ("gen_ai.tool.call.result",)),
        Wanted("tool_name", ("gen_ai.tool.name",)),
    ),
    Role.AGENT: _TALKING,
    Role.CHAIN: _TALKING,
}


def speaks(span: Span) -> bool:
    """Tell whether a span has a GenAI key or event; a judgement about a span is none."""
    return any(key.startswith(MARKER) for key in span.attributes) or any(
        event.name.startswith(MARKER) and not event.name.startswith(EVALUATION)
        for event in span.events
    )


class GenAiReader(CarrierReader):
    """Reads one span; every method returns one fact.

    Frameworks that build on these conventions override the methods for which they have keys.
    """

    def __init__(self, span: Span, convention: str = NAME) -> None:
        super().__init__(span, convention)
        self.role = self.find_role()
        self.given = self.said_to()
        self.answered = self.said_back()
        self.input, self.input_data = self.work_given()
        self.output, self.output_data = self.work_done()

    # ------------------------------------------------------------------ what kind of work

    def operation(self) -> str:
        """Return the name of the operation, empty without one."""
        name = self.attributes.get("gen_ai.operation.name")
        return name.strip().lower() if isinstance(name, str) else ""

    def find_role(self) -> Role:
        """Return the role by the operation, else by the keys that only one kind of work has."""
        operation = self.operation()
        if operation in OPERATIONS:
            return OPERATIONS[operation]
        if operation in _OTHER_WORK or operation.endswith(("_memory", "_memory_store")):
            return Role.UNKNOWN
        for prefix, role in _ROLE_BY_KEY:
            if any(key.startswith(prefix) for key in self.attributes):
                return role
        return self._role_by_talk()

    def _role_by_talk(self) -> Role:
        keys = self.attributes
        named = OPERATIONS.get(self.span.name.partition(" ")[0].lower())
        talks = any(key.startswith(_LLM_KEYS) for key in keys) or any(
            event.name in _LLM_EVENTS for event in self.span.events
        )
        if named is not None and (talks or named in {Role.AGENT, Role.CHAIN}):
            return named
        if "gen_ai.request.model" not in keys and "gen_ai.response.model" not in keys:
            for prefix, role in _ROLE_BY_OWNER:
                if any(key.startswith(prefix) for key in keys):
                    return role
        return Role.LLM if talks else Role.UNKNOWN

    # ------------------------------------------------------------------ input and output

    def said_to(self) -> Said:
        """Return the messages that the span was given."""
        return self.said(GIVEN)

    def said_back(self) -> Said:
        """Return the messages that it gave back."""
        return self.said(ANSWERED)

    def work_given(self) -> tuple[Field[str], object | None]:
        """Return the input: of a search the query, of a tool the arguments, else the messages."""
        if self.role is Role.TOOL:
            return self.value("gen_ai.tool.call.arguments")
        if self.role in {Role.RETRIEVER, Role.RERANKER}:
            read = self.first_text(self.query_keys())
            found = read.status is not FieldStatus.NOT_CAPTURED
            return (read if found else self.given.text()), None
        return self.given.text(), self.given.data()

    def work_done(self) -> tuple[Field[str], object | None]:
        """Return the output: of a search the documents, of a tool the result, else messages."""
        if self.role is Role.TOOL:
            return self.value("gen_ai.tool.call.result")
        if self.role in {Role.RETRIEVER, Role.RERANKER}:
            key = self.first_key(self.document_keys())
            if key is not None:
                return self.value(key)
        text = self.answered.text()
        if self.role is Role.LLM or text.value is None:
            return text, None
        messages = self.answered.messages.value or ()
        if len(messages) == 1:
            return text, parse_json(text.value)
        return text, self.answered.data()

    def query_keys(self) -> tuple[str, ...]:
        """Return the keys that may hold the text of a search, best first."""
        if self.role is Role.RERANKER:
            return (*_RERANK_QUERY_KEYS, *_QUERY_KEYS)
        return (*_QUERY_KEYS, *_RERANK_QUERY_KEYS)

    def document_keys(self) -> tuple[str, ...]:
        """Return the keys that may hold what a search found, best first."""
        if self.role is Role.RERANKER:
            return (*_RERANK_OUT_KEYS, *_DOCUMENT_KEYS)
        return _DOCUMENT_KEYS

    def first_key(self, keys: tuple[str, ...]) -> str | None:
        """Return the first key that is on the span."""
        return next((key for key in keys if key in self.attributes), None)

    def first_text(self, keys: tuple[str, ...]) -> Field[str]:
        """Return the text of the first key that is on the span."""
        key = self.first_key(keys)
        if key is None:
            absent = self.absent()
            return missing(absent.status, absent.source)
        return self.text(key)

    # ------------------------------------------------------------------ searching

    def documents(self) -> tuple[Field[tuple[Chunk, ...]], bool]:
        """Return results, and whether they came from the keys made for documents."""
        if self.role in {Role.RETRIEVER, Role.RERANKER}:
            key = self.first_key(self.document_keys())
            if key is not None:
                return self.listed(key, reranked=self.role is Role.RERANKER), True
            if self.output.value is None:
                absent = self.absent()
                return missing(absent.status, absent.source), False
        return super().documents()

    def input_documents(self) -> Field[tuple[Chunk, ...]]:
        """Return what a reranker was given."""
        key = self.first_key(_RERANK_IN_KEYS)
        if key is not None and self.role is Role.RERANKER:
            return self.listed(key)
        return super().input_documents()

    def listed(self, key: str, *, reranked: bool = False) -> Field[tuple[Chunk, ...]]:
        """Return a list of documents, with or without texts, ids and scores."""
        read, data = self.value(key)
        if read.value is None or read.status is FieldStatus.EMPTY:
            return missing(read.status, read.source)
        found = chunks_in(data, bare_strings=True)
        if found is None and isinstance(data, list) and all(isinstance(e, dict) for e in data):
            found = tuple(chunk_from_item(element) for element in data)
        if found is None:
            cut = read.status is FieldStatus.TRUNCATED
            return missing(read.status, read.source) if cut else NOT_CAPTURED
        status = read.status if found else FieldStatus.EMPTY
        return Field(with_score_kinds(found, reranked=reranked), status, read.source)

    def top_k(self) -> int | None:
        """Return the number of results asked for; of a model the same key means its sampling."""
        if self.role in {Role.RETRIEVER, Role.RERANKER}:
            for key in _TOP_K_KEYS:
                count = as_count(self.attributes.get(key))
                if count:
                    return count
        return super().top_k()

    def embedding_texts(self) -> Field[tuple[str, ...]]:
        """Return the texts that an embedder was given, where an instrumentation writes them."""
        if self.role is not Role.EMBEDDER:
            return NOT_CAPTURED
        read = self.given.messages
        if read.value is None:
            return missing(read.status, read.source)
        texts = tuple(m.content for m in read.value if m.content.strip())
        return Field(texts, read.status, read.source) if texts else NOT_CAPTURED

    # ------------------------------------------------------------------ talking

    def messages(self) -> Field[tuple[Message, ...]]:
        """Return the messages that an LLM was given."""
        return self.given.messages if self.role is Role.LLM else NOT_CAPTURED

    def output_messages(self) -> tuple[Field[tuple[Message, ...]], object | None]:
        """Return an LLM's response, and the tool calls in it as JSON data."""
        if self.role is not Role.LLM:
            return NOT_CAPTURED, None
        calls = [dict(call) for call in self.answered.calls]
        return self.answered.messages, {"tool_calls": calls} if calls else None

    # ------------------------------------------------------------------ single values

    def prompt_variables(self) -> Mapping[str, str]:
        """Return what was put into the template of a prompt, by name."""
        prefix = "gen_ai.prompt.variable."
        return {
            key[len(prefix) :]: text
            for key, value in self.attributes.items()
            if key.startswith(prefix)
            and key not in self.redacted
            and (text := as_text(value)) is not None
        }

    def model(self) -> str | None:
        """Return the model that answered, else the one that was asked."""
        for key in _MODEL_KEYS:
            text = as_text(self.attributes.get(key))
            if text and text.lower() not in NO_MODEL and key not in self.redacted:
                return text
        return None

    def finish_reason(self) -> str | None:
        """Return why an LLM stopped."""
        if self.role is not Role.LLM:
            return None
        for key in _FINISH_KEYS:
            value = self.attributes.get(key)
            data = parse_json(value) if isinstance(value, str) else as_data(value)
            reasons = data if isinstance(data, list) else [value if data is None else data]
            reason = next((r for r in reasons if isinstance(r, str) and r), None)
            if reason is not None:
                return plain_reason(reason)
        return self.answered.finish_reason

    def tokens(self) -> TokenUsage:
        """Return the tokens of a call."""
        if not any(key.startswith((_USAGE, "llm.usage.")) for key in self.attributes):
            return NO_TOKENS
        counts = [
            next((n for key in keys if (n := as_count(self.attributes.get(key))) is not None), None)
            for keys in _TOKEN_KEYS
        ]
        return TokenUsage(*counts)

    def tool_name(self) -> str | None:
        """Return the name of the tool that was called."""
        return as_text(self.attributes.get("gen_ai.tool.name"))

    def session_id(self) -> str | None:
        """Return the conversation that the span belongs to."""
        return self.identity("gen_ai.conversation.id") or super().session_id()

    def user_id(self) -> str | None:
        """Return who asked."""
        return super().user_id() or self.identity("enduser.id")


def plain_reason(reason: str) -> str:
    """Return a finish reason, from an enum's name (``FinishReason.STOP``) in small letters."""
    kind, dot, name = reason.rpartition(".")
    return name.lower() if dot and kind.endswith("FinishReason") else reason


class GenAi(BaseConvention):
    """The GenAI conventions of OpenTelemetry."""

    name = NAME
    title = "OpenTelemetry GenAI"
    marker_prefixes = (MARKER,)
    wanted = WANTED
    reader = GenAiReader
    remedy = (
        "GenAI instrumentations record no content unless told to: set "
        "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY (`true` means no content "
        "with opentelemetry-util-genai, EVENT_ONLY writes to logs, which are not read)"
    )

    def speaks(self, span: Span) -> bool:
        """Tell whether a span has a GenAI key or event."""
        return speaks(span)


class GenAiDialect(BaseConvention):
    """The vocabulary of a sender that writes the GenAI conventions, with keys of its own or without.

    Where it has no key of its own on a span, the instrumentation scope tells who sent it.
    ``sender_scopes`` are names of scopes; a name stands for the scopes below it, too.
    """

    extends = NAME
    sender_scopes: tuple[str, ...] = ()

    def speaks(self, span: Span) -> bool:
        """Tell whether a span has a marker, or is a GenAI span of this sender."""
        return super().speaks(span) or self.sent(span)

    def sent(self, span: Span) -> bool:
        """Tell whether a GenAI span is of a scope of this sender."""
        found = not set(self.sender_scopes).isdisjoint(enclosing(span.scope_name))
        return found and speaks(span)
