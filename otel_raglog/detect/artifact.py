"""A trained detector as a folder: ``manifest.json``, ``serving.npz``, and what training left.

The manifest names the features in order, says per stage the thresholds, the calibration and on how
many runs it was trained, where the training data came from, and the SHA-256 of every file and of
itself. The serving part is arrays of numbers; nothing here can run code. The training files
(skops, CatBoost's own) are read by training alone.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from otel_raglog.checks.registry import measurement_names
from otel_raglog.detect.compiled import CompiledStage, from_arrays, to_arrays
from otel_raglog.detect.features import CLUE_PREFIX, clues_hash
from otel_raglog.detect.policies import Policy
from otel_raglog.errors import ConfigError
from otel_raglog.model import FaultType, Stage

FORMAT = 2
NAME_PATTERN = "[a-z0-9][a-z0-9._-]{0,40}"
"""The names that a detector may have."""

MANIFEST = "manifest.json"
SERVING = "serving.npz"
TRAINING = "training"
"""The folder of what serving does not need: the models as they were fitted."""

_NAMED = 3
_TRAINING_SUFFIXES = frozenset({".skops", ".cbm"})

Share = Annotated[float, Field(ge=0, le=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ExpectedFigures(_Strict):
    """What a threshold did on the training runs, out of fold."""

    precision: Share
    recall: Share
    f1: Share
    false_positive_rate: Share


class StageEntry(_Strict):
    """One trained stage."""

    runs: int
    faulty: int
    calibration: str
    default_type: FaultType
    """Named when the stage is flagged and no typed measurement speaks."""
    thresholds: dict[Policy, Share]
    expected: dict[Policy, ExpectedFigures]


class JudgedBy(_Strict):
    """Whose answers were trained on."""

    model: str
    """The LLM's name, as far as it is known."""
    models: tuple[str, ...]
    """Patterns (``*`` stands for anything) of the names of the LLMs that the detector is used for."""
    provenance: str = ""
    answers: tuple[tuple[str, str, int], ...] = ()
    """Name, SHA-256 and number of answered runs of each file."""


class Escalation(_Strict):
    """When the LLM is worth asking, and what that was learned on."""

    error: Annotated[float, Field(ge=0, le=2)]
    """The probability of a wrong local verdict from which on a stage is uncertain; above 1: never."""
    local: str
    """The kind of local detector that it was learned beside."""
    runs: int
    asked: Share
    """The share of these runs that are uncertain then."""
    f1: Share
    f1_always: Share
    f1_never: Share


class TrainedOn(_Strict):
    """Where the training data came from."""

    files: tuple[tuple[str, str, int], ...] = ()
    """Name, SHA-256 and number of runs of each file."""
    runs: int = 0
    groups: int = 0
    pipelines: tuple[str, ...] = ()
    cross_encoder: str = ""
    """The model whose readings are among the measurements, empty without any."""
    judge: JudgedBy | None = None
    """The LLM whose answers are among the measurements; left out of the file without any."""


class Manifest(_Strict):
    """What ``manifest.json`` holds. ``sha256`` is of all the rest of it, as compact JSON."""

    format: int
    name: Annotated[str, Field(pattern=f"^{NAME_PATTERN}$")]
    version: str
    features: tuple[str, ...]
    clues_sha256: str
    stages: dict[Stage, StageEntry]
    settings: dict[str, Any]
    trained_on: TrainedOn
    libraries: dict[str, str]
    hashes: dict[str, str]
    sha256: str
    escalation: Escalation | None = None
    """Left out of the file where nothing was learned."""

    @property
    def measurements(self) -> tuple[str, ...]:
        """The features that are measured, and no clues of rules-1."""
        return tuple(name for name in self.features if not name.startswith(CLUE_PREFIX))


@dataclass(frozen=True, slots=True)
class Artifact:
    """A trained detector in memory."""

    manifest: Manifest
    stages: Mapping[Stage, CompiledStage] = field(default_factory=dict)


