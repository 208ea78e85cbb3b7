"""The files of a release to the merged lines of each run."""

from __future__ import annotations

import gzip
import json
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from otel_raglog.conventions.json_text import parse_json
from otel_raglog.errors import BadInput
from otel_raglog.lab.raglog_fields import FAULTY_VALUES, JUDGED_STAGES, OK_VALUES, Fields

_SUFFIXES = (".jsonl", ".json", ".ndjson")
_LISTS_IN_JSON = ("runs", "data", "rows", "traces", "labels", "records")
_MOST_KEYS = 12
_MOST_SAID = 3
_LABELS = "labels"

Json = Mapping[str, Any]


@dataclass(slots=True)
class RunLines:
    """All lines of one run, merged, and where the first one stands."""

    where: str
    data: dict[str, Any]


@dataclass(slots=True)
class Release:
    """What the files held: runs, texts of passages by id, and what could not be read.

    ``notes`` are of objects that are no runs.
    """

    runs: dict[str, RunLines] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_release(folder: Path, fields: Fields) -> Release:
    """Return the lines of all files with JSON below ``folder``, gzipped or not, by run.

    Raises:
        BadInput: there are no such files, or no run in them.
    """
    release = Release()
    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder")
    files = [path for path in sorted(folder.rglob("*")) if _is_json(path)]
    if not files:
        raise BadInput(f"{folder} holds no files that end in {', '.join(_SUFFIXES)} (or .gz)")
    for path in files:
        _read_file(path, fields, release)
    strangers: Counter[str] = Counter()
    for key, run in list(release.runs.items()):
        if not _is_run(run.data, fields):
            strangers[run.where.rpartition(", ")[0]] += 1
            del release.runs[key]
            last = run
    if not release.runs:
        raise BadInput(_no_runs(folder, fields, last.data if strangers else None, release.problems))
    release.notes += [
        f"{name}: {count} objects are no runs (they have neither a question nor a stage)"
        for name, count in strangers.items()
    ]
    return release


def _no_runs(
    folder: Path, fields: Fields, example: Mapping[str, Any] | None, problems: list[str]
) -> str:
    if example is None:
        return "; ".join(problems[:_MOST_SAID]) or f"{folder} holds no runs"
    tried = ", ".join((*fields.paths["question"], *fields.paths["stage"]))
    keys = ", ".join(sorted(example)[:_MOST_KEYS])
    return (
        f"{folder} holds no runs: neither a question nor a stage was found (tried {tried}; keys "
        f"there: {keys}): say in a --fields file where they are"
    )


def _is_json(path: Path) -> bool:
    name = path.name.removesuffix(".gz")
    hidden = any(part.startswith(".") for part in path.parts[-2:])
    return path.is_file() and name.endswith(_SUFFIXES) and not hidden


def _is_run(data: Json, fields: Fields) -> bool:
    if fields.find(data, "question") is not None:
        return True
    return any(fields.find(data, "stage", stage) is not None for stage in JUDGED_STAGES)


def _read_file(path: Path, fields: Fields, release: Release) -> None:
    try:
        items = list(_items(path))
    except BadInput as error:
        release.problems.append(str(error))
        return
    for where, item in items:
        if not isinstance(item, Mapping):
            release.problems.append(f"{where}: no JSON object")
            continue
        data = _by_stage(item, fields)
        document = _document(data, fields)
        if document is not None:
            release.documents.setdefault(*document)
            continue
        key = _key(data, fields)
        if key is None:
            tried = ", ".join(fields.paths["id"])
            few = ", ".join(sorted(map(str, item))[:_MOST_KEYS])
            release.problems.append(f"{where}: no id of a run (tried {tried}; keys there: {few})")
        elif key in release.runs:
            _merge(release.runs[key].data, data)
        else:
            release.runs[key] = RunLines(where, data)


