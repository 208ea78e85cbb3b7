"""``otel-raglog replay``: the spans of files to an OTLP endpoint."""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated

import stamina
import typer
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from rich.console import Console
from rich.progress import Progress

from otel_raglog.commands.analyze import Files, report_problems
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.reading import Reading, read_files
from otel_raglog.config import otlp_kind
from otel_raglog.errors import BadInput, Rejected, Unavailable
from otel_raglog.model import WireSpan
from otel_raglog_exporters.grouping import split_spans
from otel_raglog_exporters.registry import build_exporter
from otel_raglog_exporters.sending import Exporter


def replay(
    files: Files,
    endpoint: Annotated[
        str, typer.Option(help="http://host:4317 (gRPC), or with /v1/traces (HTTP).")
    ],
    new_ids: Annotated[
        bool,
        typer.Option(
            "--new-ids", help="Give traces fresh ids: a backend ignores spans that it has already."
        ),
    ] = False,
    spans_per_second: Annotated[
        float, typer.Option(min=0, help="Slow down to this rate; 0: as fast as taken.")
    ] = 0,
    attempts: Annotated[int, typer.Option(min=1, help="Tries per request.")] = 5,
) -> None:
    """Send the spans of FILES to an OTLP endpoint, in the requests in which they were recorded.

    A request of more than 3.5 MiB is cut: many receivers take no larger ones.

    Exit code 2: something could not be read, or was refused.
    """
    reading = read_files(files)
    if not reading.batches:
        raise BadInput("these files hold run records, which cannot be replayed; spans can")
    exporter = build_exporter(otlp_kind(endpoint), {"endpoint": endpoint})
    sent, refused = 0, 0
    try:
        for spans in _requests(reading, new_ids=new_ids):
            accepted, rejected = _send(exporter, spans, attempts)
            sent += accepted
            refused += rejected
            if spans_per_second:
                time.sleep(len(spans) / spans_per_second)
    except (Unavailable, Rejected) as error:
        raise BadInput(f"--endpoint {endpoint}: {error} ({sent} spans were sent)") from None
    finally:
        exporter.close()
    sys.stdout.write(f"sent {sent} spans to {endpoint}\n")
    if refused:
        sys.stderr.write(f"otel-raglog: the endpoint refused {refused} spans\n")
    report_problems(reading.problems)
    if refused or reading.problems:
        raise typer.Exit(BAD_INPUT)


def _send(exporter: Exporter, spans: Sequence[WireSpan], attempts: int) -> tuple[int, int]:
    for attempt in stamina.retry_context(on=Unavailable, attempts=attempts, wait_initial=0.2):
        with attempt:
            outcome = exporter.export(spans)
            return outcome.accepted, outcome.rejected
    raise AssertionError  # pragma: no cover  retry_context re-raises


def _requests(reading: Reading, *, new_ids: bool) -> Iterator[Sequence[WireSpan]]:
    fresh: dict[bytes, bytes] = {}
    console = Console(stderr=True)
    batches = [batch.spans for batch in reading.batches if batch.spans]
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Replaying", total=len(batches))
        for spans in batches:
            sent = [_renamed(span, fresh) for span in spans] if new_ids else spans
            yield from split_spans(sent)
            progress.advance(task)


def _renamed(span: WireSpan, fresh: dict[bytes, bytes]) -> WireSpan:
    trace_id = fresh.setdefault(span.trace_id, secrets.token_bytes(16))
    # Of a repeated singular field the last one counts, so the new id is put behind the rest.
    rename = SpanMessage(trace_id=trace_id).SerializeToString()
    return replace(span, trace_id=trace_id, raw=span.raw + rename)
