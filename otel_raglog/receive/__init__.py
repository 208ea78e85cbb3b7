"""OTLP requests in: bytes to wire spans."""
