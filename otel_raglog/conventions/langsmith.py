"""Spans that LangSmith's SDK exports over OpenTelemetry to facts.

Keys are those of ``langsmith`` 0.15: the kind of a span is the run type, since the operation is
wrong for retrievers (``embeddings``) and prompts (``chat``); what a run was given and gave back is
JSON under the GenAI keys of old. ``langsmith.trace.session_id`` is the project, not a talk.
"""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.conventions.base import BaseConvention
from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.genai import NAME as GENAI
from otel_raglog.conventions.json_text import as_count, as_text
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.conventions.values import text_within
from otel_raglog.conventions.work import NO_MODEL, WorkReader
from otel_raglog.model import Field, FieldStatus, Role, Span, TokenUsage, missing

NAME = "langsmith"
MARKERS = ("langsmith.",)
KIND = "langsmith.span.kind"
GIVEN = "gen_ai.prompt"
RETURNED = "gen_ai.completion"
METADATA = "langsmith.metadata."

_ROLES = {
    "llm": Role.LLM,
    "embedding": Role.EMBEDDER,
    "retriever": Role.RETRIEVER,
    "tool": Role.TOOL,
    "prompt": Role.PROMPT,
    "chain": Role.CHAIN,
    "parser": Role.CHAIN,
}
_WRAPPERS = frozenset({"input", "output"})
"""Under these LangChain and the decorator put what is no JSON object, alone."""

_MODEL_KEYS = (
    "gen_ai.response.model",
    "gen_ai.request.model",
    METADATA + "ls_model_name",
)
_TOKEN_KEYS = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.total_tokens",
)
_REASONS = "gen_ai.response.finish_reasons"
_SESSIONS = ("session_id", "thread_id", "conversation_id")
_IDENTITIES = (*_SESSIONS, "user_id")

_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.LLM: (
        Wanted("messages", (GIVEN,)),
        Wanted("output_messages", (RETURNED,)),
        Wanted("model", _MODEL_KEYS),
        Wanted("tokens", _TOKEN_KEYS),
        Wanted("finish_reason", (_REASONS, RETURNED)),
    ),
    Role.EMBEDDER: (Wanted("embedding_texts", (GIVEN,)), Wanted("model", _MODEL_KEYS)),
    Role.RETRIEVER: (Wanted("query", (GIVEN,)), Wanted("documents", (RETURNED,))),
    Role.TOOL: (
        Wanted("query", (GIVEN,)),
        Wanted("documents", (RETURNED,)),
        Wanted("tool_name", ("gen_ai.tool.name",)),
    ),
    Role.PROMPT: (Wanted("prompt_variables", (GIVEN,)), Wanted("output", (RETURNED,))),
    Role.CHAIN: (Wanted("input", (GIVEN,)), Wanted("output", (RETURNED,))),
}


class _Reader(WorkReader):
    """Reads one span; every method returns one fact."""

    def __init__(self, span: Span, convention: str) -> None:
        super().__init__(span, convention)
        kind = self.attributes.get(KIND)
        if isinstance(kind, str):
            self.role = _ROLES.get(kind.strip().lower(), Role.UNKNOWN)
        self.input, self.input_data = self._content(GIVEN)
        self.output, self.output_data = self._content(RETURNED)

    def _content(self, key: str) -> tuple[Field[str], object | None]:
        """Return what a run was given or gave back, without the name it was put under."""
        read, data = self.value(key)
        if read.value is None or not isinstance(data, dict):
            return read, data
        inner: object = data
        if len(data) == 1 and data.keys() <= _WRAPPERS:
            (inner,) = data.values()
        if isinstance(inner, str):
            return text_within(read, inner), None
        if inner is None or not data:  # nothing, or hidden
            return missing(FieldStatus.NOT_CAPTURED, read.source), None
        return read, inner if isinstance(inner, list | dict) else data

    def prompt_variables(self) -> Mapping[str, str]:
        if self.role is not Role.PROMPT or not isinstance(self.input_data, dict):
            return {}
        return {
            name: text
            for name, text in self.input_data.items()
            if isinstance(text, str) and not is_redacted(text)
        }

    # ------------------------------------------------------------------ single values

    def model(self) -> str | None:
        for key in _MODEL_KEYS:
            text = as_text(self.attributes.get(key))
            if text is not None and text.lower() not in NO_MODEL and key not in self.redacted:
                return text
        return None

    def tokens(self) -> TokenUsage:
        return TokenUsage(*(as_count(self.attributes.get(key)) for key in _TOKEN_KEYS))

    def finish_reason(self) -> str | None:
        reasons = self.attributes.get(_REASONS)
        if isinstance(reasons, str) and reasons:
            return reasons
        if isinstance(reasons, tuple) and reasons and isinstance(reasons[0], str):
            return reasons[0]
        return super().finish_reason()

    def tool_name(self) -> str | None:
        if self.role is not Role.TOOL:
            return None
        return as_text(self.attributes.get("gen_ai.tool.name")) or self.span.name

    def session_id(self) -> str | None:
        found = (self.identity(METADATA + name) for name in _SESSIONS)
        return next((text for text in found if text), None) or super().session_id()

    def user_id(self) -> str | None:
        return self.identity(METADATA + "user_id") or super().user_id()


class LangSmith(BaseConvention):
    """What LangSmith's SDK writes when it exports over OpenTelemetry."""

    name = NAME
    title = "LangSmith"
    marker_prefixes = MARKERS
    wanted = _WANTED
    reader = _Reader
    extends = GENAI
    remedy = (
        "LangSmith records content unless LANGSMITH_HIDE_INPUTS or LANGSMITH_HIDE_OUTPUTS is set, "
        "or its client was made with an anonymizer or with hide_inputs or hide_outputs"
    )

    def speaks(self, span: Span) -> bool:
        """Tell whether LangSmith says what a span is, or whose."""
        keys = span.attributes.keys()
        return KIND in keys or any(METADATA + name in keys for name in _IDENTITIES)
