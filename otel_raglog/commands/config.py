"""``otel-raglog config``: show, check and describe the configuration."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from otel_raglog.config import load_config, read_tokens, show_config
from otel_raglog.delivery import build_exporters, signals_of
from otel_raglog.options import Config
from otel_raglog.receive.auth import Tokens
from otel_raglog.receive.headers import check_forwardable
from otel_raglog.redaction.building import build_redaction

config_app = typer.Typer(
    help="Show, check or describe the configuration.", no_args_is_help=True, rich_markup_mode=None
)

ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="YAML file; default: the one OTEL_RAGLOG_CONFIG names."),
]


@config_app.command()
def show(config: ConfigFile = None) -> None:
    """Print every option with its value, as file and environment set it. Secrets are hidden."""
    sys.stdout.write(show_config(load_config(config)))


@config_app.command()
def check(
    file: Annotated[Path | None, typer.Argument(help="YAML file to check.")] = None,
    config: ConfigFile = None,
) -> None:
    """Check the configuration, the exporters' options and the key of redaction included. Exit code 2 when it is wrong."""
    file = file or config
    loaded = load_config(file)
    check_forwardable(loaded.receive.forward_headers)
    Tokens(read_tokens(loaded.receive.auth))
    build_redaction(loaded.redaction)
    for exporter in build_exporters(loaded).values():
        exporter.close()
    for name, destination in loaded.exporters.items():
        signals_of(name, destination)
    names = ", ".join(loaded.exporters) or "none"
    sys.stdout.write(f"ok: {file or 'environment and defaults'} (exporters: {names})\n")


@config_app.command()
def schema() -> None:
    """Print the JSON Schema of the configuration file."""
    sys.stdout.write(json.dumps(Config.model_json_schema(), indent=2) + "\n")
