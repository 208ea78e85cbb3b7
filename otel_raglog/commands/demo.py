"""``otel-raglog demo``: bundled traces through a real service, and its verdicts beside the truth."""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import httpx2
import typer
import yaml
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from rich.progress import Progress

from otel_raglog import samples
from otel_raglog.building import build_markers
from otel_raglog.commands.demo_scores import Outcome, print_outcomes, print_scores, read_outcomes
from otel_raglog.commands.reading import Reading, read_files
from otel_raglog.commands.tables import plain_console
from otel_raglog.errors import BadInput, RaglogError
from otel_raglog.model import Signal, WireSpan
from otel_raglog.receive.decode import split_protobuf
from otel_raglog.receive.grpc_door import GrpcDoor
from otel_raglog.receive.inbox import Arrival
from otel_raglog.receive.intake import Intake
from otel_raglog.receive.limits import Limits
from otel_raglog.receive.sifting import Sifter
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.registry import build_exporter

_QUIET_SECONDS = 1.0
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0
_SILENCE_SECONDS = 60.0
_SHOWN_METRICS = (
    "raglog_runs_total",
    "raglog_skipped_total",
    "raglog_spans_received_total",
    "raglog_spans_forwarded_total",
    "raglog_spans_dropped_total",
    "raglog_spans_pending",
)


class _Uncounted:
    """The demo's backend keeps the spans themselves, so nobody needs to count them."""

    def received(self, signal: Signal, items: int) -> None:
        pass

    def rejected(self, signal: Signal, reason: str, items: int) -> None:
        pass


class Backend:
    """An OTLP/gRPC backend in this process that keeps every span it receives."""

    def __init__(self, port: int = 0) -> None:
        self._limits, self._markers = Limits(), build_markers()
        self._arrived: queue.SimpleQueue[tuple[WireSpan, ...]] = queue.SimpleQueue()
        sifter = Sifter(self._limits, self._markers)
        self._door = GrpcDoor(
            Intake(self, _Uncounted(), self._limits, sifter),
            "127.0.0.1",
            port,
            signals=[Signal.TRACES],
        )
        self.spans: list[WireSpan] = []

    def accept(self, arrival: Arrival) -> None:
        """Take a request, as the door's inbox."""
        self._arrived.put(split_protobuf(arrival.body, self._limits, self._markers).spans)

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._door.port}"

    def start(self) -> None:
        """Listen."""
        self._door.start()

    def stop(self) -> None:
        """Close."""
        self._door.stop(0.5)

    def take(self, timeout_seconds: float) -> int:
        """Wait for a request and keep its spans; return how many came, 0 when none did in time."""
        try:
            spans = self._arrived.get(timeout=timeout_seconds)
        except queue.Empty:
            return 0
        self.spans.extend(spans)
        return len(spans)


def demo(
    runs: Annotated[
        int, typer.Option(min=0, help="Traces to replay, evenly picked; 0: all of them.")
    ] = 0,
    explanations: Annotated[
        bool, typer.Option("--explanations/--no-explanations", help="Print why, per run.")
    ] = True,
    traces: Annotated[
        Path | None, typer.Option(help="Folder of another set, as `make traces` writes it.")
    ] = None,
) -> None:
    """Replay bundled traces of real applications through `otel-raglog serve` over gRPC.

    Prints each run's verdicts beside the faults that were planted in it, how many were found,
    missed or flagged in vain, and the metrics that an alert would use.
    """
    console = plain_console(highlight=False)
    console.print("otel-raglog demo: a service, a backend, and bundled traces of real applications")
    with samples.open_set(traces) as sample_set:
        reading = read_files([sample_set.traces])
        planted = _read_planted(sample_set.planted)
    wanted = _pick(reading, runs)
    with tempfile.TemporaryDirectory(prefix="raglog-demo-") as folder:
        annotated, metrics = _run_service(reading, wanted, Path(folder), console)
    outcomes = read_outcomes(annotated, planted)
    print_outcomes(outcomes, console, explanations=explanations)
    print_scores(outcomes, console)
    _print_metrics(metrics, console)
    _check(outcomes, wanted)


def _read_planted(path: Path) -> dict[str, Any]:
    try:
        planted: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot read {path}: {error}") from None
    return planted


