"""``otel-raglog bridge mappings``: how calls of unknown APIs are read, listed, edited, taken back."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import click
import typer
from rich.table import Table

from otel_raglog.clock import SystemClock
from otel_raglog.commands.analyze import report_problems
from otel_raglog.commands.captures import (
    DEFAULT_FOLDER,
    PipelineName,
    home_expanded,
    unknown_pipeline,
)
from otel_raglog.commands.exit_codes import BAD_INPUT
from otel_raglog.commands.tables import plain_console, shorten, text_of
from otel_raglog.config import MAPPINGS_VARIABLE
from otel_raglog.errors import BadInput
from otel_raglog_proxy_bridge.mapped_reading import FIELDS
from otel_raglog_proxy_bridge.mapping_store import Entry, MappingStore, Version, files_in
from otel_raglog_proxy_bridge.mappings import MappingError, mapping_from
from otel_raglog_proxy_bridge.model import CallStage

_MOST_DIGITS = 9

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
    """List the mappings of a pipeline, or of all.

    Exit code 2: a file could not be read; the others are still listed.
    """
    folder = home_expanded(mappings)
    with _naming_the_option():
        found, problems = _all_in(folder, pipeline)
        nothing = (
            "" if any(entries for _, entries in found) or problems else _nothing(folder, pipeline)
        )
    _print_list(found, nothing, output_format)
    report_problems(f"--mappings: {problem}" for problem in problems)
    if problems:
        raise typer.Exit(BAD_INPUT)


def _all_in(
    folder: Path, pipeline: str | None
) -> tuple[list[tuple[str, Sequence[Entry]]], list[str]]:
    """Return the mappings of each pipeline, or of the one named, and what could not be read."""
    found: list[tuple[str, Sequence[Entry]]] = []
    problems: list[str] = []
    if pipeline is not None:
        names = [pipeline]
    else:
        files = files_in(folder)
        names = [each.pipeline for each in files if each.problem is None]
        problems = [each.problem for each in files if each.problem is not None]
    for name in names:
        try:
            found.append((name, MappingStore(folder, name).load()))
        except MappingError as problem:
            problems.append(str(problem))
    return found, problems


def _nothing(folder: Path, pipeline: str | None) -> str:
    if pipeline is not None:
        return unknown_pipeline(folder, pipeline)
    return f"no mappings in {folder}{'' if folder.exists() else ', which is not there'}"


def _print_list(
    found: Sequence[tuple[str, Sequence[Entry]]], nothing: str, output_format: MappingsFormat
) -> None:
    if output_format is MappingsFormat.JSON:
        _print_json(
            [
                {"pipeline": name, "number": number, **_summary(entry)}
                for name, entries in found
                for number, entry in enumerate(entries, 1)
            ]
        )
        if nothing:
            report_problems([nothing])
        return
    table = Table(box=None, pad_edge=False)
    for column in ("pipeline", "#", "calls", "stage", "from", "version", "time"):
        table.add_column(column, no_wrap=True)
    for name, entries in found:
        for number, entry in enumerate(entries, 1):
            _add_row(table, name, number, entry)
    if nothing:
        plain_console(soft_wrap=True, highlight=False).print(text_of(nothing))
    if not table.row_count:
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
    with _naming_the_option():
        entries = store.load()
    with _as_bad_input():
        entry = _chosen(entries, which)
        shown = entry.current if version is None else entry.version(version)
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

    It is checked before it is stored. A wrong one changes nothing: exit code 2. What was written
    in an editor and could not be stored is kept; the error says where.
    """
    store = _store(mappings, pipeline, new=which is None)
    with _naming_the_option():
        entries = store.load()
    with _as_bad_input():
        entry = None if which is None else _chosen(entries, which)
    version: Version | None
    if file is None:
        version = _edited(store, entry)
    else:
        with _as_bad_input("; nothing was changed"):
            version = _stored(store, _text_in(file), entry)
    if version is None or (entry is not None and version == entry.current):
        sys.stdout.write("nothing was changed\n")
        return
    added = "" if entries else f", the first of {store.pipeline!r}, in {store.path}"
    sys.stdout.write(f"{version.mapping.name}: version {version.number} is used now{added}\n")


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
    with _naming_the_option():
        entries = store.load()
    with _as_bad_input():
        name = _chosen(entries, which).name
        version = store.rollback(name, created=_now(), number=to)
    sys.stdout.write(
        f"{version.mapping.name}: version {version.number}, a copy of version "
        f"{version.restores}, is used now\n"
    )


