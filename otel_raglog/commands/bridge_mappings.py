"""``otel-raglog bridge mappings``: how calls of unknown APIs are read, listed, edited, taken back."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import click
import typer
from rich.table import Table

from otel_raglog.clock import SystemClock
from otel_raglog.commands.tables import plain_console, shorten, text_of
from otel_raglog.config import MAPPINGS_VARIABLE
from otel_raglog.errors import BadInput
from otel_raglog_proxy_bridge.mapped_reading import FIELDS
from otel_raglog_proxy_bridge.mapping_store import Entry, MappingStore, Version, pipelines_in
from otel_raglog_proxy_bridge.mappings import MappingError, mapping_from
from otel_raglog_proxy_bridge.model import CallStage

DEFAULT_FOLDER = Path("~/.local/share/otel-raglog/mappings")

mappings_app = typer.Typer(
    help="How calls of unknown APIs are read: list, show, edit, roll back.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class MappingsFormat(StrEnum):
    """How mappings are printed."""

    TABLE = "table"
    JSON = "json"


Folder = Annotated[
    Path,
    typer.Option(
        "--mappings",
        envvar=MAPPINGS_VARIABLE,
        help="Folder of the mappings, one file per pipeline.",
        file_okay=False,
    ),
]
PipelineName = Annotated[
    str | None,
    typer.Option("--pipeline", help="Whose mappings; needed where the folder has several."),
]
Which = Annotated[
    str, typer.Argument(help="Number or name of the mapping, or a part of one name (list).")
]
Format = Annotated[MappingsFormat, typer.Option("--format", help="How to print.")]


@mappings_app.command(name="list")
def list_mappings(
    mappings: Folder = DEFAULT_FOLDER,
    pipeline: PipelineName = None,
    output_format: Format = MappingsFormat.TABLE,
) -> None:
    """List the mappings of a pipeline, or of all."""
    folder = mappings.expanduser()
    try:
        names = (pipeline,) if pipeline is not None else pipelines_in(folder)
        found = [(name, MappingStore(folder, name).load()) for name in names]
    except MappingError as problem:
        raise BadInput(str(problem)) from None
    if output_format is MappingsFormat.JSON:
        _print_json(
            [
                {"pipeline": name, "number": number, **_summary(entry)}
                for name, entries in found
                for number, entry in enumerate(entries, 1)
            ]
        )
        return
    table = Table(box=None, pad_edge=False)
    for column in ("pipeline", "#", "calls", "stage", "from", "version", "time"):
        table.add_column(column, no_wrap=True)
    for name, entries in found:
        for number, entry in enumerate(entries, 1):
            _add_row(table, name, number, entry)
    if not table.row_count:
        plain_console().print(f"no mappings in {folder}", soft_wrap=True)
        return
    console = plain_console()
    plain_console(file=console.file, width=max(console.width, 160)).print(table)


@mappings_app.command()
def show(
    which: Which,
    mappings: Folder = DEFAULT_FOLDER,
    pipeline: PipelineName = None,
    version: Annotated[
        int | None, typer.Option("--version", help="An earlier version; default: the current one.")
    ] = None,
    output_format: Format = MappingsFormat.TABLE,
) -> None:
    """Show one mapping, its expressions and its versions. JSON is what edit --file takes."""
    store = _store(mappings, pipeline)
    try:
        entry = _chosen(store.load(), which)
        shown = entry.current if version is None else entry.version(version)
    except MappingError as problem:
        raise BadInput(str(problem)) from None
    if output_format is MappingsFormat.JSON:
        _print_json(shown.mapping.as_json())
        return
    console, mapping = plain_console(soft_wrap=True, highlight=False), shown.mapping
    console.print(text_of(f"{mapping.name}: {mapping.stage.value}", "bold"))
    if mapping.reason:
        console.print(text_of(mapping.reason))
    table = Table(box=None, pad_edge=False)
    table.add_column("field")
    table.add_column("expression", overflow="fold")
    for key, expression in mapping.expressions.items():
        table.add_row(key, text_of(expression))
    if mapping.expressions:
        console.print(table)
    for each in entry.versions:
        mark = "*" if each is shown else " "
        line = f"{mark} version {each.number}: {each.source} {each.mapping.created}"
        console.print(text_of(line.rstrip()))


@mappings_app.command()
def edit(
    which: Annotated[
        str | None,
        typer.Argument(help="Number or name of the mapping; without one a mapping is added."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file",
            help="JSON of the mapping, instead of an editor.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    mappings: Folder = DEFAULT_FOLDER,
    pipeline: PipelineName = None,
) -> None:
    """Change a mapping in $EDITOR, or take it from a file; what it was before is kept as a version.

    It is checked before it is stored. A wrong one changes nothing: exit code 2.
    """
    store = _store(mappings, pipeline, new=True)
    try:
        entry = None if which is None else _chosen(store.load(), which)
        text = _edited(entry) if file is None else file.read_text("utf-8")
        if text is None:
            sys.stdout.write("nothing was changed\n")
            return
        number = None if entry is None else entry.current.number
        version = _stored(store, text, None if entry is None else entry.name)
    except UnicodeDecodeError:
        raise BadInput(f"{file} is no UTF-8 text; nothing was changed") from None
    except MappingError as problem:
        raise BadInput(f"{problem}; nothing was changed") from None
    if version.number == number:
        sys.stdout.write("nothing was changed\n")
        return
    sys.stdout.write(f"{version.mapping.name}: version {version.number} is used now\n")


@mappings_app.command()
def rollback(
    which: Which,
    to: Annotated[
        int | None, typer.Option("--to", help="Version to go back to; default: the one before.")
    ] = None,
    mappings: Folder = DEFAULT_FOLDER,
    pipeline: PipelineName = None,
) -> None:
    """Use an earlier version of a mapping again. It becomes a new version: nothing is lost."""
    store = _store(mappings, pipeline)
    try:
        name = _chosen(store.load(), which).name
        version = store.rollback(name, created=_now(), number=to)
    except MappingError as problem:
        raise BadInput(str(problem)) from None
    sys.stdout.write(
        f"{version.mapping.name}: version {version.number}, a copy of version "
        f"{version.restores}, is used now\n"
    )


def _store(folder: Path, pipeline: str | None, *, new: bool = False) -> MappingStore:
    folder = folder.expanduser()
    if pipeline is None:
        try:
            names = pipelines_in(folder)
        except MappingError as problem:
            raise BadInput(str(problem)) from None
        if len(names) != 1:
            known = f"there are {', '.join(names)}" if names else f"{folder} has none"
            raise BadInput(f"--pipeline: say whose mappings are meant; {known}")
        pipeline = names[0]
    store = MappingStore(folder, pipeline)
    if not new and not store.path.exists():
        raise BadInput(f"--pipeline: {pipeline!r} has no mappings in {folder}")
    return store


def _chosen(entries: Sequence[Entry], which: str) -> Entry:
    """Return the mapping of a number, a name, or the only one whose name holds ``which``."""
    if which.isdecimal() and 1 <= int(which) <= len(entries):
        return entries[int(which) - 1]
    found = [entry for entry in entries if entry.name == which] or [
        entry for entry in entries if which in entry.name
    ]
    if len(found) != 1:
        known = "; ".join(f"{number} {entry.name}" for number, entry in enumerate(entries, 1))
        many = "several mappings are" if found else "no mapping is"
        raise MappingError(f"{many} {which!r}; there are: {known or 'none'}")
    return found[0]


def _edited(entry: Entry | None) -> str | None:
    """Return what a person made of the mapping in an editor; ``None`` when it was not saved."""
    if entry is None:
        body: dict[str, object] = {
            "stage": CallStage.RETRIEVER.value,
            "match": {"method": "POST", "host": "api.example.com", "path": "/v1/{id}/search"},
            "expressions": dict.fromkeys(FIELDS[CallStage.RETRIEVER], ""),
        }
    else:
        body = entry.current.mapping.as_json()
        for key in ("origin", "created"):
            body.pop(key)
    return click.edit(json.dumps(body, indent=2, ensure_ascii=False) + "\n", extension=".json")


def _stored(store: MappingStore, text: str, replaces: str | None) -> Version:
    """Check and store the JSON of a mapping as a person's own."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise MappingError(f"it is no JSON: {problem}") from None
    if isinstance(data, dict):
        data = {**data, "origin": "user", "created": _now()}
    return store.add(mapping_from(data), replaces=replaces)


def _summary(entry: Entry) -> dict[str, object]:
    current = entry.current
    return {
        "name": entry.name,
        "version": current.number,
        "source": current.source,
        **current.mapping.as_json(),
        "versions": [
            {"number": each.number, "source": each.source, "created": each.mapping.created}
            for each in entry.versions
        ],
    }


def _add_row(table: Table, pipeline: str, number: int, entry: Entry) -> None:
    current = entry.current
    table.add_row(
        text_of(pipeline),
        str(number),
        text_of(shorten(entry.name, 80)),
        current.mapping.stage.value,
        current.source,
        str(current.number),
        current.mapping.created,
    )


def _print_json(data: object) -> None:
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False) + "\n")


def _now() -> str:
    seconds = SystemClock().unix_nano() // 1_000_000_000
    return datetime.fromtimestamp(seconds, UTC).isoformat()
