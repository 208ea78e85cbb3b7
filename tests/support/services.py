"""Real processes and servers for integration tests: ours, a sink, and rotel."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import yaml
from ports import free_port
from prometheus_client.parser import text_string_to_metric_families

from otel_raglog.commands.demo import Backend
from otel_raglog.model import WireSpan
from otel_raglog_exporters.grouping import encode_payload
from otel_raglog_exporters.registry import build_exporter

PATIENCE_SECONDS = 60.0


@contextmanager
def running_sink(port: int = 0) -> Iterator[Backend]:
    """Run an OTLP/gRPC backend that keeps what it gets; port 0 takes a free one."""
    backend = Backend(port)
    backend.start()
    try:
        yield backend
    finally:
        backend.stop()


@dataclass(frozen=True)
class Served:
    """A running ``otel-raglog serve``."""

    process: subprocess.Popen[bytes]
    addresses: dict[str, str]
    log: Path

    def send(self, spans: Sequence[WireSpan], kind: str = "otlp_grpc") -> None:
        """Send spans in one request and expect all of them to be taken."""
        door = self.addresses["grpc" if kind == "otlp_grpc" else "http"]
        path = "" if kind == "otlp_grpc" else "/v1/traces"
        exporter = build_exporter(kind, {"endpoint": f"http://{door}{path}"})
        try:
            outcome = exporter.export(encode_payload(spans))
        finally:
            exporter.close()
        assert outcome.rejected == 0, outcome

    def metric(self, name: str, **labels: str) -> float:
        """Return a metric's value, 0 when the series does not exist."""
        text = httpx2.get(f"http://{self.addresses['metrics']}/metrics", timeout=10).text
        return sum(
            sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_SECONDS)


@contextmanager
def serving(
    folder: Path, exporters: dict[str, object], *, wait: bool = True, **options: object
) -> Iterator[Served]:
    """Run ``otel-raglog serve`` on free ports with ``options`` on top of short holds.

    Without ``wait`` it may still be starting, and has no addresses.
    """
    config = {
        "receive": {"grpc": {"port": 0}, "http": {"port": 0}},
        "metrics": {"port": 0},
        "health": {"port": 0},
        "api": {"port": 0},
        "journal": {"path": str(folder / "journal")},
        "hold": {"quiet_seconds": 0.5, "orphan_quiet_seconds": 1.0},
        "exporters": exporters,
    } | options
    ready, file, log = folder / "ready.json", folder / "raglog.yaml", folder / "serve.log"
    ready.unlink(missing_ok=True)
    file.write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "otel_raglog.cli", "serve", "-c", str(file)]
    with log.open("w") as output:
        process = subprocess.Popen(
            [*command, "--ready-file", str(ready)], stdout=output, stderr=output
        )
    try:
        if not wait:
            yield Served(process, {}, log)
            return
        wait_until(lambda: ready.exists() or process.poll() is not None)
        assert ready.exists(), log.read_text()
        yield Served(process, json.loads(ready.read_text()), log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def rotel_agent() -> Path | None:
    """Return rotel's binary, when its package is here."""
    spec = importlib.util.find_spec("rotel")
    return Path(spec.origin).parent / "rotel-agent" if spec and spec.origin else None


@contextmanager
def running_rotel(endpoint: str, folder: Path) -> Iterator[str]:
    """Run the rotel collector in front of ``endpoint``; yield its own OTLP/gRPC endpoint."""
    port = free_port()
    variables = {
        "ROTEL_OTLP_GRPC_ENDPOINT": f"127.0.0.1:{port}",
        "ROTEL_OTLP_HTTP_ENDPOINT": f"127.0.0.1:{free_port()}",
        "ROTEL_EXPORTER": "otlp",
        "ROTEL_OTLP_EXPORTER_ENDPOINT": endpoint,
    }
    with rotel_with(variables, port, folder):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def rotel_with(variables: Mapping[str, str], port: int, folder: Path) -> Iterator[None]:
    """Run the rotel collector with ``variables`` until it listens on ``port``."""
    agent = rotel_agent()
    assert agent is not None
    # The wheel's binary needs libpython, which is not on the loader's path everywhere.
    environment = os.environ | {"LD_LIBRARY_PATH": str(sysconfig.get_config_var("LIBDIR"))}
    log = folder / "rotel.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(agent), "start"], env=environment | dict(variables), stdout=output, stderr=output
        )
    try:
        wait_until(lambda: _listens(port) or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def wait_until(condition: object, seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for other threads or processes; fail when it takes too long."""
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def collect(backend: Backend, count: int, seconds: float = PATIENCE_SECONDS) -> list[WireSpan]:
    """Wait until the backend has at least ``count`` spans and return all of them."""
    deadline = time.monotonic() + seconds
    while len(backend.spans) < count:
        backend.take(0.2)
        assert time.monotonic() < deadline, f"{len(backend.spans)} of {count} spans came"
    return backend.spans
