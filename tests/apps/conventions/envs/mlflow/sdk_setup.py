"""MLflow tracing without a server: its spans go to the OTLP endpoint alone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

os.environ.update(
    MLFLOW_DISABLE_TELEMETRY="true",
    DO_NOT_TRACK="true",
    MLFLOW_TRACKING_URI="http://127.0.0.1:9",
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=os.environ["TRACES_ENDPOINT"],
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL="http/protobuf",
    OTEL_SERVICE_NAME="ferry-answers",
)

import mlflow
from mlflow.entities import SpanType
from openai import OpenAI
from opentelemetry.sdk.trace import TracerProvider

TYPES = {
    "chain": SpanType.CHAIN,
    "embedding": SpanType.EMBEDDING,
    "retriever": SpanType.RETRIEVER,
    "reranker": SpanType.RERANKER,
    "llm": SpanType.CHAT_MODEL,
}


def setup(provider: TracerProvider, frameworks: Sequence[str]) -> None:
    """Trace the frameworks."""
    del provider
    if "langchain" in frameworks:
        mlflow.langchain.autolog()
    if "openai" in frameworks:
        mlflow.openai.autolog()


def traced(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Trace a function."""
    return mlflow.trace(span_type=TYPES[kind])


def client() -> OpenAI:
    """The OpenAI client, which is traced already."""
    return OpenAI()


@contextmanager
def conversation(identifier: str) -> Iterator[None]:
    """What happens inside is of one conversation and one user."""
    with mlflow.tracing.context(session_id=identifier, user="user-7"):
        yield