def _pick(reading: Reading, runs: int) -> frozenset[bytes]:
    trace_ids = [trace.trace_id for trace in reading.traces()]
    if not runs or runs >= len(trace_ids):
        return frozenset(trace_ids)
    return frozenset(trace_ids[index * len(trace_ids) // runs] for index in range(runs))


def _run_service(
    reading: Reading, wanted: frozenset[bytes], folder: Path, console: Console
) -> tuple[list[WireSpan], str]:
    """Return the spans that reached the backend, and the service's metrics at the end."""
    requests = [
        [span for span in batch.spans if span.trace_id in wanted] for batch in reading.batches
    ]
    requests = [spans for spans in requests if spans]
    total = sum(map(len, requests))
    backend = Backend()
    backend.start()
    try:
        with _service(backend.endpoint, folder) as addresses:
            console.print(
                f"service up: OTLP/gRPC {addresses['grpc']}, metrics {addresses['metrics']}, "
                f"backend {backend.endpoint}",
                soft_wrap=True,
            )
            _send(addresses["grpc"], requests)
            _collect(backend, total)
            metrics = httpx2.get(f"http://{addresses['metrics']}/metrics", timeout=10).text
        while backend.take(0):
            pass
        console.print(f"sent {total} spans, the backend got {len(backend.spans)}; service down\n")
    finally:
        backend.stop()
    return backend.spans, metrics


@contextmanager
def _service(endpoint: str, folder: Path) -> Iterator[dict[str, str]]:
    """Run ``otel-raglog serve`` as a process of its own; yield its addresses, then stop it."""
    ready, config, log = folder / "ready.json", folder / "raglog.yaml", folder / "log"
    options = {
        "receive": {"grpc": {"port": 0}, "http": {"port": 0}},
        "metrics": {"port": 0},
        "health": {"port": 0},
        "api": {"port": 0},
        "journal": {"path": str(folder / "journal")},
        "hold": {"quiet_seconds": _QUIET_SECONDS, "orphan_quiet_seconds": 3 * _QUIET_SECONDS},
        "exporters": {"backend": {"kind": "otlp_grpc", "endpoint": endpoint}},
        "judge": {"when": "never"},  # what it prints is the same everywhere, and free
        "log_level": "warning",
    }
    config.write_text(yaml.safe_dump(options), encoding="utf-8")
    command = [sys.executable, "-m", "otel_raglog.cli", "serve"]
    command += ["--config", str(config), "--ready-file", str(ready)]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output)  # noqa: S603  our own
        try:
            yield _wait_for(ready, process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                code = process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                code = process.wait()
    if code != 0:
        raise RaglogError(f"the service ended with {code}: {log.read_text()[-2000:]}")


def _wait_for(ready: Path, process: subprocess.Popen[bytes], log: Path) -> dict[str, str]:
    deadline = time.monotonic() + _START_SECONDS
    while not ready.exists():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RaglogError(f"the service did not start: {log.read_text()[-2000:]}")
        time.sleep(0.05)
    addresses: dict[str, str] = json.loads(ready.read_text(encoding="utf-8"))
    return addresses


def _send(address: str, requests: Sequence[Sequence[WireSpan]]) -> None:
    exporter = build_exporter("otlp_grpc", {"endpoint": f"http://{address}"})
    try:
        for spans in requests:
            exporter.export(encode_payload(spans))
    finally:
        exporter.close()


def _collect(backend: Backend, total: int) -> None:
    console = plain_console(stderr=True)
    quiet_since = time.monotonic()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("Judging", total=total)
        while len(backend.spans) < total:
            came = backend.take(0.5)
            progress.advance(task, came)
            if came:
                quiet_since = time.monotonic()
            elif time.monotonic() - quiet_since > _SILENCE_SECONDS:
                raise RaglogError(
                    f"the backend got {len(backend.spans)} of {total} spans, then nothing for "
                    f"{_SILENCE_SECONDS:.0f} seconds"
                )


def _print_metrics(metrics: str, console: Console) -> None:
    console.print("\nMetrics that an alert would use (from the service's /metrics):")
    for line in metrics.splitlines():
        if line.startswith(_SHOWN_METRICS):
            console.print(f"  {line}", soft_wrap=True)
    verdicts: dict[str, Counter[str]] = {}
    faults: Counter[str] = Counter()
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            labels = sample.labels
            if sample.name == "raglog_stage_verdicts_total":
                count = verdicts.setdefault(labels["stage"], Counter())
                count[labels["verdict"]] += int(sample.value)
            elif sample.name == "raglog_faults_total":
                faults[f"{labels['stage']}/{labels['fault_type']}"] += int(sample.value)
    console.print("  fault rate = faulty / (faulty + ok) of raglog_stage_verdicts_total:")
    for stage, count in verdicts.items():
        judged = count["faulty"] + count["ok"]
        rate = f"{count['faulty'] / judged:.3f}" if judged else "-"
        console.print(f"    {stage:10} {rate:>6}  ({count['faulty']} of {judged})")
    found = ", ".join(f"{name} {count}" for name, count in sorted(faults.items()))
    console.print(f"  raglog_faults_total by stage and type: {found}", soft_wrap=True)


def _check(outcomes: Sequence[Outcome], wanted: frozenset[bytes]) -> None:
    judged = {outcome.trace_id for outcome in outcomes}
    missing = wanted - judged
    if missing:
        raise RaglogError(f"{len(missing)} of {len(wanted)} traces came back without a verdict")
