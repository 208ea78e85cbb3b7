"""How calls of one operation are told and read, as a value and as the JSON that people may edit."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

from otel_raglog_proxy_bridge.expressions import (
    MappingError,
    check_expression,
    data_of,
    found_by,
)
from otel_raglog_proxy_bridge.mapped_reading import (
    FIELDS,
    REQUIRED,
    answers,
    asks,
    lacks,
    reading_of,
)
from otel_raglog_proxy_bridge.model import CallStage, Exchange, Reading
from otel_raglog_proxy_bridge.path_templates import (
    host_matches,
    host_of,
    is_place,
    path_matches,
    template_of,
)

__all__ = ["CallMapping", "MappingError", "Match", "Origin", "mapping_from"]

T = TypeVar("T", bound=StrEnum)

_KEYS = ("stage", "match", "expressions", "origin", "created", "reason")
_MATCH_KEYS = ("method", "host", "path")
_MOST_REASON = 300


class Origin(StrEnum):
    """Who wrote a mapping: the structural rules, an LLM, or a person."""

    STRUCTURE = "structure"
    LLM = "llm"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Match:
    """Which calls a mapping is for.

    ``host`` may hold ``*`` and may end with a port; ``path`` is a template in which ``{id}`` (any
    name in braces) stands for one segment. ``str`` of it is the mapping's name.
    """

    method: str
    host: str
    path: str

    def __str__(self) -> str:
        return f"{self.method} {self.host}{self.path}"

    @classmethod
    def of(cls, exchange: Exchange) -> Match:
        """Return what matches ``exchange`` and others of its operation."""
        return cls(exchange.call.method.upper(), host_of(exchange), template_of(exchange.segments))

    def matches(self, exchange: Exchange) -> bool:
        """Tell whether ``exchange`` is one of these calls."""
        return (
            self.method == exchange.call.method.upper()
            and path_matches(self.path, exchange.segments)
            and host_matches(self.host, exchange)
        )

    @property
    def breadth(self) -> int:
        """How much it leaves open: of two that match, the one with less is meant."""
        return 10 * self.host.count("*") + sum(map(is_place, self.path.split("/")))


@dataclass(frozen=True, slots=True)
class CallMapping:
    """Which stage some calls are of, and where each field of its reading is found.

    ``expressions`` are JMESPath by field (:data:`~.mapped_reading.FIELDS`) over what
    :func:`~.expressions.data_of` returns. ``created`` is an ISO time, empty until it is stored.
    """

    stage: CallStage
    match: Match
    expressions: Mapping[str, str] = field(default_factory=dict)
    origin: Origin = Origin.USER
    created: str = ""
    reason: str = ""

    @property
    def name(self) -> str:
        """What people call it."""
        return str(self.match)

    def found(self, exchange: Exchange) -> dict[str, object]:
        """Return what each expression finds in ``exchange``."""
        data = data_of(exchange)
        return {key: found_by(each, data) for key, each in self.expressions.items()}

    def read(self, exchange: Exchange) -> Reading | None:
        """Return the stage's reading; ``None`` for an irrelevant call. Never raises."""
        if self.stage is CallStage.IRRELEVANT:
            return None
        return reading_of(self.stage, self.found(exchange))

    def fits(self, exchange: Exchange) -> bool:
        """Tell whether ``exchange`` is a call that this mapping can mean.

        One address may serve several operations, so the request must ask for what the stage does,
        and an answer without error must have its place. What a person wrote is always meant.
        """
        if not self.match.matches(exchange):
            return False
        if self.origin is Origin.USER or self.stage is CallStage.IRRELEVANT:
            return True
        found = self.found(exchange)
        has_answer = exchange.ok and "response" not in exchange.call.cut
        return asks(self.stage, found) and (not has_answer or answers(self.stage, found))

    def lacks(self, exchange: Exchange) -> str | None:
        """Return what the mapping does not find in a finished call, ``None`` when it finds all."""
        if self.stage is CallStage.IRRELEVANT:
            return None
        found = self.found(exchange)
        return lacks(self.stage, reading_of(self.stage, found), found)

    def as_json(self) -> dict[str, object]:
        """Return the JSON that :func:`mapping_from` reads."""
        match = self.match
        return {
            "stage": self.stage.value,
            "match": {"method": match.method, "host": match.host, "path": match.path},
            "expressions": dict(self.expressions),
            "origin": self.origin.value,
            "created": self.created,
            "reason": self.reason,
        }