def _store(folder: Path, pipeline: str | None, *, new: bool = False) -> MappingStore:
    folder = home_expanded(folder)
    with _naming_the_option():
        files = files_in(folder)
        if pipeline is None:
            names = [each.pipeline for each in files]
            if len(names) != 1:
                known = f"there are {', '.join(names)}" if names else f"{folder} has none"
                raise BadInput(f"--pipeline: say whose mappings are meant; {known}")
            pipeline = names[0]
        store = MappingStore(folder, pipeline)
        if not new and all(each.path != store.path for each in files):
            raise BadInput(unknown_pipeline(folder, pipeline))
    return store


@contextlib.contextmanager
def _as_bad_input(after: str = "", before: str = "") -> Iterator[None]:
    try:
        yield
    except MappingError as problem:
        raise BadInput(f"{before}{problem}{after}") from None


def _naming_the_option() -> contextlib.AbstractContextManager[None]:
    """Return what makes of a file or folder that cannot be read an error that names the option."""
    return _as_bad_input(before="--mappings: ")


def _chosen(entries: Sequence[Entry], which: str) -> Entry:
    """Return the mapping of a number, a name, or the only one whose name holds ``which``."""
    is_number = which.isdecimal()
    if is_number and len(which) <= _MOST_DIGITS and 1 <= int(which) <= len(entries):
        return entries[int(which) - 1]
    found = [entry for entry in entries if entry.name == which] or [
        # A number that is not in the list is no part of a port.
        entry
        for entry in entries
        if which and not is_number and which in entry.name
    ]
    if len(found) != 1:
        known = "; ".join(f"{number} {entry.name}" for number, entry in enumerate(entries, 1))
        many = "several mappings are" if found else "no mapping is"
        raise MappingError(f"{many} {which!r}; there are: {known or 'none'}")
    return found[0]


def _edited(store: MappingStore, entry: Entry | None) -> Version | None:
    """Store what a person made of the mapping in an editor; ``None`` when it was not saved.

    Raises:
        BadInput: it could not be stored, or the editor failed; what was written is kept.
    """
    begun = _beginning(entry)
    handle, name = tempfile.mkstemp(prefix="otel-raglog-mapping-", suffix=".json")
    path = Path(name)
    with open(handle, "w", encoding="utf-8") as made:  # noqa: PTH123  a descriptor
        made.write(begun)
    # A second ago, so that a quick save is told from none also where times are coarse.
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 2))
    before = path.stat().st_mtime_ns
    try:
        _run_editor(path)
        if path.stat().st_mtime_ns == before and path.read_bytes() == begun.encode():
            version = None
        else:
            version = _stored(store, _text_in(path, "what the editor left"), entry)
    except (BadInput, MappingError) as problem:
        kept = _kept(path, begun)
        raise BadInput(f"{problem}; nothing was changed{kept}") from None
    except BaseException:  # interrupted
        sys.stderr.write(f"otel-raglog: nothing was changed{_kept(path, begun)}\n")
        raise
    path.unlink(missing_ok=True)
    return version


def _beginning(entry: Entry | None) -> str:
    """Return the text that is put before a person: the mapping, or an example of one."""
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
    return json.dumps(body, indent=2, ensure_ascii=False) + "\n"


def _run_editor(path: Path) -> None:
    try:
        click.edit(filename=str(path))
    except click.ClickException as error:
        why = error.message
    except ValueError as error:  # quotes that are not closed
        why = f"the editor's name cannot be read: {error}"
    else:
        if path.is_file():
            return
        why = "the editor left no file"
    raise BadInput(f"{why}: $VISUAL or $EDITOR names the editor, and --file takes a file instead")


def _kept(path: Path, begun: str) -> str:
    """Return where a person's text is kept; one that is empty or as it was is not."""
    try:
        text = path.read_bytes()
        if text.strip() and text != begun.encode():
            return f". What you wrote is kept in {path}: mend it there, and give it with --file"
        path.unlink()
    except OSError:
        pass
    return ""


def _text_in(path: Path, called: str = "") -> str:
    """Return the text of a mapping in a file.

    Raises:
        MappingError: there is none.
    """
    called = called or f"--file: {path}"
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        raise MappingError(f"{called} is no UTF-8 text") from None
    except OSError as error:
        raise MappingError(f"{called} cannot be read: {error.strerror or error}") from None
    if not text.strip():
        raise MappingError(f"{called} is empty")
    return text


def _stored(store: MappingStore, text: str, replaces: Entry | None) -> Version:
    """Check and store the JSON of a mapping as a person's own."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise MappingError(f"it is no JSON: {problem}") from None
    if isinstance(data, dict):
        data = {**data, "origin": "user", "created": _now()}
    return store.add(mapping_from(data), replaces=replaces.name if replaces else None)


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
