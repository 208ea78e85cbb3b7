"""``otel-raglog replay``: the spans and dead letters of files to an OTLP endpoint."""

from __future__ import annotations

import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

import stamina
import typer
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from rich.progress import Progress
from stamina.instrumentation import set_on_retry_hooks

from otel_raglog.commands.analyze import Files, report_problems
from otel_raglog.commands.captures import MappingsFolder, Pipeline, StoredMappings
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.reading import Reading, read_files, spans_of
from otel_raglog.commands.tables import plain_console
from otel_raglog.errors import BadInput, Rejected, Unavailable
from otel_raglog.model import Payload, RawSpan, Signal, WireSpan
from otel_raglog.options import otlp_kind
from otel_raglog_exporters.batches import CONTENT_REASONS
from otel_raglog_exporters.console import ITEM_NAMES
from otel_raglog_exporters.grouping import encode_payload, split_spans
from otel_raglog_exporters.registry import build_exporter
from otel_raglog_exporters.sending import Exporter, ExportOutcome

_OTHER_PROTOCOL = frozenset(
    {"http_400", "http_404", "http_405", "http_415", "http_426", "http_505"}
    | {"unimplemented", "unknown", "internal"}
)
"""Why a receiver refuses what it does not speak."""


def replay(
    files: Files,
    endpoint: Annotated[
        str,
        typer.Option(
            help="http://host:4317 (gRPC), or HTTP: port 4318, or any path; /v1/traces is added."
        ),
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
    mappings: MappingsFolder = None,
    pipeline: Pipeline = None,
) -> None:
    """Send the spans of FILES to an OTLP endpoint, in the requests in which they were recorded.

    A request of more than 3.5 MiB is cut: many receivers take no larger ones. Logs and metrics
    that our file exporter wrote are sent as well, and dead letters of any signal byte for byte,
    with their headers; with --new-ids, those of traces are changed.

    Exit code 2: something could not be read, or was refused.
    """
    reading = read_files(files, to_send=True, stored=StoredMappings(mappings, pipeline))
    if not reading.requests:
        raise BadInput("these files hold run records, which cannot be replayed; spans can")
    kind = otlp_kind(endpoint)
    set_on_retry_hooks(())  # what went wrong at last is said once, in words
    exporter = build_exporter(kind, {"endpoint": endpoint})
    sent: Counter[Signal] = Counter()
    refused: Counter[str] = Counter()
    try:
        for payload in _payloads(reading, new_ids=new_ids):
            outcome = _send(exporter, payload, attempts)
            sent[payload.signal] += outcome.accepted
            refused[outcome.message] += outcome.rejected
            if spans_per_second:
                time.sleep(payload.items / spans_per_second)
    except (Unavailable, Rejected) as error:
        hint = _hint(kind, endpoint, error)
        sent_so_far = f"({_amounts(sent)} were sent){hint}"
        raise BadInput(f"--endpoint {endpoint}: {error} {sent_so_far}") from None
    finally:
        exporter.close()
    sys.stdout.write(f"sent {_amounts(sent)} to {endpoint}\n")
    refusals = [f"the endpoint refused {count} ({why})" for why, count in (+refused).items()]
    report_problems([*reading.notes, *refusals, *reading.problems])
    if refusals or reading.problems:
        raise typer.Exit(BAD_INPUT)


def _hint(kind: str, endpoint: str, error: Unavailable | Rejected) -> str:
    """Return how a receiver of the other protocol is named, where this may be one."""
    if isinstance(error, Rejected) and error.reason not in _OTHER_PROTOCOL:
        return ""
    if kind == "otlp_http":
        return (
            "; it was sent over HTTP, with /v1/traces as the path: a gRPC receiver (mostly at "
            "port 4317) is named host:port, without a path"
        )
    base = endpoint if "://" in endpoint else f"http://{endpoint}"
    return f"; it was sent over gRPC: for an HTTP receiver give {base.rstrip('/')}/v1/traces"


def _amounts(sent: Mapping[Signal, int]) -> str:
    shown = [f"{sent[signal]} {ITEM_NAMES[signal]}" for signal in Signal if sent[signal]]
    return ", ".join(shown) or "0 spans"


def _send(exporter: Exporter, payload: Payload, attempts: int) -> ExportOutcome:
    """Send one request; one that is refused for what is in it does not cost the others."""
    try:
        for attempt in stamina.retry_context(on=Unavailable, attempts=attempts, wait_initial=0.2):
            with attempt:
                return exporter.export(payload)
    except Rejected as refusal:
        if refusal.reason in CONTENT_REASONS:
            return ExportOutcome(0, payload.items, str(refusal))
        raise
    raise AssertionError  # pragma: no cover  retry_context re-raises


def _payloads(reading: Reading, *, new_ids: bool) -> Iterator[Payload]:
    fresh: dict[bytes, bytes] = {}
    console = plain_console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Replaying", total=len(reading.requests))
        for request in reading.requests:
            progress.advance(task)
            if isinstance(request, Payload) and not (new_ids and request.signal is Signal.TRACES):
                yield request
                continue
            spans = (spans_of(request) if isinstance(request, Payload) else request).spans
            headers = request.headers if isinstance(request, Payload) else ()
            for part in split_spans(_renamed(spans, fresh) if new_ids else spans):
                yield encode_payload(part, headers)


def _renamed(spans: Iterable[WireSpan], fresh: dict[bytes, bytes]) -> Iterator[RawSpan]:
    """Give ``spans`` the new ids in ``fresh``, which holds those of their traces afterwards."""
    for span in spans:
        trace_id = fresh.setdefault(span.trace_id, secrets.token_bytes(16))
        # Of a repeated singular field the last one counts: the new id is put behind the rest.
        rename = SpanMessage(trace_id=trace_id).SerializeToString()
        yield RawSpan(span.origin, span.raw + rename)