def mapping_from(data: object) -> CallMapping:
    """Return the mapping that JSON data describes.

    Raises:
        MappingError: a key is unknown, missing or wrong; the message names it, and the nearest.
    """
    body = _object(data, "the mapping", _KEYS)
    stage = _one_of(CallStage, body.get("stage"), "stage")
    origin = _one_of(Origin, body.get("origin", Origin.USER.value), "origin")
    return CallMapping(
        stage=stage,
        match=_match(body.get("match")),
        expressions=_expressions(body.get("expressions", {}), stage, trusted=origin is Origin.USER),
        origin=origin,
        created=_time(body.get("created", "")),
        reason=_text(body.get("reason", ""), "reason", most=_MOST_REASON, empty=True),
    )


def _match(data: object) -> Match:
    body = _object(data, "match", _MATCH_KEYS)
    method, host, path = (_text(body.get(key), f"match.{key}") for key in _MATCH_KEYS)
    if not method.isalpha():
        raise MappingError(f"match.method: {method!r} is no HTTP method")
    if "/" in host or " " in host:
        raise MappingError(f"match.host: {host!r} is no host: leave out scheme and path")
    if not path.startswith("/") or "?" in path or "*" in path:
        raise MappingError(
            f"match.path: {path!r} is no template: it begins with / and has neither ? nor *; "
            "{id} stands for any one segment"
        )
    return Match(method.upper(), host.lower(), path if path == "/" else path.rstrip("/"))


def _expressions(data: object, stage: CallStage, *, trusted: bool) -> dict[str, str]:
    known = FIELDS[stage]
    body = _object(data, "expressions", known, of=f" of a stage {stage.value}")
    expressions = {}
    for key, value in body.items():
        place = f"expressions.{key}"
        if value is None or value == "":
            continue
        try:
            expressions[key] = _text(value, place).strip()
            check_expression(expressions[key], trusted=trusted)
        except MappingError as problem:
            message = str(problem)
            raise MappingError(
                message if message.startswith(place) else f"{place}: {message}"
            ) from None
    for group in REQUIRED[stage]:
        if not any(key in expressions for key in group):
            raise MappingError(
                f"expressions: a mapping of stage {stage.value} needs {' or '.join(group)}"
            )
    return expressions


def _object(
    data: object, place: str, known: Collection[str], *, of: str = ""
) -> Mapping[str, object]:
    if not isinstance(data, Mapping):
        missing = "is missing" if data is None else f"is {type(data).__name__}"
        raise MappingError(f"{place} {missing}, not an object")
    for key in data:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}? " if near else ""
            listed = ", ".join(known) or "none"
            raise MappingError(f"{place}: unknown key {key!r}{of}: {hint}known here: {listed}")
    return data


def _one_of(kind: type[T], value: object, place: str) -> T:
    known = [member.value for member in kind]
    if value is None:
        raise MappingError(f"{place} is missing: one of {', '.join(known)}")
    if value not in known:
        near = difflib.get_close_matches(str(value), known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise MappingError(f"{place}: {value!r} is unknown: {hint}known: {', '.join(known)}")
    return kind(value)


def _text(value: object, place: str, *, most: int = 2_000, empty: bool = False) -> str:
    if not isinstance(value, str):
        wrong = "is missing" if value is None else f"is {type(value).__name__}"
        raise MappingError(f"{place} {wrong}, not a text")
    if not value and not empty:
        raise MappingError(f"{place} is empty")
    if len(value) > most:
        raise MappingError(f"{place} is longer than {most} characters")
    return value


def _time(value: object) -> str:
    told = _text(value, "created", empty=True)
    try:
        if told:
            datetime.fromisoformat(told)
    except ValueError:
        raise MappingError(f"created: {told!r} is no ISO time") from None
    return told
