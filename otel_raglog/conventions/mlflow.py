"""Spans of MLflow tracing to facts.

Keys are those of ``mlflow-tracing`` 3.17. Every value that MLflow writes is JSON, also a single
text, which therefore stands in quotes. A trace's session and user are not on its spans unless
someone put them there.
"""

from __future__ import annotations

from collections.abc import Mapping

from otel_raglog.conventions.convention import Wanted
from otel_raglog.conventions.genai import GenAiDialect
from otel_raglog.conventions.json_text import as_count, as_text
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.conventions.quoted import beginning_of_text, unquoted
from otel_raglog.conventions.values import text_within
from otel_raglog.conventions.work import NO_MODEL, NO_TOKENS, WorkReader
from otel_raglog.model import Field, FieldStatus, Role, Span, TokenUsage, missing

NAME = "mlflow"
MARKERS = ("mlflow.span", "mlflow.trace", "mlflow.chat", "mlflow.llm")
TYPE = "mlflow.spanType"
GIVEN = "mlflow.spanInputs"
RETURNED = "mlflow.spanOutputs"
USAGE = "mlflow.chat.tokenUsage"
MODEL = "mlflow.llm.model"

_OF_TRACE = {GIVEN: "mlflow.traceInputs", RETURNED: "mlflow.traceOutputs"}
_ROLES = {
    "LLM": Role.LLM,
    "CHAT_MODEL": Role.LLM,
    "EMBEDDING": Role.EMBEDDER,
    "RETRIEVER": Role.RETRIEVER,
    "RERANKER": Role.RERANKER,
    "TOOL": Role.TOOL,
    "AGENT": Role.AGENT,
    "CHAIN": Role.CHAIN,
    "WORKFLOW": Role.CHAIN,
    "TASK": Role.CHAIN,
    "PARSER": Role.CHAIN,
    "MEMORY": Role.CHAIN,
    "GUARDRAIL": Role.GUARDRAIL,
    "EVALUATOR": Role.EVALUATOR,
}
_TOKEN_NAMES = ("input_tokens", "output_tokens", "total_tokens")
_NAMES_OF_MODELS = ("model", "model_name")

_WANTED: Mapping[Role, tuple[Wanted, ...]] = {
    Role.LLM: (
        Wanted("messages", (GIVEN,)),
        Wanted("output_messages", (RETURNED,)),
        Wanted("model", (MODEL, GIVEN)),
        Wanted("tokens", (USAGE,)),
        Wanted("finish_reason", (RETURNED,)),
    ),
    Role.EMBEDDER: (Wanted("embedding_texts", (GIVEN,)), Wanted("model", (MODEL, GIVEN))),
    Role.RETRIEVER: (Wanted("query", (GIVEN,)), Wanted("documents", (RETURNED,))),
    Role.RERANKER: (
        Wanted("query", (GIVEN,)),
        Wanted("input_documents", (GIVEN,)),
        Wanted("documents", (RETURNED,)),
    ),
    Role.TOOL: (
        Wanted("query", (GIVEN,)),
        Wanted("documents", (RETURNED,)),
        Wanted("tool_name", ("mlflow.spanFunctionName",)),
    ),
    Role.CHAIN: (
        Wanted("input", (GIVEN, "mlflow.traceInputs")),
        Wanted("output", (RETURNED, "mlflow.traceOutputs")),
        Wanted(
            "session_id",
            ("session.id", "mlflow.trace.session"),
            note="MLflow's own OTLP export leaves the session with the trace",
        ),
    ),
    Role.AGENT: (Wanted("input", (GIVEN,)), Wanted("output", (RETURNED,))),
}


class _Reader(WorkReader):
    """Reads one span; every method returns one fact."""

    def __init__(self, span: Span, convention: str) -> None:
        super().__init__(span, convention)
        kind = self._plain(TYPE)
        self.role = _ROLES.get(kind.strip().upper(), Role.UNKNOWN) if kind else Role.UNKNOWN
        self.input, self.input_data = self._content(GIVEN)
        self.output, self.output_data = self._content(RETURNED)

    def _plain(self, key: str) -> str | None:
        """Return a short text without its quotes, ``None`` when it is empty or hidden."""
        text = as_text(self.attributes.get(key))
        if text is None or key in self.redacted:
            return None
        inner = unquoted(text)
        text = text if inner is None else inner
        return text if text and not is_redacted(text) else None

    def _content(self, key: str) -> tuple[Field[str], object | None]:
        """Return what a span was given or gave back; a root's may be its trace's."""
        if key not in self.attributes and not self.span.parent_id:
            key = _OF_TRACE[key]
        read, data = self.value(key)
        if read.value is None or data is not None:
            return read, data
        text = read.value.strip()
        if text == "null":
            return missing(FieldStatus.NOT_CAPTURED, read.source), None
        inner = unquoted(text)
        if inner is not None:
            return text_within(read, inner), None
        if text.startswith('"'):
            beginning, _ = beginning_of_text(text)
            return Field(beginning or None, FieldStatus.TRUNCATED, read.source), None
        return read, None

    # ------------------------------------------------------------------ single values

    def model(self) -> str | None:
        named = self._plain(MODEL)
        if named is None and isinstance(self.input_data, dict):
            found = (self.input_data.get(name) for name in _NAMES_OF_MODELS)
            named = next((text for text in found if isinstance(text, str)), None)
        return named if named is not None and named.lower() not in NO_MODEL else None

    def tokens(self) -> TokenUsage:
        _, usage = self.value(USAGE)
        if not isinstance(usage, dict):
            return NO_TOKENS
        return TokenUsage(*(as_count(usage.get(name)) for name in _TOKEN_NAMES))

    def tool_name(self) -> str | None:
        if self.role is not Role.TOOL:
            return None
        return self._plain("mlflow.spanFunctionName") or self.span.name

    def session_id(self) -> str | None:
        return super().session_id() or self._plain("mlflow.trace.session")

    def user_id(self) -> str | None:
        return super().user_id() or self._plain("mlflow.trace.user")


class MlFlow(GenAiDialect):
    """What MLflow tracing writes when it exports over OpenTelemetry."""

    name = NAME
    title = "MLflow"
    marker_prefixes = MARKERS
    wanted = _WANTED
    reader = _Reader
    remedy = (
        "MLflow records content unless span processors set with mlflow.tracing.configure take it "
        "out; leave MLFLOW_ENABLE_OTEL_GENAI_SEMCONV off, which drops all but the models' messages"
    )
    sender_scopes = ("mlflow",)