def make_artifact(
    *,
    name: str,
    features: Sequence[str],
    stages: Mapping[Stage, tuple[StageEntry, CompiledStage]],
    settings: Mapping[str, object],
    trained_on: TrainedOn,
    libraries: Mapping[str, str],
    training_files: Mapping[str, bytes],
    escalation: Escalation | None = None,
) -> tuple[Artifact, dict[str, bytes]]:
    """Return a trained detector, and its files by path within its folder.

    The version is the name with the beginning of a hash of all that decides verdicts: the same
    training gives the same version.
    """
    compiled = {stage: each for stage, (_, each) in stages.items()}
    serving = _to_npz({stage.value: each for stage, each in compiled.items()})
    files = {SERVING: serving, **training_files}
    entries = {stage.value: entry.model_dump(mode="json") for stage, (entry, _) in stages.items()}
    body: dict[str, Any] = {
        "format": FORMAT,
        "name": name,
        "features": list(features),
        "clues_sha256": clues_hash(judged=trained_on.judge is not None),
        "stages": entries,
    }
    if escalation is not None:
        body["escalation"] = escalation.model_dump(mode="json")
    decides = _digest(
        {**body, "serving": {stage: _numbers(each) for stage, each in compiled.items()}}
    )
    body |= {
        "version": f"{name}-{decides[:8]}",
        "settings": dict(settings),
        "trained_on": trained_on.model_dump(mode="json", exclude_none=True),
        "libraries": dict(libraries),
        "hashes": {path: hashlib.sha256(content).hexdigest() for path, content in files.items()},
    }
    # What JSON does not have (tuples) must not make a difference to the hash of what is read back.
    body = json.loads(json.dumps(body, allow_nan=False))
    body["sha256"] = _digest(body)
    text = json.dumps(body, indent=1, sort_keys=True, allow_nan=False)
    files[MANIFEST] = f"{text}\n".encode()
    return Artifact(Manifest.model_validate(body), compiled), files


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write an artifact's files to ``folder``, which is made if need be; the manifest comes last.

    Models that an earlier training left there, of stages that are trained no more, are removed.
    """
    for stale in (folder / TRAINING).glob("*.*"):
        if f"{TRAINING}/{stale.name}" not in files and stale.suffix in _TRAINING_SUFFIXES:
            stale.unlink()
    for path, content in sorted(files.items(), key=lambda item: item[0] == MANIFEST):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def load_artifact(folder: Path) -> Artifact:
    """Return the trained detector in ``folder``.

    Raises:
        ConfigError: it is none, it is damaged or was changed by hand, it is of another format, or
            it was trained with other constants of rules-1 than this version has, or on
            measurements that this version does not make.
    """
    manifest = read_manifest(folder)
    serving = read_checked(folder, manifest, SERVING)
    reads_clues = len(manifest.measurements) < len(manifest.features)
    judged = manifest.trained_on.judge is not None
    if manifest.clues_sha256 != clues_hash(judged=judged) and reads_clues:
        raise ConfigError(
            f"detector {folder}: trained with other clues of rules-1 than this version has; "
            "train it again (otel-raglog train)"
        )
    known = measurement_names()
    if unknown := [name for name in manifest.measurements if name not in known]:
        raise ConfigError(
            f"detector {folder}: it reads {', '.join(unknown[:_NAMED])}, which this version does not "
            "measure; train it again (otel-raglog train)"
        )
    try:
        stages = _from_npz(serving, manifest)
    except (ValueError, LookupError, TypeError, OSError, zipfile.BadZipFile) as error:
        raise ConfigError(f"detector {folder}: {SERVING} is malformed: {error}") from None
    return Artifact(manifest, stages)


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of the detector in ``folder``, its own hash checked.

    Raises:
        ConfigError: see :func:`load_artifact`.
    """
    path = folder / MANIFEST
    try:
        body = json.loads(path.read_text("utf-8"), parse_constant=_refuse_constant)
    except OSError as error:
        raise ConfigError(
            f"detector {folder}: cannot read {MANIFEST}: {error.strerror}; a detector is a folder "
            "that otel-raglog train wrote"
        ) from None
    except ValueError:
        raise ConfigError(f"detector {folder}: {MANIFEST} is no JSON") from None
    if not isinstance(body, dict) or body.get("format") != FORMAT:
        found = body.get("format") if isinstance(body, dict) else None
        raise ConfigError(
            f"detector {folder}: {MANIFEST} has format {found!r}; this version reads {FORMAT}"
        )
    rest = {key: value for key, value in body.items() if key != "sha256"}
    if body.get("sha256") != _digest(rest):
        raise ConfigError(
            f"detector {folder}: {MANIFEST} was changed after training; to set thresholds of your "
            "own, use analysis.thresholds"
        )
    try:
        return Manifest.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"detector {folder}: {MANIFEST}: {where}: {first['msg']}") from None


def read_checked(folder: Path, manifest: Manifest, name: str) -> bytes:
    """Return the content of one of the detector's files, its hash checked.

    Raises:
        ConfigError: the file is missing, or not the one that training wrote.
    """
    try:
        content = (folder / name).read_bytes()
    except OSError as error:
        raise ConfigError(f"detector {folder}: cannot read {name}: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != manifest.hashes.get(name):
        raise ConfigError(f"detector {folder}: {name} is not the file that training wrote")
    return content


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _digest(body: Mapping[str, object]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _numbers(compiled: CompiledStage) -> str:
    """Return the SHA-256 of the models' numbers, however a library packs them into a file."""
    found = hashlib.sha256()
    for name, array in sorted(to_arrays(compiled).items()):
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _to_npz(stages: Mapping[str, CompiledStage]) -> bytes:
    arrays = {
        f"{stage}/{name}": array
        for stage, compiled in stages.items()
        for name, array in to_arrays(compiled).items()
    }
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def _from_npz(content: bytes, manifest: Manifest) -> dict[Stage, CompiledStage]:
    by_stage: dict[str, dict[str, npt.NDArray[np.generic]]] = {}
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        for key in arrays.files:
            stage, _, name = key.partition("/")
            by_stage.setdefault(stage, {})[name] = arrays[key]
    found = {Stage(stage): from_arrays(parts) for stage, parts in by_stage.items()}
    if found.keys() != manifest.stages.keys():
        raise ValueError("other stages than the manifest names")
    for compiled in found.values():
        if ((compiled.columns < 0) | (compiled.columns >= len(manifest.features))).any():
            raise ValueError("features that the manifest does not name")
    return found
