"""The query of a request to checked parameters; what is wrong names the parameter."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from otel_raglog.model import FaultType, RunVerdict, Stage
from otel_raglog.plain_errors import in_words

_NANOS = 1_000_000_000
_LATEST_SECONDS = 253_402_300_799
"""The end of the year 9999."""

_TIME = "must be a time: seconds since 1970, or as in 2026-11-30T08:00:00Z (with its offset)"


class BadParameter(Exception):
    """A parameter of a request is unknown or has a wrong value; the message names it."""

    def __init__(self, parameter: str, message: str) -> None:
        super().__init__(f"parameter {parameter}: {message}")
        self.parameter = parameter


def _unix_nano(value: object) -> int:
    """Return nanoseconds since the epoch."""
    text = str(value).strip()
    try:
        seconds = float(text)
    except ValueError:
        seconds = _of_iso(text)
    if not math.isfinite(seconds) or not 0 <= seconds <= _LATEST_SECONDS:
        raise ValueError(_TIME)
    return int(seconds * _NANOS)


def _of_iso(text: str) -> float:
    try:
        # A plus that was not escaped arrives as a blank.
        time = datetime.fromisoformat(text.replace(" ", "+"))
    except ValueError:
        raise ValueError(_TIME) from None
    if time.tzinfo is None:
        raise ValueError(_TIME)
    return (time - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()


Time = Annotated[int, BeforeValidator(_unix_nano)]


class _Parameters(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NoParameters(_Parameters):
    """A path that takes none."""


class Window(_Parameters):
    """Of which runs: when they were judged, in nanoseconds since the epoch, and of which service."""

    service: str | None = None
    since: Time | None = None
    until: Time | None = None


class RunsQuery(Window):
    """Which runs are listed. ``stage`` is one that is faulty, ``fault_type`` is of it if both are given."""

    verdict: RunVerdict | None = None
    stage: Stage | None = None
    fault_type: FaultType | None = None
    session: str | None = None
    limit: int = Field(50, ge=1, le=500)
    cursor: str | None = None


class SessionQuery(_Parameters):
    """Whose session it is, where several services have one of the same id."""

    service: str | None = None


P = TypeVar("P", bound=_Parameters)


def parse(model: type[P], given: Iterable[tuple[str, str]]) -> P:
    """Return the parameters of a request.

    Raises:
        BadParameter: one is unknown, given twice or wrong.
    """
    values: dict[str, str] = {}
    for name, value in given:
        if name in values:
            raise BadParameter(name, "is given twice")
        values[name] = value
    try:
        return model.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
    name = str(problem["loc"][0])
    raise BadParameter(name, _what_is_wrong(model, name, problem)) from None


def _what_is_wrong(model: type[_Parameters], name: str, problem: Any) -> str:
    if problem["type"] != "extra_forbidden":
        return in_words(problem)
    known = sorted(model.model_fields)
    if not known:
        return "is unknown: this path takes none"
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"is unknown; {hint}known here: {', '.join(known)}"
