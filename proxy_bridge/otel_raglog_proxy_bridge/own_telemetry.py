"""Requests to whether they carry telemetry: what a pipeline says of itself is not captured."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

_HOSTS = (
    "api.amplitude.com",
    "api.braintrust.dev",
    "api.gradio.app",
    "api.honeycomb.io",
    "api.eu1.honeycomb.io",
    "api.mixpanel.com",
    "api.segment.io",
    "api.traceloop.com",
    "api.wandb.ai",
    "app.phoenix.arize.com",
    "applicationinsights.azure.com",
    "bam.nr-data.net",
    "cloudtrace.googleapis.com",
    "datadoghq.com",
    "datadoghq.eu",
    "ddog-gov.com",
    "dc.services.visualstudio.com",
    "ingest.sentry.io",
    "livediagnostics.monitor.azure.com",
    "logfire-api.pydantic.dev",
    "logfire-eu.pydantic.dev",
    "logfire-us.pydantic.dev",
    "logging.googleapis.com",
    "monitoring.googleapis.com",
    "nr-data.net",
    "otlp.arize.com",
    "posthog.com",
    "scarf.sh",
    "signalfx.com",
    "smith.langchain.com",
    "statsigapi.net",
    "t.explodinggradients.com",
    "telemetry.crewai.com",
    "telemetry.googleapis.com",
    "telemetry.qdrant.io",
    "telemetry.weaviate.io",
    "trace.wandb.ai",
)
"""Hosts, with their subdomains, that take nothing but telemetry."""
_AWS = re.compile(r"(?:xray|logs|monitoring)\.[a-z0-9-]+\.amazonaws\.com(?:\.cn)?")
_SENTRY = re.compile(r"(?:[a-z0-9-]+\.)*sentry\.io")

_ANYWHERE = (
    "/opentelemetry.proto.collector.",
    "/api/public/ingestion",
    "/api/public/otel",
    "/v1/traces/ingest",
    "/mlflow/traces",
    "/mlflow/runs/",
    "/mlflow/metrics/",
    "/mlflow/logged-models",
    "/api/2.0/mlflow",
    "/api/3.0/mlflow",
    "/v1/private/spans",
    "/v1/private/traces",
    "/api/telemetry",
    "/telemetry/proxy/",
    "/evp_proxy/",
    "/intake/v2/events",
    "/loki/api/v1/push",
)
_AT_END = re.compile(
    r"(?:/runs/(?:batch|multipart)/?"
    r"|/api/[^/]+/(?:envelope|store|security)/?"
    r"|/v0\.\d+/(?:traces|stats)/?"
    r"|/v[12](?:\.1)?/track/?"
    r"|/i/v0/e/?"
    r"|/api/v2/spans/?"
    r"|/v1/(?:span|trace|session|document)_annotations/?"
    r"|/v1/projects/[^/]+/spans(?:/otlpv1)?/?)\Z"
)
_SIGNAL = re.compile(r"/v1(?:development)?/(?:traces|metrics|logs|profiles)/?\Z")
_SENDS = frozenset({"POST", "PUT", "PATCH"})
_HEADERS = (
    "x-sentry-auth",
    "x-langfuse-sdk-name",
    "x-langfuse-ingestion-version",
    "dd-client-library-language",
    "datadog-meta-lang",
)
_PROTOBUF = ("application/x-protobuf", "application/protobuf")


def is_telemetry(
    method: str,
    url: str,
    request_headers: Mapping[str, str],
    own_endpoints: Iterable[str] = (),
) -> bool:
    """Return whether a request exports spans, metrics, logs, errors or usage to a backend.

    Names of ``request_headers`` are lower-case. ``own_endpoints`` are URLs to which the bridge
    itself sends: what goes there as a signal is telemetry, whatever it says it is. Other paths of the
    same host may be a gateway's. An unreadable URL is none.
    """
    try:
        parts = urlsplit(url)
        here = _address(url)
        host = (parts.hostname or "").rstrip(".")
        if _SIGNAL.search(parts.path) is not None and any(
            here == _address(endpoint) for endpoint in own_endpoints
        ):
            return True
    except ValueError:
        return False
    if any(name in request_headers for name in _HEADERS):
        return True
    if any(host == known or host.endswith(f".{known}") for known in _HOSTS):
        return True
    if _AWS.fullmatch(host) or _SENTRY.fullmatch(host):
        return True
    return method.upper() in _SENDS and _is_export(parts.path, request_headers)


def _is_export(path: str, headers: Mapping[str, str]) -> bool:
    if any(part in path for part in _ANYWHERE):
        return True
    if _AT_END.search(path) is not None:
        return True
    if _SIGNAL.search(path) is None:
        return False
    content_type = headers.get("content-type", "").lower()
    return content_type.startswith((*_PROTOBUF, "application/json", "application/grpc"))


def _address(url: str) -> tuple[str, int | None]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return ("127.0.0.1" if host == "localhost" else host), port
