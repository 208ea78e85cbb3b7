"""The keys of a run record (design, section 12) with their types, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from otel_raglog.conventions.json_text import parse_json
from otel_raglog.errors import BadInput


def _parsed(value: Any) -> Any:
    """Read JSON in a text column, as CSV and parquet files have it."""
    if isinstance(value, str):
        data = parse_json(value)
        return value if data is None else data
    return value


def _as_list(value: Any) -> Any:
    value = _parsed(value)
    return [value] if isinstance(value, str) else value


def _as_documents(value: Any) -> Any:
    value = _parsed(value)
    if not isinstance(value, list):
        return value
    return [{"id": item} if isinstance(item, str | int) else item for item in value]


def _as_turns(value: Any) -> Any:
    value = _parsed(value)
    if not isinstance(value, list):
        return value
    return [
        (item.get("role"), item.get("content")) if isinstance(item, Mapping) else item
        for item in value
    ]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, frozen=True)

    def has(self, key: str) -> bool:
        """Tell whether a key was recorded, be it as ``null``."""
        return key in self.model_fields_set


class Document(_Part):
    """A retrieved, reranked or passed chunk; only the id when it is named elsewhere."""

    id: str | None = None
    text: str | None = None
    score: float | None = None
    title: str | None = None
    metadata: dict[str, Any] | None = None


Texts: TypeAlias = Annotated[list[str] | None, BeforeValidator(_as_list)]
Documents: TypeAlias = Annotated[list[Document] | None, BeforeValidator(_as_documents)]
Turns: TypeAlias = Annotated[list[tuple[str, str]] | None, BeforeValidator(_as_turns)]


class Tokens(_Part):
    """Tokens of the answering call."""

    prompt: int | None = None
    completion: int | None = None
    total: int | None = None


class StepFields(_Part):
    """One entry of ``steps``: a hop, or one of several embeddings or rerankings."""

    stage: str
    query: str | None = None
    input: str | None = None
    rewrites: Texts = None
    texts: Texts = None
    chunks: Documents = None
    candidates: Documents = None
    selected: Documents = None
    filters: Any = None
    top_k: int | None = None
    model: str | None = None


class RecordFields(_Part):
    """A run record. Keys for training and scoring (labels, reference) are not even declared."""

    id: str
    pipeline: str | None = None
    session: str | None = None
    turn: int | None = None
    question: str | None = None
    history: Turns = None
    rewrites: Texts = None
    embedder_input: Texts = None
    embedder_model: str | None = None
    retrieved: Documents = None
    top_k: int | None = None
    reranked: Documents = None
    passed: Documents = None
    system_prompt: str | None = None
    prompt: str | None = None
    answer: str | None = None
    finish_reason: str | None = None
    tokens: Annotated[Tokens | None, BeforeValidator(_parsed)] = None
    model: str | None = None
    steps: Annotated[list[StepFields] | None, BeforeValidator(_parsed)] = None


def read_fields(record: Mapping[str, object]) -> RecordFields:
    """Return the checked fields of a record.

    Raises :class:`BadInput`, which names the record's id and the key that is wrong.
    """
    try:
        return RecordFields.model_validate(dict(record))
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "record"
        name = record.get("id")
        named = f"run record {name!r}" if name is not None else "run record without an id"
        raise BadInput(f"{named}: {key}: {first['msg']}") from None
    except RecursionError:
        raise BadInput(f"run record {record.get('id')!r}: nested too deeply") from None
