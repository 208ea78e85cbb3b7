"""OTLP over HTTP to OTLP/JSON lines, one request a line, in the order of arrival."""

from __future__ import annotations

import base64
import gzip
import json
from http.server import BaseHTTPRequestHandler
from threading import Lock
from typing import Any

from google.protobuf.json_format import MessageToDict
from loopback import Loopback, Quiet
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

ID_KEYS = frozenset({"traceId", "spanId", "parentSpanId"})


class Handler(Quiet, BaseHTTPRequestHandler):
    """Takes the requests of one sink."""

    owner: Sink

    def do_POST(self) -> None:
        body = self._body()
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.owner.add(ExportTraceServiceRequest.FromString(body))
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _body(self) -> bytes:
        """Return the body; exporters for JavaScript send it in chunks."""
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers["Content-Length"]))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body


class Sink(Loopback):
    """Collects requests while it is open; `lines` are the requests as OTLP/JSON."""

    def __init__(self) -> None:
        super().__init__(Handler)
        self.lines: list[str] = []
        self._lock = Lock()

    @property
    def endpoint(self) -> str:
        return f"{self.url}/v1/traces"

    def add(self, request: ExportTraceServiceRequest) -> None:
        """Append one request."""
        value = hex_ids(MessageToDict(request, use_integers_for_enums=True))
        with self._lock:
            self.lines.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def hex_ids(value: Any) -> Any:
    """OTLP/JSON writes ids in hex where protobuf's JSON writes base64."""
    if isinstance(value, dict):
        return {
            key: base64.b64decode(entry).hex() if key in ID_KEYS else hex_ids(entry)
            for key, entry in value.items()
        }
    if isinstance(value, list):
        return [hex_ids(entry) for entry in value]
    return value
