"""Reference-free fault localisation for RAG pipelines, as an OpenTelemetry sidecar."""

__version__ = "0.1.0"
