"""``otel-raglog bridge``: pipelines without instrumentation, seen through their HTTP calls."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files as package_files
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from otel_raglog.building import build_conventions, build_markers
from otel_raglog.captured import CapturedRequests
from otel_raglog.commands.analyze import OutputFormat, report_problems
from otel_raglog.commands.bridge_environment import find_mitmdump
from otel_raglog.commands.bridge_mappings import mappings_app
from otel_raglog.commands.bridge_options import (
    check_addresses,
    check_mitmproxy_options,
    check_own_options,
    parse_settings,
)
from otel_raglog.commands.captures import (
    DEFAULT_FOLDER,
    MappingsFolder,
    Pipeline,
    StoredMappings,
    asker_of,
    home_expanded,
)
from otel_raglog.commands.config import ConfigFile
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.reading import Reading, read_files
from otel_raglog.commands.tables import plain_console, shorten, text_of
from otel_raglog.config import load_config
from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.mapping.mapping import map_trace
from otel_raglog.model import Completion, Stage, Trace
from otel_raglog.receive.span import decode_span
from otel_raglog.redaction.building import build_redaction
from otel_raglog_proxy_bridge.model import CallStage
from otel_raglog_proxy_bridge.roles import GENERATOR, REWRITER, other_roles

bridge_app = typer.Typer(
    name="bridge",
    help="Pipelines without instrumentation: their HTTP calls, captured by mitmproxy.",
    no_args_is_help=True,
)
bridge_app.add_typer(mappings_app, name="mappings")

_ADDRESS = re.compile(r"(?P<host>[^:\s]+|\[[^\]\s]+\]):(?P<port>[0-9]{1,5})")
_ROLES = {
    Stage.RERANKER: CallStage.RERANKER.value,
    Stage.REWRITER: REWRITER,
    Stage.GENERATOR: GENERATOR,
}


@bridge_app.command()
def run(
    listen: Annotated[
        str,
        typer.Option(
            help="Address of the proxy for the pipeline's outbound calls.", metavar="HOST:PORT"
        ),
    ] = "127.0.0.1:8080",
    front: Annotated[
        list[str] | None,
        typer.Option(
            help="A reverse proxy in front of the pipeline's own API, which marks where each question begins and "
            "ends: the address to listen on and the API's URL.",
            metavar="HOST:PORT=URL",
        ),
    ] = None,
    endpoint: Annotated[
        str, typer.Option(help="OTLP/HTTP address of the sidecar.", metavar="URL")
    ] = "http://127.0.0.1:4318",
    service: Annotated[str, typer.Option(help="What the pipeline is called.")] = "proxied-pipeline",
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="An option of the add-on (raglog_redact, raglog_front_paths …) or of mitmproxy; docs/bridge.md lists them.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    mappings: MappingsFolder = None,
    llm: Annotated[
        bool,
        typer.Option(
            "--llm",
            help="Ask the LLM of judge.* about calls that no rule knows; it needs a key.",
        ),
    ] = False,
    mitmdump: Annotated[
        Path | None,
        typer.Option(help="The mitmdump to start; default: see docs/bridge.md.", dir_okay=False),
    ] = None,
    environment: Annotated[
        Path,
        typer.Option(
            help="Where an environment for mitmproxy is made when it is not installed here.",
            file_okay=False,
        ),
    ] = Path("~/.local/share/otel-raglog/mitmproxy"),
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the command, do not start it.")
    ] = False,
) -> None:
    """Capture a pipeline's HTTP calls with mitmproxy and send them to the sidecar as spans.

    Point the pipeline at it with HTTP_PROXY and HTTPS_PROXY, and let it trust mitmproxy's
    certificate (~/.mitmproxy/mitmproxy-ca-cert.pem) for HTTPS.
    """
    modes = [
        f"regular@{_address(listen, '--listen')}",
        *(_front_mode(each) for each in front or ()),
    ]
    flags = {
        "raglog_endpoint": ("--endpoint", endpoint),
        "raglog_service": ("--service", service),
        "raglog_mappings": ("--mappings", str(home_expanded(mappings or DEFAULT_FOLDER))),
    }
    own = {"raglog_python": sys.executable}  # which has what mappings and LLMs need
    if llm:
        config = load_config(None)
        asker_of(
            config.judge, build_redaction(config.redaction)
        ).close()  # which says what is missing
        own["raglog_asker"] = "otel_raglog.bridging:asker_from_config"
    typed = parse_settings(option or ())
    check_own_options(typed, flags, own)
    verbosity = [] if "termlog_verbosity" in dict(typed) else ["--set", "termlog_verbosity=alert"]
    arguments = [*verbosity, "-s", str(addon_path())]
    for mode in modes:
        arguments += ["--mode", mode]
    settings = {name: value for name, (_, value) in flags.items()} | {
        name: value for name, value in own.items() if name not in dict(typed)
    }
    for name, value in (*settings.items(), *typed):
        arguments += ["--set", f"{name}={value}"]
    program = mitmdump or find_mitmdump(environment.expanduser(), _say)
    if not program.exists() and not dry_run:
        raise typer.BadParameter(f"{program} is not there", param_hint="--mitmdump")
    if dry_run:
        sys.stdout.write(json.dumps([str(program), *arguments]) + "\n")
        return
    check_mitmproxy_options(program, typed)
    check_addresses(
        [("--listen", listen), *(("--front", each.partition("=")[0]) for each in front or ())]
    )
    _say(f"starting the proxy; then start the pipeline with HTTP_PROXY=HTTPS_PROXY=http://{listen}")
    for each in front or ():
        _say(f"in front of the pipeline: {each}")
    sys.stderr.flush()
    try:
        os.execv(program, [str(program), *arguments])  # noqa: S606  signals reach mitmproxy itself
    except OSError as error:
        raise typer.BadParameter(
            f"{program} cannot be started: {error.strerror}", param_hint="--mitmdump"
        ) from None


@bridge_app.command()
def classify(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Captured calls: .mitm flow files, HAR, vcr cassettes, call records; .gz too.",
            metavar="FILE...",
        ),
    ],
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="How to print what each call is.")
    ] = OutputFormat.TABLE,
    mappings: MappingsFolder = None,
    pipeline: Pipeline = None,
    llm: Annotated[
        bool, typer.Option("--llm", help="Ask the LLM of judge.* about calls that no rule knows.")
    ] = False,
    store: Annotated[
        bool,
        typer.Option(
            "--store",
            help="Store how calls of unknown APIs are read, as bridge run does; default: nothing is written.",
        ),
    ] = False,
    config: ConfigFile = None,
) -> None:
    """Say of each call in FILES what stage it is, who decided, and why.

    Stages: embedder, retriever, reranker, llm, irrelevant; rewriter or generator where the run
    tells. Stored mappings are used as bridge run does, and none is written without --store. Exit
    code 2: something could not be read or stored.
    """
    loaded = load_config(config)
    conventions = build_conventions(loaded.conventions)
    asker = asker_of(loaded.judge, build_redaction(loaded.redaction)) if llm else None
    stored = StoredMappings(mappings, pipeline, asker, keeps=store)
    try:
        if store:  # before an LLM is asked for nothing
            stored.classifier()
        reading = read_files(
            files, markers=build_markers(conventions), stored=stored, all_runs=True
        )
    finally:
        if asker is not None:
            asker.close()
    lines = [line for captured in reading.captured for line in _lines(captured, conventions)]
    if output_format is OutputFormat.TABLE:
        _print_table(lines)
    elif output_format is OutputFormat.JSON:
        sys.stdout.write(json.dumps(lines, indent=2) + "\n")
    else:
        sys.stdout.writelines(json.dumps(line) + "\n" for line in lines)
    problems = [*reading.problems, *_not_captures(reading)]
    kept = [stored.kept()] if store else []
    report_problems([*reading.notes, *kept, *problems])
    if problems:
        raise typer.Exit(BAD_INPUT)


def addon_path() -> Path:
    """Return the file that ``mitmdump -s`` takes."""
    return Path(str(package_files("otel_raglog_proxy_bridge") / "addon.py"))


def _say(sentence: str) -> None:
    sys.stderr.write(f"otel-raglog: {sentence}\n")


def _address(text: str, name: str) -> str:
    found = _ADDRESS.fullmatch(text.strip())
    if found is None or not 0 < int(found["port"]) < 65_536:  # noqa: PLR2004
        raise typer.BadParameter(f"{text!r} is no HOST:PORT", param_hint=name)
    return f"{found['host']}:{found['port']}"


def _front_mode(text: str) -> str:
    address, equals, url = text.partition("=")
    if not equals or not re.match(r"https?://[^/\s]+", url):
        raise typer.BadParameter(f"{text!r} is no HOST:PORT=URL", param_hint="--front")
    return f"reverse:{url}@{_address(address, '--front')}"


def _not_captures(reading: Reading) -> Iterator[str]:
    if not reading.captured and (reading.requests or reading.runs):
        yield "these files hold spans or run records, no captured calls"


def _lines(captured: CapturedRequests, conventions: ConventionSet) -> Iterator[dict[str, object]]:
    roles = _roles(captured, conventions)
    for read in captured.reads:
        decision = read.decision
        stage = decision.stage.value
        if decision.stage is CallStage.LLM:
            stage = roles.get(read.call.id, stage)
        yield {
            "id": read.call.id,
            "stage": stage,
            "by": decision.by.value,
            "reason": f"{decision.rule}: {decision.reason}",
        }


def _roles(captured: CapturedRequests, conventions: ConventionSet) -> Mapping[str, str]:
    """Return which calls of a model rewrote a question and which answered, by call id.

    The steps of the run tell of those that became one; of the others, which tries, sub-answers
    and rounds of refinement are, what the model was shown.
    """
    calls = {call.span_id: call.call_id for run in captured.spans for call in run.calls}
    roles: dict[str, str] = {}
    for run, batch in zip(captured.runs, captured.batches, strict=True):
        if not run.is_rag:  # nothing tells whether a lone chat answers or rewrites
            continue
        spans = tuple(decode_span(wire) for wire in batch.spans)
        trace = Trace(spans[0].trace_id, spans, Completion.FILE_END) if spans else None
        for mapped in map_trace(trace, conventions) if trace else ():
            for stage, name in _ROLES.items():
                for step in mapped.steps(stage):
                    ids = (span_id.hex() for span_id in step.origin.span_ids)
                    roles |= {calls[span_id]: name for span_id in ids if span_id in calls}
        roles = {**other_roles(run, roles), **roles}
    return roles


def _print_table(lines: Sequence[Mapping[str, object]]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("call", "stage", "by", "why"):
        table.add_column(column)
    for line in lines:
        reason = shorten(str(line["reason"]), 100)
        table.add_row(
            text_of(str(line["id"])), str(line["stage"]), str(line["by"]), text_of(reason)
        )
    plain_console().print(table)
