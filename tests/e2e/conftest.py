"""The bundled traces sent through a real service to a real backend, and what came of each span."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from browser import chromium, texts_of
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from ports import free_port
from programs import running
from services import collect, running_sink, serving, wait_until

from otel_raglog import samples
from otel_raglog.commands.reading import read_files
from otel_raglog.model import WireSpan

ARRIVAL_SECONDS = 60.0
PAGE = 100
PICTURES = Path(__file__).resolve().parents[2] / "build" / "e2e"
EVALUATION_EVENT = "gen_ai.evaluation.result"


@dataclass(frozen=True)
class Stored:
    """A span as somebody holds it: ids in hex, of attributes and events only what we add."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    verdicts: Mapping[str, object]
    evaluations: tuple[Mapping[str, object], ...]

    @property
    def key(self) -> tuple[str, str]:
        """What makes it one span."""
        return self.trace_id, self.span_id


@dataclass(frozen=True)
class Note:
    """What a backend holds of a verdict beside the spans: an annotation, an assessment.

    ``target`` is the id of a span or of a trace; ``kind`` is ``span`` or ``trace``.
    """

    kind: str
    target: str
    name: str
    label: str | None = None
    score: float | None = None
    explanation: str | None = None


@dataclass(frozen=True)
class Arrival:
    """One replay: the spans sent, what an OTLP sink got, what the backend holds, and the truth."""

    sent: list[Stored]
    at_sink: list[Stored]
    at_backend: list[Stored]
    notes: list[Note]
    page: list[str]
    planted: list[dict[str, Any]]
    forwarded: float
    lost: float
    exit_code: int


@dataclass(frozen=True)
class RealBackend:
    """A running backend: how the service reaches it, and how its spans are read back.

    ``verdicts`` is the exporter to its API for verdicts, and ``notes`` reads what it holds of them.
    """

    exporter: object
    read: Callable[[], list[Stored]]
    verdicts: object
    notes: Callable[[Sequence[Stored]], list[Note]]
    scores_apart: bool = False
    """Whether a verdict's score is a note of its own."""
    page: Callable[[str], str] | None = None
    """The address of the page that shows a trace, where we know it."""


@pytest.fixture(scope="module", params=["phoenix", "mlflow"])
def arrival(request, tmp_path_factory):
    """Replay the bundled traces to a service that forwards to a backend and to a sink."""
    folder = tmp_path_factory.mktemp(request.param)
    start = {"phoenix": running_phoenix, "mlflow": running_mlflow}[request.param]
    with start(folder) as backend:
        return replayed(backend, folder)


def replayed(backend: RealBackend, folder: Path) -> Arrival:
    """Send the bundled traces with ``otel-raglog replay`` and wait until all of them are through."""
    with ExitStack() as stack:
        sample_set = stack.enter_context(samples.open_set())
        sent = [span for batch in read_files([sample_set.traces]).batches for span in batch.spans]
        sink = stack.enter_context(running_sink())
        exporters = {
            "backend": backend.exporter,
            "sink": sink.endpoint,
            "verdicts": backend.verdicts,
        }
        served = stack.enter_context(serving(folder, exporters))
        door = f"http://{served.addresses['grpc']}"
        command = [sys.executable, "-m", "otel_raglog.cli", "replay", str(sample_set.traces)]
        subprocess.run([*command, "--endpoint", door], check=True, timeout=ARRIVAL_SECONDS)
        collect(sink, len(sent))
        wait_until(lambda: served.metric("raglog_spans_pending") == 0, ARRIVAL_SECONDS)
        # A backend may store what it has acknowledged a little later.
        wait_until(lambda: len(backend.read()) >= len(sent), ARRIVAL_SECONDS)
        stored = backend.read()
        expected = sum(note_count(span, backend) for span in stored)
        wait_until(lambda: len(backend.notes(stored)) >= expected, ARRIVAL_SECONDS)
        notes = backend.notes(stored)
        return Arrival(
            notes=notes,
            page=seen_page(backend, notes, folder),
            sent=[from_wire(span) for span in sent],
            at_sink=[from_wire(span) for span in sink.spans],
            at_backend=stored,
            planted=json.loads(sample_set.planted.read_text())["runs"],
            forwarded=served.metric("raglog_spans_forwarded_total", exporter="backend"),
            lost=served.metric("raglog_spans_dropped_total"),
            exit_code=served.stop(),
        )


