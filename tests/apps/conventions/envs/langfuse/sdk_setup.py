"""Langfuse: its SDK over our provider and exporter, its LangChain handler, decorator and OpenAI client."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook
from langfuse import Langfuse, observe, propagate_attributes
from langfuse.langchain import CallbackHandler
from openai import OpenAI
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

HANDLER: ContextVar[BaseCallbackHandler | None] = ContextVar("langfuse_handler", default=None)
TYPES = {"chain": "chain", "embedding": "embedding", "retriever": "retriever", "llm": "generation"}


class NoExporter(SpanExporter):
    """The provider has an exporter already."""

    def export(self, spans: Sequence[Any]) -> SpanExportResult:
        """Send nothing."""
        del spans
        return SpanExportResult.SUCCESS


def setup(provider: TracerProvider, frameworks: Sequence[str]) -> None:
    """Start the SDK; its LangChain handler listens to all chains."""
    Langfuse(
        public_key="pk-stub",
        secret_key="sk-stub",
        base_url="http://127.0.0.1:9",
        tracer_provider=provider,
        span_exporter=NoExporter(),
    )
    if "langchain" in frameworks:
        register_configure_hook(HANDLER, inheritable=True)
        HANDLER.set(CallbackHandler())
    if "openai" in frameworks:
        import_module("langfuse.openai")  # replaces the methods of the OpenAI client


def traced(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Trace a function; there is no type for a reranker."""
    return observe(as_type=TYPES.get(kind, "span"))


def client() -> OpenAI:
    """The OpenAI client, which is traced already."""
    return OpenAI()


def conversation(identifier: str) -> AbstractContextManager[Any]:
    """What happens inside is of one conversation and one user."""
    return propagate_attributes(session_id=identifier, user_id="user-7")
