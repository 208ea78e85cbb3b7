"""One tracer provider and one instrumentation by its name, for the applications of every environment.

An environment has the packages of one instrumentation only, so everything is imported where it is
asked for.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from typing import Any

from opentelemetry import context, trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

SERVICE = "ferry-answers"
RESOURCE = Resource(
    {
        "service.name": SERVICE,
        "service.version": "1.4.0",
        "telemetry.sdk.language": "python",
        "telemetry.sdk.name": "opentelemetry",
    }
)
_PACKAGES = {
    "openinference": "openinference.instrumentation",
    "openllmetry": "opentelemetry.instrumentation",
    "otel-genai": "opentelemetry.instrumentation.genai",
}
_INSTRUMENTORS = {
    "openinference": {
        "llamaindex": "llama_index:LlamaIndexInstrumentor",
        "langchain": "langchain:LangChainInstrumentor",
        "openai": "openai:OpenAIInstrumentor",
        "haystack": "haystack:HaystackInstrumentor",
        "dspy": "dspy:DSPyInstrumentor",
    },
    "openllmetry": {
        "llamaindex": "llamaindex:LlamaIndexInstrumentor",
        "langchain": "langchain:LangchainInstrumentor",
        "openai": "openai:OpenAIInstrumentor",
        "haystack": "haystack:HaystackInstrumentor",
        "cohere": "cohere:CohereInstrumentor",
        "chroma": "chromadb:ChromaInstrumentor",
        "qdrant": "qdrant:QdrantInstrumentor",
    },
    "otel-genai": {
        "langchain": "langchain:LangChainInstrumentor",
        "llamaindex": "llama_index:LlamaIndexInstrumentor",
        "openai": "openai:OpenAIInstrumentor",
    },
}

_SDKS = {"langfuse", "langsmith", "mlflow"}
"""Tracing SDKs that are set up by the `sdk_setup.py` of their environment."""


def setup(instrumentation: str, frameworks: Sequence[str]) -> TracerProvider:
    """Return the provider, set as the global one, with the frameworks instrumented; spans are sent at exit."""
    provider = TracerProvider(resource=RESOURCE)
    provider.add_span_processor(BatchSpanProcessor(exporter()))
    trace.set_tracer_provider(provider)
    atexit.register(provider.shutdown)
    if instrumentation == "native":
        for framework in frameworks:
            _NATIVE[framework]()
    elif instrumentation in _SDKS:
        import_module("sdk_setup").setup(provider, frameworks)
    elif instrumentation != "none":
        for framework in frameworks:
            module, _, name = _INSTRUMENTORS[instrumentation][framework].partition(":")
            package = import_module(f"{_PACKAGES[instrumentation]}.{module}")
            getattr(package, name)().instrument(tracer_provider=provider)
    return provider


def exporter() -> SpanExporter:
    """Return the exporter to the sink."""
    return OTLPSpanExporter(endpoint=os.environ["TRACES_ENDPOINT"])


@contextmanager
def conversation(instrumentation: str, identifier: str) -> Iterator[None]:
    """Mark what happens inside as of one conversation, in the way of the instrumentation."""
    if instrumentation == "openinference":
        with import_module("openinference.instrumentation").using_session(identifier):
            yield
    elif instrumentation == "openllmetry":
        values = context.set_value("association_properties", {"session_id": identifier})
        token = context.attach(values)
        try:
            yield
        finally:
            context.detach(token)
    elif instrumentation in _SDKS:
        with import_module("sdk_setup").conversation(identifier):
            yield
    elif instrumentation == "native":
        dispatching = import_module("llama_index.core.instrumentation.dispatcher")
        with dispatching.instrument_tags({"session_id": identifier}):
            yield
    else:
        with nullcontext():
            yield


def _llamaindex() -> None:
    observability = import_module("llama_index.observability.otel")
    observability.LlamaIndexOpenTelemetry(
        service_name_or_resource=RESOURCE, span_exporter=exporter()
    ).start_registering()


def _haystack() -> None:
    import_module("haystack_bridge").connect()


_NATIVE: dict[str, Callable[[], Any]] = {"llamaindex": _llamaindex, "haystack": _haystack}