@contextmanager
def running_phoenix(folder: Path) -> Iterator[RealBackend]:
    """Run Arize Phoenix, reached over OTLP/gRPC and read over its REST API."""
    http_port, grpc_port = free_port(), free_port()
    environment = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(http_port),
        "PHOENIX_GRPC_PORT": str(grpc_port),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    command = [executable("RAGLOG_E2E_PHOENIX"), "serve"]
    base = f"http://127.0.0.1:{http_port}"
    with running(command, environment, f"{base}/healthz", folder):
        yield RealBackend(
            f"http://127.0.0.1:{grpc_port}",
            lambda: read_phoenix(base),
            {"kind": "phoenix", "endpoint": base},
            lambda spans: read_annotations(base, spans),
            scores_apart=True,
            page=lambda trace_id: f"{base}/redirects/traces/{trace_id}",
        )


def read_phoenix(base: str) -> list[Stored]:
    """Return every span of every project, page by page."""
    spans: list[Stored] = []
    for project in pages(f"{base}/v1/projects"):
        spans += [
            Stored(
                span["context"]["trace_id"],
                span["context"]["span_id"],
                span["parent_id"] or "",
                span["name"],
                ours(span["attributes"]),
                evaluations((event["name"], event["attributes"]) for event in span["events"]),
            )
            for span in pages(f"{base}/v1/projects/{project['name']}/spans")
        ]
    return spans


def seen_page(backend: RealBackend, notes: Sequence[Note], folder: Path) -> list[str]:
    """Return the texts of the page of a faulty run's trace, and keep its picture in build/e2e."""
    if backend.page is None or chromium() is None:
        return []
    trace_id = next(
        note.target for note in notes if note.kind == "trace" and note.label == "faulty"
    )
    return [trace_id, *texts_of(backend.page(trace_id), folder, PICTURES / "phoenix.png")]


def note_count(span: Stored, backend: RealBackend) -> int:
    """Return how many notes a span's verdicts are."""
    scores = sum("gen_ai.evaluation.score.value" in event for event in span.evaluations)
    return (
        len(span.evaluations)
        + scores * backend.scores_apart
        + ("raglog.detector.version" in span.verdicts)
    )


def read_annotations(base: str, spans: Sequence[Stored]) -> list[Note]:
    """Return Phoenix's annotations of spans and their traces."""
    notes: list[Note] = []
    for project in pages(f"{base}/v1/projects"):
        for kind, ids in (
            ("span", sorted({span.span_id for span in spans})),
            ("trace", sorted({span.trace_id for span in spans})),
        ):
            for start in range(0, len(ids), PAGE):
                query = [(f"{kind}_ids", each) for each in ids[start : start + PAGE]]
                url = f"{base}/v1/projects/{project['name']}/{kind}_annotations"
                for found in pages(url, query):
                    result = found["result"] or {}
                    notes.append(
                        Note(
                            kind,
                            found[f"{kind}_id"],
                            found["name"],
                            result.get("label"),
                            result.get("score"),
                            result.get("explanation"),
                        )
                    )
    return notes


def read_assessments(base: str, spans: Sequence[Stored]) -> list[Note]:
    """Return MLflow's assessments of traces and their spans."""
    notes: list[Note] = []
    for trace_id in sorted({span.trace_id for span in spans}):
        url = f"{base}/api/3.0/mlflow/traces/tr-{trace_id}"
        info = httpx2.get(url, timeout=30).raise_for_status().json()["trace"]["trace_info"]
        for found in info.get("assessments", []):
            span_id = found.get("span_id")
            notes.append(
                Note(
                    "span" if span_id else "trace",
                    span_id or trace_id,
                    found["assessment_name"],
                    found["feedback"]["value"],
                    None,
                    found.get("rationale"),
                )
            )
    return notes


