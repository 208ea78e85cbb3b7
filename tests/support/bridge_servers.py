"""Programs of another environment to running servers: the stub model server, Chroma, mitmdump."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ports import free_port

APPS = Path(__file__).resolve().parents[1] / "apps"
BRIDGE = APPS / "bridge"
START_SECONDS = 90.0
STOP_SECONDS = 20.0


@contextmanager
def running_program(
    command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Run a program until the block is left; it writes to ``log`` and is asked to stop first."""
    with log.open("a") as output:
        process = subprocess.Popen(
            command, text=True, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextmanager
def running_stub(python: str, log: Path, **settings: str) -> Iterator[int]:
    """Run the stub model server of the applications; yield its port."""
    port_file = log.with_suffix(".port")
    command = [python, "-u", str(BRIDGE / "stub.py")]
    with running_program(command, port_file, environment(**settings)) as process:
        wait_for(lambda: port_file.read_text().strip().isdigit(), process, port_file)
        yield int(port_file.read_text())


@contextmanager
def running_chroma(python: str, folder: Path) -> Iterator[int]:
    """Run a Chroma server that keeps its data in ``folder``; yield its port."""
    port, log = free_port(), folder / "chroma.log"
    command = [str(Path(python).parent / "chroma"), "run", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--path", str(folder / "chroma")]
    with running_program(command, log, environment()) as process:
        wait_for(lambda: _answers(f"http://127.0.0.1:{port}/api/v2/heartbeat"), process, log)
        yield port


@contextmanager
def running_mitmdump(folder: Path, *arguments: str) -> Iterator[int]:
    """Run mitmdump as a forward proxy with further ``arguments``; yield its port."""
    port, log = free_port(), folder / "mitmdump.log"
    command = [str(Path(sys.executable).parent / "mitmdump"), "--set", f"confdir={folder}"]
    command += ["--mode", f"regular@127.0.0.1:{port}", *arguments]
    with running_program(command, log, environment()) as process:
        wait_for(lambda: listens(port), process, log)
        yield port


def environment(**settings: str) -> dict[str, str]:
    """Return this process's environment without proxies and OpenTelemetry, and with ``settings``."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("OTEL_") and not name.lower().endswith("_proxy")
    }
    return kept | {"ANONYMIZED_TELEMETRY": "False"} | settings


def proxied(port: int, **settings: str) -> dict[str, str]:
    """Return an environment in which every HTTP call goes through a proxy, those to loopback too."""
    address = f"http://127.0.0.1:{port}"
    return environment(HTTP_PROXY=address, http_proxy=address, **settings)


def listens(port: int) -> bool:
    """Tell whether somebody takes connections there."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def wait_for(condition: object, process: subprocess.Popen[str], log: Path) -> None:
    """Wait until a server that was started is ready; fail when it ended or takes too long."""
    deadline = time.monotonic() + START_SECONDS
    while not condition():  # type: ignore[operator]
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args} did not start:\n{log.read_text()}")
        time.sleep(0.1)


def _answers(url: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        opener.open(url, timeout=2).close()
    except (urllib.error.URLError, OSError):
        return False
    return True
