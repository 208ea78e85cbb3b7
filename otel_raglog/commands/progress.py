"""How far long work has come: a bar on a terminal, plain lines otherwise, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from otel_raglog.commands.tables import plain_console

Told: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""

_LINES = 10
"""Plain lines for each kind of work, at most."""


@contextmanager
def showing_progress() -> Iterator[Told]:
    """Yield what is to be told of progress; a bar goes away when all is done."""
    console = plain_console(stderr=True)
    if not console.is_terminal:
        yield _Lines().tell
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = progress.add_task(what, total=total)
            progress.update(tasks[what], completed=done, total=total)

        yield tell


class _Lines:
    """Writes a line when another tenth of some work is done; nothing for work of a moment."""

    def __init__(self) -> None:
        self._tenths: dict[str, int] = {}

    def tell(self, what: str, done: int, total: int) -> None:
        tenth = done * _LINES // max(1, total)
        if tenth > self._tenths.get(what, 0):
            self._tenths[what] = tenth
            sys.stderr.write(f"{what}: {done} of {total}\n")
