"""Programs of others as servers: started, waited for, stopped."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from services import wait_until

START_SECONDS = 240.0
STOP_SECONDS = 60.0


@contextmanager
def running(
    command: list[str], environment: dict[str, str], url: str, folder: Path
) -> Iterator[None]:
    """Run a server until ``url`` answers, and stop it at the end."""
    log = folder / "backend.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=os.environ | environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        wait_until(lambda: answers(url) or process.poll() is not None, START_SECONDS)
        assert process.poll() is None, log.read_text()
        yield
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            # MLflow's server is a child of the process that we started; the group is our own.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def answers(url: str) -> bool:
    """Tell whether a server is up."""
    try:
        return httpx2.get(url, timeout=5).is_success
    except httpx2.TransportError:
        return False
