"""The services that the benchmark of the pipe compares, as processes whose cost can be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import yaml

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "support"))

from ports import free_port  # noqa: E402  tests/support is no package
from services import rotel_agent  # noqa: E402  tests/support is no package

BATCH_SPANS = 512
"""Both send at most so many spans in a request: 3.7 MB of these."""

QUIET_SECONDS = 0.5
_UNMAPPED = ('"overloaded"', '"error"', '"too_large"', '"shutdown"')
_PATIENCE_SECONDS = 60.0
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Subject:
    """A running service and its OTLP door."""

    name: str
    process: subprocess.Popen[bytes]
    address: str
    metrics: str = ""

    def unmapped_traces(self) -> int:
        """Return the traces that passed without the work that is measured, ours only."""
        if not self.metrics:
            return 0
        with urlopen(f"http://{self.metrics}/metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        skips = [line for line in lines if line.startswith("raglog_skipped_total{")]
        return int(sum(float(s.split()[-1]) for s in skips if any(r in s for r in _UNMAPPED)))

    def cpu_seconds(self) -> float:
        """Return user and system time so far, over all threads and child processes."""
        return sum(_cpu_seconds(pid) for pid in _family(self.process.pid))

    def peak_mib(self) -> float:
        """Return the highest resident memory so far, MiB, child processes included."""
        return sum(_peak_kib(pid) for pid in _family(self.process.pid)) / 1024


def _family(pid: int) -> list[int]:
    pids = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            pids += _family(int(child))
    return pids


def _cpu_seconds(pid: int) -> float:
    # The name in parentheses may hold spaces; utime, stime and those of dead children follow it.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS_PER_SECOND


def _peak_kib(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def service_config(
    protocol: str, endpoint: str, folder: Path, *, checks: bool, journal: bool
) -> dict[str, Any]:
    """Return the configuration of ours: the one place that decides what is measured.

    Without checks, runs are decoded, held, mapped and marked. Without the journal, everything is
    in memory, as in rotel.
    """
    suffix = "/v1/traces" if protocol == "http" else ""
    return {
        "receive": {"grpc": {"port": 0}, "http": {"port": 0}},
        "metrics": {"port": 0},
        "health": {"port": 0},
        "journal": {"enabled": journal, "path": str(folder / "journal"), "fsync": "none"},
        "hold": {"quiet_seconds": QUIET_SECONDS, "orphan_quiet_seconds": QUIET_SECONDS},
        "analysis": {
            "checks": ["rules", "similarity"] if checks else [],
            "backlog_traces": 100_000,  # a full backlog passes traces unmapped
        },
        "sending": {"batch_items": BATCH_SPANS},
        "exporters": {
            "sink": {
                "kind": f"otlp_{protocol}",
                "endpoint": f"http://{endpoint}{suffix}",
                "compression": "gzip",
            }
        },
    }


@contextmanager
def running_service(
    protocol: str, endpoint: str, folder: Path, *, checks: bool, journal: bool
) -> Iterator[Subject]:
    """Run ours in front of the sink at ``endpoint`` (``host:port``)."""
    folder.mkdir(parents=True)
    ready, file = folder / "ready.json", folder / "raglog.yaml"
    config = service_config(protocol, endpoint, folder, checks=checks, journal=journal)
    file.write_text(yaml.safe_dump(config))
    command = [sys.executable, "-m", "otel_raglog.cli", "serve", "-c", str(file)]
    command += ["--ready-file", str(ready)]
    with _process(command, folder / "log") as process:
        _wait_for(process, ready.exists, folder / "log")
        addresses = json.loads(ready.read_text())
        yield Subject("otel-raglog", process, addresses[protocol], addresses["metrics"])


@contextmanager
def running_rotel(protocol: str, endpoint: str, folder: Path) -> Iterator[Subject]:
    """Run rotel, OTLP to OTLP with gzip, in front of the sink at ``endpoint``."""
    folder.mkdir(parents=True)
    agent = rotel_agent()
    if agent is None:
        sys.exit("rotel is not installed: pip install rotel (Linux only)")
    doors = {"grpc": f"127.0.0.1:{free_port()}", "http": f"127.0.0.1:{free_port()}"}
    command = [str(agent), "start"]
    command += ["--otlp-grpc-endpoint", doors["grpc"], "--otlp-http-endpoint", doors["http"]]
    command += ["--exporter", "otlp", "--otlp-exporter-endpoint", f"http://{endpoint}"]
    command += ["--otlp-exporter-protocol", protocol, "--otlp-exporter-compression", "gzip"]
    command += ["--otlp-grpc-max-recv-msg-size-mib", "64", "--batch-max-size", str(BATCH_SPANS)]
    command += ["--log-file", str(folder / "agent.log")]
    with _process(command, folder / "log") as process:
        port = int(doors[protocol].rpartition(":")[2])
        _wait_for(process, lambda: _listens(port), folder / "log")
        yield Subject("rotel", process, doors[protocol])


@contextmanager
def _process(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    # rotel's binary needs libpython, which is not on the loader's path everywhere.
    environment = os.environ | {"LD_LIBRARY_PATH": str(sysconfig.get_config_var("LIBDIR"))}
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    listening = f":{port:04X} 00000000:0000 0A"
    return listening in Path("/proc/net/tcp").read_text()


def _wait_for(process: subprocess.Popen[bytes], condition: Any, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"{process.args} did not start:\n{log.read_text()}")
        time.sleep(0.02)
