"""LangSmith: its runs as OpenTelemetry spans only, over our provider; its decorator and OpenAI client."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

os.environ.update(
    LANGSMITH_TRACING="true",
    LANGSMITH_OTEL_ENABLED="true",
    LANGSMITH_OTEL_ONLY="true",
    LANGSMITH_API_KEY="stub",
    LANGSMITH_ENDPOINT="http://127.0.0.1:9",
    LANGSMITH_PROJECT="ferry",
    LANGCHAIN_REVISION_ID="1.4.0",
)

from langsmith import traceable, tracing_context
from langsmith.run_trees import get_cached_client
from langsmith.wrappers import wrap_openai
from openai import OpenAI
from opentelemetry.sdk.trace import TracerProvider

TYPES = {"chain": "chain", "embedding": "embedding", "retriever": "retriever", "llm": "llm"}


def setup(provider: TracerProvider, frameworks: Sequence[str]) -> None:
    """Start the client; LangChain finds it by the environment."""
    del provider, frameworks
    atexit.register(get_cached_client().flush)


def traced(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Trace a function; there is no run type for a reranker."""
    return traceable(run_type=TYPES.get(kind, "chain"))


def client() -> OpenAI:
    """The traced OpenAI client."""
    return wrap_openai(OpenAI())


def conversation(identifier: str) -> AbstractContextManager[Any]:
    """What happens inside is of one conversation and one user."""
    return tracing_context(metadata={"session_id": identifier, "user_id": "user-7"})
