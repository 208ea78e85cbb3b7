"""Run records to their labels: the part that no check may read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from otel_raglog.conventions.json_text import parse_json
from otel_raglog.errors import BadInput
from otel_raglog.model import Stage
from otel_raglog.plain_errors import in_words


@dataclass(frozen=True, slots=True)
class Labels:
    """What is known of one run.

    ``faulty`` has the labelled stages only, ``types`` the fault types of the faulty ones.
    ``injected`` is the stage and the kind of a live injection, ``None`` for a run as it came.
    ``group`` is the question: all runs of a group are kept together.
    """

    run_id: str
    pipeline: str
    group: str
    faulty: Mapping[Stage, bool]
    types: Mapping[Stage, tuple[str, ...]]
    injected: tuple[Stage, str] | None = None

    @property
    def run_faulty(self) -> bool:
        """Whether any labelled stage is faulty."""
        return any(self.faulty.values())


def read_labels(record: Mapping[str, object]) -> Labels | None:
    """Return the labels of a run record (design, section 12), ``None`` when no stage has one.

    ``labels`` and ``injected`` may be JSON in a text, as CSV and parquet files have them. A label
    whose ``faulty`` is ``null`` is none. A record without a group is a group of its own.

    Raises:
        BadInput: a key is wrong; it is named with the record's id.
    """
    try:
        read = _Labelling.model_validate(dict(record))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "record"
        raise BadInput(f"run record {record.get('id')!r}: {key}: {in_words(first)}") from None
    labels = {
        stage: label
        for stage, label in (read.labels or {}).items()
        if label is not None and label.faulty is not None
    }
    if not labels:
        return None
    return Labels(
        run_id=read.id,
        pipeline=read.pipeline or "unknown",
        group=read.group or read.id,
        faulty={stage: bool(label.faulty) for stage, label in labels.items()},
        types={stage: label.types for stage, label in labels.items() if label.faulty},
        injected=None if read.injected is None else (read.injected.stage, read.injected.type),
    )


def read_all_labels(
    records: Sequence[Mapping[str, object]],
) -> tuple[list[Labels | None], list[str]]:
    """Return the labels of each record in order, and a sentence for each that has malformed ones.

    What has no labels, or malformed ones, is ``None``.
    """
    found: list[Labels | None] = []
    problems: list[str] = []
    for record in records:
        labels = None
        try:
            labels = read_labels(record)
        except BadInput as error:
            problems.append(str(error))
        found.append(labels)
    return found, problems


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    data = parse_json(value)
    if data is None:
        return None if value.strip() in {"", "null"} else value
    return data


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, frozen=True)


class _StageLabel(_Part):
    faulty: bool | None = None
    types: tuple[str, ...] = ()


class _Injection(_Part):
    stage: Stage
    type: str = "unknown"


class _Labelling(_Part):
    id: str
    pipeline: str | None = None
    group: str | None = None
    labels: Annotated[dict[Stage, _StageLabel | None] | None, BeforeValidator(_parsed)] = None
    injected: Annotated[_Injection | None, BeforeValidator(_parsed)] = None
