"""What the commands say of captured calls: options, and who tells what a call is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from otel_raglog.bridging import build_asker
from otel_raglog.config import MAPPINGS_VARIABLE
from otel_raglog.errors import ConfigError
from otel_raglog.options import Config
from otel_raglog_proxy_bridge.classifying import Classifier
from otel_raglog_proxy_bridge.telling import tellers

MappingsFolder = Annotated[
    Path | None,
    typer.Option(
        "--mappings",
        help="Folder of stored mappings of unknown APIs.",
        envvar=MAPPINGS_VARIABLE,
        file_okay=False,
    ),
]
Pipeline = Annotated[
    str | None, typer.Option("--pipeline", help="Whose mappings: the name it was run with.")
]


def build_classifier(
    loaded: Config, mappings: Path | None, pipeline: str | None, *, ask: bool
) -> Classifier:
    """Return who tells what a call is: stored mappings, known APIs, structure, then an LLM.

    Raises:
        ConfigError: an LLM is to be asked and ``judge`` names none, or a mapping cannot be read.
    """
    asker = build_asker(loaded.judge) if ask else None
    if ask and asker is None:
        raise ConfigError("--llm: no LLM is configured; see judge.provider and its key")
    folder = mappings.expanduser() if mappings else None
    return Classifier(tellers(folder, pipeline, asker))
