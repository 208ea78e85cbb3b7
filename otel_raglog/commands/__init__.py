"""The commands of ``otel-raglog``, one file each."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

import otel_raglog
from otel_raglog.commands.analyze import analyze
from otel_raglog.commands.bridge import bridge_app
from otel_raglog.commands.config import config_app
from otel_raglog.commands.demo import demo
from otel_raglog.commands.evaluate import evaluate
from otel_raglog.commands.exit_codes import BAD_INPUT, INTERRUPTED
from otel_raglog.commands.explain import explain
from otel_raglog.commands.judge import judge_app
from otel_raglog.commands.lab import lab_app
from otel_raglog.commands.replay import replay
from otel_raglog.commands.serve import serve
from otel_raglog.commands.tables import plain_console
from otel_raglog.commands.thresholds import thresholds
from otel_raglog.commands.train import train
from otel_raglog.errors import RaglogError
from otel_raglog.logs import configure_logs

app = typer.Typer(
    name="otel-raglog",
    help="Reference-free fault localisation for RAG pipelines, as an OpenTelemetry sidecar.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command()(serve)
app.command()(demo)
app.command()(analyze)
app.command()(explain)
app.command()(replay)
app.command()(train)
app.command()(thresholds)
app.command()(evaluate)
app.add_typer(config_app, name="config")
app.add_typer(judge_app, name="judge")
app.add_typer(lab_app, name="lab")
app.add_typer(bridge_app, name="bridge")


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"otel-raglog {otel_raglog.__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the command line; an error of ours or of a file is one line on stderr, exit code 2."""
    configure_logs("warning", sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        # Texts of runs can hold what an encoding cannot: lone surrogates, or anything in ASCII.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except BrokenPipeError:
        _leave_quietly()
    except (RaglogError, OSError) as error:
        plain_console(stderr=True, soft_wrap=True, highlight=False).print(f"otel-raglog: {error}")
        sys.exit(BAD_INPUT)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _leave_quietly() -> None:
    # What reads our output is gone; flushing at exit would complain once more.
    sys.stdout = None
    sys.exit(INTERRUPTED)
