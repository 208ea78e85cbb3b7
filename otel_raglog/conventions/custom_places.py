"""Places of a user's rules to what stands there: attributes, events, and paths in their JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar

import jmespath
from jmespath.parser import ParsedResult

from otel_raglog.conventions.json_text import as_data, looks_cut, parse_json_or_literal
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.conventions.work import WorkReader
from otel_raglog.custom_rules import Place
from otel_raglog.model import (
    NOT_CAPTURED,
    AttributeValue,
    Field,
    FieldStatus,
    Message,
    Span,
    SpanEvent,
    missing,
)

MAX_EVALUATED_CHARS = 4 * 1024 * 1024
"""JSON, in all, in which paths are followed for one span; what is beyond is not looked for."""

MAX_EVENTS = 1_000
"""Events of one name that are read; SDKs keep 128."""

_EVALUATION_ERRORS = (ValueError, TypeError, ArithmeticError, LookupError, AttributeError)
"""What JMESPath's functions raise on values of the wrong type, of which JMESPathError is one."""

_PROJECTIONS = frozenset({"projection", "filter_projection", "value_projection"})

T = TypeVar("T")


def key_of(place: Place) -> str:
    """Return a place as provenance has it: a key, or the name of an event and a key of it."""
    if place.event is None:
        return str(place.attribute)
    return f"{place.event}/{place.attribute or '*'}"


class PlaceReader(WorkReader):
    """Reads what stands at places of one span."""

    def __init__(self, span: Span, convention: str) -> None:
        super().__init__(span, convention)
        self._room = MAX_EVALUATED_CHARS

    def find(self, places: Sequence[Place], convert: Callable[[object], T | None]) -> Field[T]:
        """Return what the first place that says something says, else why nothing is known."""
        empty: Field[T] | None = None
        lost: Field[T] | None = None
        for place in places:
            found = self._at(place, convert)
            if found.usable and found.status is not FieldStatus.EMPTY:
                return found
            if found.status is FieldStatus.EMPTY:
                empty = empty or found
            elif found.status is not FieldStatus.NOT_CAPTURED:
                lost = lost or found
        return empty or lost or NOT_CAPTURED

    def _at(self, place: Place, convert: Callable[[object], T | None]) -> Field[T]:
        source = self.source(key_of(place))
        if place.event is None:
            key = str(place.attribute)
            value = self._attribute(key)
            if value is None:
                return missing(self.absent().status)
            if key in self.redacted:
                return missing(FieldStatus.REDACTED, source)
            cut = key in self.cut
            data, broken = self._follow(place.path, value)
        else:
            cut = False
            data, broken = self._in_events(place.event, place)
        if broken:
            return missing(FieldStatus.TRUNCATED, source)
        converted = None if data is None else _converted(data, convert)
        if converted is None:
            return NOT_CAPTURED
        if _is_hidden(converted):
            return missing(FieldStatus.REDACTED, source)
        status = FieldStatus.TRUNCATED if cut else FieldStatus.PRESENT
        if isinstance(converted, str | tuple) and not converted:
            status = FieldStatus.EMPTY
        return Field(converted, status, source)

    def _attribute(self, key: str) -> AttributeValue:
        """Return an attribute, or the flattened ones below a key (``app.hits.0.text``) as a list."""
        if key in self.attributes:
            return self.attributes[key]
        listed = self.lists.read(key)
        if listed is None:
            return None
        # What was taken apart were attribute values.
        return tuple(dict(item) for item in listed.items)  # type: ignore[arg-type]

    def _in_events(self, name: str, place: Place) -> tuple[object | None, bool]:
        found: list[object] = []
        for event in self._events(name):
            value: AttributeValue = event.attributes
            if place.attribute is not None:
                value = event.attributes.get(place.attribute)
            if value is None:
                continue
            data, broken = self._follow(place.path, value)
            if broken:
                return None, True
            if data is not None:
                found.append(data)
        if found and all(isinstance(data, list) for data in found):
            found = [item for data in found if isinstance(data, list) for item in data]
            return found, False
        return found or None, False

    def _events(self, name: str) -> Iterator[SpanEvent]:
        found = [event for event in self.span.events if event.name == name]
        yield from found[:MAX_EVENTS]

    def _follow(self, path: str | None, value: AttributeValue) -> tuple[object | None, bool]:
        """Return what a path leads to in a value, and whether the value is JSON that was cut."""
        if path is None:
            return as_data(value), False
        data: object | None = None
        if isinstance(value, str):
            self._room -= len(value)
            if self._room < 0:
                return None, False
            data = parse_json_or_literal(value)
            if data is None:
                if looks_cut(value, declared_json=True):
                    return None, True
                data = value
        else:
            data = as_data(value)
            self._room -= _size(data)
            if self._room < 0:
                return None, False
        return _search(path, data), False


@cache
def _expression(path: str) -> ParsedResult:
    return jmespath.compile(path)


def _converted(data: object, convert: Callable[[object], T | None]) -> T | None:
    """Convert a value; what is nested without end is none."""
    try:
        return convert(data)
    except RecursionError:
        return None


def _is_hidden(value: object) -> bool:
    """Tell whether a text, or one of several, is a placeholder."""
    if isinstance(value, str):
        return is_redacted(value)
    if not isinstance(value, tuple):
        return False
    texts = [item.content if isinstance(item, Message) else item for item in value]
    return any(isinstance(text, str) and is_redacted(text) for text in texts)


def _search(path: str, data: object) -> object | None:
    """Follow a path; one that cannot be followed in this data leads to nothing."""
    expression = _expression(path)
    try:
        found: object | None = expression.search(data)
        if found == [] and _passes_over(expression.parsed, data):
            return None
    except (*_EVALUATION_ERRORS, RecursionError):
        return None
    return found


def _passes_over(parsed: Mapping[str, Any], data: object) -> bool:
    """Tell whether a list is empty only because its elements are not what the path expects.

    JMESPath leaves out of a list what it does not find. An empty list says that nothing was
    retrieved: a misspelt key must not say so.
    """
    while parsed["type"] == "pipe":
        parsed = parsed["children"][0]
    if parsed["type"] not in _PROJECTIONS:
        return False
    source, _, *condition = parsed["children"]
    whole = {**parsed, "children": [source, {"type": "identity", "children": []}, *condition]}
    return bool(ParsedResult("", whole).search(data))


def _size(data: object) -> int:
    """Return about as many characters as a value has as JSON."""
    size = 0
    pending = [data]
    while pending:
        value = pending.pop()
        size += 4
        if isinstance(value, str):
            size += len(value)
        elif isinstance(value, Mapping):
            pending.extend(value.values())
            size += sum(map(len, value))
        elif isinstance(value, list):
            pending.extend(value)
    return size