def pages(url: str, more: Sequence[tuple[str, str]] = ()) -> Iterator[dict[str, Any]]:
    """Yield the items of all pages of a Phoenix collection."""
    cursor = None
    while True:
        query = [("limit", str(PAGE)), *more, *([("cursor", cursor)] if cursor else [])]
        answer = httpx2.get(url, params=query, timeout=30)
        if more and answer.status_code == httpx2.codes.NOT_FOUND:
            return  # it has none of these spans
        page = answer.raise_for_status().json()
        yield from page["data"]
        cursor = page["next_cursor"]
        if not cursor:
            return


@contextmanager
def running_mlflow(folder: Path) -> Iterator[RealBackend]:
    """Run an MLflow server, reached over OTLP/HTTP and read over its REST API."""
    port = free_port()
    environment = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    command = [executable("RAGLOG_E2E_MLFLOW"), "server", "--host", "127.0.0.1", "--workers", "1"]
    command += ["--port", str(port), "--backend-store-uri", f"sqlite:///{folder}/mlflow.db"]
    command += ["--default-artifact-root", str(folder / "artifacts")]
    base = f"http://127.0.0.1:{port}"
    with running(command, environment, f"{base}/health", folder):
        answer = httpx2.post(
            f"{base}/api/2.0/mlflow/experiments/create", json={"name": "raglog"}, timeout=30
        )
        experiment = answer.raise_for_status().json()["experiment_id"]
        exporter = {
            "kind": "otlp_http",
            "endpoint": base,
            "headers": {"x-mlflow-experiment-id": experiment},
        }
        yield RealBackend(
            exporter,
            lambda: read_mlflow(base, experiment),
            {"kind": "mlflow", "endpoint": base},
            lambda spans: read_assessments(base, spans),
        )


def read_mlflow(base: str, experiment: str) -> list[Stored]:
    """Return every span of every trace of the experiment, page by page."""
    where = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}
    query: dict[str, Any] = {"locations": [where], "max_results": PAGE}
    spans: list[Stored] = []
    traces = f"{base}/api/3.0/mlflow/traces"
    while True:
        page = httpx2.post(f"{traces}/search", json=query, timeout=30).raise_for_status().json()
        ids = [("trace_ids", trace["trace_id"]) for trace in page.get("traces", [])]
        if ids:
            found = httpx2.get(f"{traces}/batchGet", params=ids, timeout=30).raise_for_status()
            # Its spans are protobuf's own JSON form of the OTLP message: ids in base64.
            spans += [
                from_message(ParseDict(span, SpanMessage()))
                for trace in found.json()["traces"]
                for span in trace["spans"]
            ]
        if not page.get("next_page_token"):
            return spans
        query["page_token"] = page["next_page_token"]


def executable(variable: str) -> str:
    """Return the path of a backend's executable, or skip."""
    path = os.environ.get(variable)
    if not path:
        pytest.skip(f"{variable} names no executable: run `make e2e`, which installs the backends")
    return path


def from_wire(span: WireSpan) -> Stored:
    """Read a span from its OTLP bytes."""
    return from_message(SpanMessage.FromString(span.raw))


def from_message(span: SpanMessage) -> Stored:
    """Read an OTLP span."""
    return Stored(
        span.trace_id.hex(),
        span.span_id.hex(),
        span.parent_span_id.hex(),
        span.name,
        ours(plain(span.attributes)),
        evaluations((event.name, plain(event.attributes)) for event in span.events),
    )


def plain(attributes: Iterable[KeyValue]) -> dict[str, object]:
    """Return OTLP attributes as JSON would have them; maps, which we never write, as ``None``."""
    return {item.key: plain_value(item.value) for item in attributes}


def plain_value(value: AnyValue) -> object:
    """Return one value of an attribute."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain_value(item) for item in value.array_value.values]
    return None if kind in {None, "kvlist_value"} else getattr(value, kind)


def ours(attributes: Mapping[str, object]) -> dict[str, object]:
    """Keep the attributes that the service adds."""
    return {key: value for key, value in attributes.items() if key.startswith("raglog.")}


def evaluations(
    events: Iterable[tuple[str, Mapping[str, object]]],
) -> tuple[Mapping[str, object], ...]:
    """Keep the events that the service adds, by the stage that they judge."""
    found = [attributes for name, attributes in events if name == EVALUATION_EVENT]
    return tuple(sorted(found, key=lambda attributes: str(attributes["gen_ai.evaluation.name"])))
