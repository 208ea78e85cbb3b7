"""Fitted models to files: the same model gives the same bytes, so that training is repeatable."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import skops.io

if TYPE_CHECKING:
    from catboost import CatBoostClassifier

_SCHEMA = "schema.json"
_OF_THE_MOMENT = ("train_finish_time", "model_guid")


def skops_bytes(model: object) -> bytes:
    """Return a scikit-learn model in skops' format.

    skops names parts by where they lie in memory, and a zip file holds the time: here parts are
    numbered in order, and the time is that of the zip format's beginning.
    """
    written = zipfile.ZipFile(io.BytesIO(skops.io.dumps(model)))
    numbers: dict[str, int] = {}
    schema = _numbered(json.loads(written.read(_SCHEMA)), numbers)
    content = {
        _numbered_file(name, numbers): written.read(name)
        for name in written.namelist()
        if name != _SCHEMA
    }
    content[_SCHEMA] = json.dumps(schema, indent=2).encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for name in sorted(content):
            target.writestr(zipfile.ZipInfo(name), content[name], zipfile.ZIP_DEFLATED)
    return out.getvalue()


def catboost_bytes(model: CatBoostClassifier) -> bytes:
    """Return a CatBoost model in CatBoost's own format, without the time and a random id."""
    metadata = model.get_metadata()
    for key in _OF_THE_MOMENT:
        metadata[key] = ""
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "model.cbm"
        model.save_model(str(path))
        return path.read_bytes()


def _numbered(node: Any, numbers: dict[str, int]) -> Any:
    if isinstance(node, list):
        return [_numbered(each, numbers) for each in node]
    if not isinstance(node, dict):
        return node
    found: dict[str, Any] = {}
    for key, value in node.items():
        if key == "__id__":
            found[key] = _number(str(value), numbers)
        elif key == "file" and isinstance(value, str):
            found[key] = _numbered_file(value, numbers)
        else:
            found[key] = _numbered(value, numbers)
    return found


def _numbered_file(name: str, numbers: dict[str, int]) -> str:
    path = PurePosixPath(name)
    return f"{_number(path.stem, numbers)}{path.suffix}"


def _number(key: str, numbers: dict[str, int]) -> int:
    return numbers.setdefault(key, len(numbers))
