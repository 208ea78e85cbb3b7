"""The attribute vocabularies that are read, in order of precedence."""

from __future__ import annotations

from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.convention import Convention
from otel_raglog.conventions.database import Database
from otel_raglog.conventions.genai import GenAi
from otel_raglog.conventions.haystack import Haystack
from otel_raglog.conventions.langfuse import Langfuse
from otel_raglog.conventions.langsmith import LangSmith
from otel_raglog.conventions.litellm import LiteLlm
from otel_raglog.conventions.llamaindex import LlamaIndex
from otel_raglog.conventions.mlflow import MlFlow
from otel_raglog.conventions.openinference import OpenInference
from otel_raglog.conventions.openlit import OpenLit
from otel_raglog.conventions.pydantic_ai import PydanticAi
from otel_raglog.conventions.semantic_kernel import SemanticKernel
from otel_raglog.conventions.spring_ai import SpringAi
from otel_raglog.conventions.traceloop import Traceloop
from otel_raglog.conventions.vector_database import VectorDatabase
from otel_raglog.conventions.vercel_ai import VercelAi
from otel_raglog.conventions.vocabularies import UNREAD
from otel_raglog.model import Span, SpanFacts

CONVENTIONS: tuple[Convention, ...] = (
    OpenInference(),
    LangSmith(),
    Langfuse(),
    MlFlow(),
    Traceloop(),
    VercelAi(),
    Haystack(),
    LlamaIndex(),
    PydanticAi(),
    SpringAi(),
    SemanticKernel(),
    LiteLlm(),
    OpenLit(),
    GenAi(),
    VectorDatabase(),
    Database(),
)
"""In precedence order: the first convention that reads a span wins, the others fill its gaps."""

BUILT_IN = ConventionSet(CONVENTIONS)
"""What is read when nothing is configured."""


def read_span(span: Span) -> SpanFacts | None:
    """Return the facts that the built-in conventions read from ``span``."""
    return BUILT_IN.read(span)


def recognise(span: Span) -> str | None:
    """Return the name of a vocabulary that we know of but do not read yet, else ``None``."""
    return next((vocabulary.name for vocabulary in UNREAD if vocabulary.keys(span)), None)


def unread_keys(span: Span) -> tuple[str, ...]:
    """Return the keys of unread vocabularies on ``span``, sorted."""
    return tuple(sorted({key for vocabulary in UNREAD for key in vocabulary.keys(span)}))


def marker_prefixes(conventions: ConventionSet = BUILT_IN) -> tuple[str, ...]:
    """Return all beginnings of keys that make a span worth holding, sorted."""
    unread = {prefix for vocabulary in UNREAD for prefix in vocabulary.prefixes}
    return tuple(sorted({*conventions.marker_prefixes(), *unread}))
