"""Run records to a file of labelled ones that an interrupted call goes on with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from otel_raglog.errors import BadInput, Unavailable
from otel_raglog.lab.judges.panel import Panel
from otel_raglog.lab.records import RecordFile, read_records

_MOST_FAILURES = 5


def label_all(
    records: Sequence[Mapping[str, Any]],
    panel: Panel,
    out: Path,
    *,
    parallel: int,
    tell: Callable[[str, int, int], None],
) -> list[str]:
    """Label ``records``, in order, into ``out``; return a sentence for each that cannot be read.

    What ``out`` holds is not asked again, except runs of which a judge failed: these are asked anew.

    Raises:
        Rejected: a provider refuses key, account or model.
        Unavailable: a judge failed for five runs in a row. What was labelled before is kept.
    """
    known = _finished(out)
    todo = [record for record in records if str(record.get("id")) not in known]
    file = RecordFile(out)
    problems: list[str] = []
    failures = 0
    for number, labelled in enumerate(_labelled(todo, panel, parallel), len(known) + 1):
        if isinstance(labelled, BadInput):
            problems.append(str(labelled))
        else:
            file.append(labelled)
            failed = failures_of(labelled)
            failures = failures + 1 if failed else 0
            if failures == _MOST_FAILURES:
                raise Unavailable(f"{failures} runs in a row failed: {'; '.join(failed)}")
        tell("Labelling", number, len(known) + len(todo))
    return problems


def failures_of(record: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each judge that failed with a labelled record."""
    by = record.get("labelled_by") or {}
    asked = [*by.get("judges", ()), *([by["adjudicator"]] if "adjudicator" in by else [])]
    return [f"{each['judge']}: {each['failed']}" for each in asked if each.get("failed")]


def _labelled(
    todo: Sequence[Mapping[str, Any]], panel: Panel, parallel: int
) -> Iterator[dict[str, Any] | BadInput]:
    def label(record: Mapping[str, Any]) -> dict[str, Any] | BadInput:
        try:
            return panel.label(record)
        except BadInput as error:
            return error

    with ThreadPoolExecutor(max_workers=parallel) as pool:
        try:
            yield from pool.map(label, todo)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _finished(out: Path) -> set[str]:
    """Return the ids of what ``out`` holds, after taking out runs of which a judge failed."""
    there = list(read_records(out))
    kept = [record for record in there if not failures_of(record)]
    if len(kept) < len(there):
        beside = out.with_name(f".{out.name}.kept")
        beside.unlink(missing_ok=True)
        file = RecordFile(beside)
        for record in kept:
            file.append(record)
        beside.touch()
        beside.replace(out)
    return {str(record["id"]) for record in kept}
