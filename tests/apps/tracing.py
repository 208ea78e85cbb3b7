"""Jobs on standard input to runs of an application, traced by an OpenTelemetry SDK with its batch processor."""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

from faults import Faults
from openinference.instrumentation import using_session
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

RESULT = "RESULT "
FLUSH_MILLIS = 700


class RootTraces(SpanProcessor):
    """Remembers the traces that were started, so that the driver can tell which run is which."""

    def __init__(self) -> None:
        self.trace_ids: list[str] = []

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        del parent_context
        if span.parent is None:
            self.trace_ids.append(f"{span.context.trace_id:032x}")

    def on_end(self, span: ReadableSpan) -> None:
        """Nothing: only starts count."""


def run_jobs(
    service: str,
    instrument: Callable[[TracerProvider], None],
    answer: Callable[[dict[str, Any]], None],
    faults: Faults,
) -> None:
    """Trace the application, which is built and has filled its index; answer one job a line until end of input."""
    # The instrumentation calls what LangChain has deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    provider = TracerProvider(
        resource=Resource.create(
            {
                "service.name": service,
                "service.version": "1.4.0",
                "openinference.project.name": service,
            }
        )
    )
    roots = RootTraces()
    provider.add_span_processor(roots)
    exporter = OTLPSpanExporter(endpoint=os.environ["TRACES_ENDPOINT"])
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=FLUSH_MILLIS))
    instrument(provider)
    for line in sys.stdin:
        job = json.loads(line)
        roots.trace_ids.clear()
        faults.use(job["plans"][0])
        if job.get("session"):
            with using_session(job["session"]):
                answer(job)
        else:
            answer(job)
        print(RESULT + json.dumps(roots.trace_ids), flush=True)
    provider.shutdown()
