"""Requests that carry telemetry."""

import pytest

from otel_raglog_proxy_bridge.own_telemetry import is_telemetry

JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("http://127.0.0.1:4318/v1/traces", {"content-type": "application/x-protobuf"}),
        ("http://collector/v1/metrics", JSON),
        ("http://collector/otel/v1/logs", JSON),
        ("http://c:4317/opentelemetry.proto.collector.trace.v1.TraceService/Export", {}),
        ("https://cloud.langfuse.com/api/public/ingestion", JSON),
        ("http://lf:3000/api/public/otel/v1/traces", JSON),
        ("https://api.smith.langchain.com/runs/batch", JSON),
        ("http://self.hosted/api/v1/runs/multipart", {}),
        ("https://app.phoenix.arize.com/v1/traces", {}),
        ("https://o1.ingest.sentry.io/api/5/envelope/", {}),
        ("http://sentry.local/api/5/envelope/", {}),
        ("https://h/anything", {"x-sentry-auth": "x"}),
        ("https://us.i.posthog.com/batch/", JSON),
        ("https://api.segment.io/v1/batch", JSON),
        ("https://http-intake.logs.datadoghq.com/api/v2/logs", JSON),
        ("http://agent:8126/v0.4/traces", {}),
        ("https://api.honeycomb.io/1/batch/x", JSON),
        ("https://api.openai.com/v1/traces/ingest", JSON),
        ("http://mlflow:5000/api/2.0/mlflow/runs/log-batch", JSON),
        ("http://mlflow:5000/api/3.0/mlflow/traces", JSON),
        ("https://xray.us-east-1.amazonaws.com/TraceSegments", JSON),
    ],
)
def test_telemetry(url, headers):
    """Exports to collectors and to the ingest of known backends."""
    assert is_telemetry("POST", url, headers)


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("POST", "https://api.openai.com/v1/chat/completions"),
        ("POST", "https://api.openai.com/v1/threads/t/runs"),
        ("POST", "https://api.cohere.com/v2/rerank"),
        ("POST", "http://chroma:8000/api/v2/tenants/t/databases/d/collections/c/query"),
        ("POST", "http://es:9200/logs/_search"),
        ("POST", "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/invoke"),
        ("GET", "http://collector/v1/traces"),
        ("POST", "http://h/traces"),
        ("POST", "https://notdatadoghq.com/v1/embeddings"),
        ("POST", "http://[half/v1/traces"),
    ],
)
def test_no_telemetry(method, url):
    """Calls of a pipeline, whatever their paths look like."""
    assert not is_telemetry(method, url, JSON)


def test_the_bridges_own_endpoint():
    """Its signals are telemetry whatever they say they are; a gateway may have calls beside them."""
    own = ("http://127.0.0.1:4318",)
    assert is_telemetry("POST", "http://localhost:4318/v1/logs", {}, own)
    assert not is_telemetry("POST", "http://localhost:4319/v1/logs", {}, own)
    assert not is_telemetry("POST", "http://localhost:4318/v1/chat/completions", {}, own)
    assert is_telemetry("GET", "https://raglog:443/otlp/v1/traces", {}, ("https://raglog/otlp",))