def _items(path: Path) -> Iterator[tuple[str, object]]:
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadInput(f"{path} is no UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        raise BadInput(f"cannot read {path}: {error}") from None
    whole = parse_json(text) if path.name.removesuffix(".gz").endswith(".json") else None
    if whole is not None:
        yield from _items_of(path, whole)
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield f"{path}, line {number}", parse_json(line)


def _items_of(path: Path, whole: object) -> Iterator[tuple[str, object]]:
    """Yield the items of a JSON file: a list, a list under a name, or objects by id."""
    if isinstance(whole, Mapping):
        lists = [whole[key] for key in _LISTS_IN_JSON if isinstance(whole.get(key), list)]
        if lists:
            whole = lists[0]
        elif whole and all(isinstance(each, Mapping) for each in whole.values()):
            whole = [{"id": name, **each} for name, each in whole.items()]
        else:
            whole = [whole]
    if isinstance(whole, list):
        for number, item in enumerate(whole, 1):
            yield f"{path}, item {number}", item


def _by_stage(item: Json, fields: Fields) -> dict[str, Any]:
    """Return an object with its lists of stages as mappings, and a line of one stage as that."""
    data: dict[str, Any] = {}
    for key, value in item.items():
        named = fields.stage_named(key)
        if named is not None and _is_label(value, fields):
            _merge(data, {_LABELS: {fields.stages[named][0]: value}})
        else:
            _merge(data, {key: _keyed(value, fields)})
    stage = next(
        (
            stage
            for path in fields.paths["stage_of_line"]
            if isinstance(data.get(path), str) and (stage := fields.stage_named(data[path]))
        ),
        None,
    )
    if stage is None:
        return data
    of_run = {"id", "dataset", "pipeline", "question_id", "question"}
    kept = {path: data[path] for key in of_run for path in fields.paths[key] if path in data}
    return {**kept, fields.stages[stage][0]: {k: v for k, v in data.items() if k not in kept}}


def _is_label(value: object, fields: Fields) -> bool:
    """Tell whether what stands under a stage's name is its label, and not what it did."""
    if isinstance(value, str):
        return value.strip().lower() in (*fields.values[FAULTY_VALUES], *fields.values[OK_VALUES])
    return isinstance(value, bool | int | float)


def _keyed(value: object, fields: Fields) -> object:
    if isinstance(value, str) and value.lstrip()[:1] in {"{", "["}:
        parsed = parse_json(value)
        value = value if parsed is None else parsed
    if not isinstance(value, list) or not value:
        return value
    names = [_stage_name(each, fields) for each in value]
    stages = [fields.stage_named(name) if name is not None else None for name in names]
    if None in stages:
        return value
    keyed: dict[str, Any] = {}
    for stage, each in zip(stages, value, strict=True):
        if stage is not None:
            _merge(keyed, {fields.stages[stage][0]: dict(each)})
    return keyed


def _stage_name(each: object, fields: Fields) -> object | None:
    if not isinstance(each, Mapping):
        return None
    return next((each[k] for k in (*fields.paths["stage_of_line"], "name") if k in each), None)


def _document(data: Json, fields: Fields) -> tuple[str, str] | None:
    """Return id and text of an object that is a passage of a corpus, and no run."""
    if _is_run(data, fields):
        return None
    name, text = fields.find(data, "chunk_id"), fields.find(data, "chunk_text")
    if name is None or text is None or not isinstance(text[0], str):
        return None
    return str(name[0]), text[0]


def _key(data: Json, fields: Fields) -> str | None:
    found = fields.find(data, "id")
    if found is not None:
        return json.dumps(["id", str(found[0])])
    parts = [fields.find(data, key) for key in ("dataset", "pipeline", "question_id")]
    if parts[2] is None:
        return None
    return json.dumps([None if part is None else str(part[0]) for part in parts])


def _merge(into: dict[str, Any], more: Json) -> None:
    """Add what ``into`` lacks; what both have stays as it is."""
    for key, value in more.items():
        mine = into.get(key)
        if isinstance(mine, Mapping) and isinstance(value, Mapping):
            merged = dict(mine)
            _merge(merged, value)
            into[key] = merged
        elif mine is None:
            into[key] = value
