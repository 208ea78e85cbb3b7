"""``otel-raglog serve``: the sidecar, until SIGTERM or SIGINT."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import structlog
import typer

from otel_raglog.app import Service
from otel_raglog.commands.config import ConfigFile
from otel_raglog.config import load_config
from otel_raglog.errors import ConfigError
from otel_raglog.logs import configure_logs
from otel_raglog.options import otlp_kind

_POLL_SECONDS = 0.1
_log = structlog.get_logger()


def _write_ready_file(path: Path, addresses: Mapping[str, str]) -> None:
    """Write at once: who waits for the file must not read a half."""
    partial = path.with_suffix(".part")
    partial.write_text(json.dumps(addresses), encoding="utf-8")
    partial.replace(path)


def serve(
    config: ConfigFile = None,
    forward_to: Annotated[
        str | None,
        typer.Option(
            "--forward-to",
            metavar="URL",
            help="Send to this OTLP endpoint: http://host:4317 (gRPC), or HTTP: port 4318, or any "
            "path; /v1/traces is added.",
        ),
    ] = None,
    ready_file: Annotated[
        Path | None,
        typer.Option("--ready-file", help="Write the bound addresses here as JSON once ready."),
    ] = None,
) -> None:
    """Receive OTLP, judge every stage of every run, and forward spans with their verdicts."""
    overrides: dict[str, Any] = {}
    if forward_to is not None:
        destination = {"kind": otlp_kind(forward_to), "endpoint": forward_to}
        overrides["exporters"] = {"backend": destination}
    loaded = load_config(config, overrides)
    configure_logs(loaded.log_level, sys.stderr)
    started, stop, hurry = threading.Event(), threading.Event(), threading.Event()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        _log.info("stopping", signal=signal.Signals(number).name)
        if not started.is_set():  # nothing was accepted yet, and the journal may be left any time
            raise SystemExit(0)
        # Only flags are set here: the interrupted thread may hold any lock.
        if stop.is_set():
            hurry.set()
        stop.set()

    signal.signal(signal.SIGTERM, on_signal)
    signal.signal(signal.SIGINT, on_signal)
    service = Service(loaded)
    addresses = service.start()
    started.set()
    if ready_file is not None:
        try:
            _write_ready_file(ready_file, addresses)
        except OSError as error:
            service.stop()
            raise ConfigError(f"--ready-file {ready_file}: {error.strerror}") from None
    _log.info("ready", **addresses)
    stop.wait()
    stopper = threading.Thread(target=service.stop, name="raglog-stop")
    stopper.start()
    while stopper.is_alive():
        stopper.join(_POLL_SECONDS)
        if hurry.is_set():
            service.hurry()
    kept, dropped = service.undelivered()
    _log.info("stopped", kept_items=kept, dropped_items=dropped)
