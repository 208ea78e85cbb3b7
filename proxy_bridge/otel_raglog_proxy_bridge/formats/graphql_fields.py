"""The text of a GraphQL query to its fields and their arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from otel_raglog_proxy_bridge.formats.fields import Json

_TOKEN = re.compile(
    r'"""(?P<block>(?:[^"]|"(?!""))*)"""'
    r'|(?P<string>"(?:\\.|[^"\\])*")'
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<mark>\.\.\.|[{}()\[\]:$@!=|&])"
    r"|#[^\n]*"
)
_DEEPEST = 40


class _MalformedError(Exception):
    """The text is no GraphQL, or is nested too deeply."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a query; ``alias`` is the key of its value in the answer."""

    name: str
    alias: str
    arguments: Json = field(default_factory=dict)
    fields: tuple[Field, ...] = ()

    def named(self, name: str) -> Iterator[Field]:
        """Yield the fields directly below that have this name."""
        return (each for each in self.fields if each.name == name)


def fields_of(query: str, variables: Json) -> tuple[Field, ...]:
    """Return the top fields of the first operation in ``query``, none if it cannot be read.

    Enum values are texts, variables are replaced. Fragments and directives are left out.
    """
    reader = _Reader(list(_tokens(query)), variables)
    try:
        return reader.operation()
    except _MalformedError:
        return ()


def _tokens(query: str) -> Iterator[tuple[str, object]]:
    for found in _TOKEN.finditer(query):
        kind, written = found.lastgroup, found.group()
        if kind == "string":
            try:
                yield "value", json.loads(written, strict=False)
            except ValueError:
                yield "value", written[1:-1]
        elif kind == "block":
            yield "value", found.group("block")
        elif kind == "number":
            yield "value", _number(written)
        elif kind is not None:
            yield kind, written


def _number(written: str) -> int | float:
    try:
        return int(written)
    except ValueError:
        return float(written)


class _Reader:
    """Reads tokens from the left to the right, once."""

    def __init__(self, tokens: list[tuple[str, object]], variables: Json) -> None:
        self._tokens = tokens
        self._variables = variables
        self._next = 0

    def operation(self) -> tuple[Field, ...]:
        while self._peek() != ("mark", "{"):
            token = self._take()
            if token == ("mark", "("):
                self._skip_to(")")
        return self._selection(0)

    def _selection(self, depth: int) -> tuple[Field, ...]:
        self._go_in(depth)
        self._expect("{")
        found: list[Field] = []
        while self._peek() != ("mark", "}"):
            if self._peek() == ("mark", "..."):
                found.extend(self._spread(depth))
            else:
                found.append(self._field(depth))
        self._take()
        return tuple(found)

    def _field(self, depth: int) -> Field:
        alias = name = self._name()
        if self._skipped(":"):
            name = self._name()
        arguments = self._arguments(depth) if self._skipped("(") else {}
        self._directives()
        fields = self._selection(depth + 1) if self._peek() == ("mark", "{") else ()
        return Field(name, alias, arguments, fields)

    def _spread(self, depth: int) -> tuple[Field, ...]:
        """Read ``... on Type { fields }``, or the name of a fragment, which is left out."""
        self._take()
        while self._peek()[0] == "name":
            name = self._take()[1]
            if name != "on":
                break
        self._directives()
        return self._selection(depth + 1) if self._peek() == ("mark", "{") else ()

    def _directives(self) -> None:
        while self._skipped("@"):
            self._name()
            if self._skipped("("):
                self._skip_to(")")

    def _arguments(self, depth: int, end: str = ")") -> Json:
        found: dict[str, object] = {}
        while not self._skipped(end):
            name = self._name()
            self._expect(":")
            found[name] = self._value(depth + 1)
        return found

    def _value(self, depth: int) -> object:
        self._go_in(depth)
        kind, value = self._take()
        if kind == "name":
            return {"true": True, "false": False, "null": None}.get(str(value), value)
        if kind == "value":
            return value
        if value == "$":
            return self._variables.get(self._name())
        if value == "{":
            return self._arguments(depth, "}")
        if value != "[":
            raise _MalformedError
        found = []
        while not self._skipped("]"):
            found.append(self._value(depth + 1))
        return found

    def _skip_to(self, end: str) -> None:
        while self._take() != ("mark", end):
            pass

    def _skipped(self, mark: str) -> bool:
        there = self._peek() == ("mark", mark)
        self._next += there
        return there

    def _expect(self, mark: str) -> None:
        if not self._skipped(mark):
            raise _MalformedError

    def _name(self) -> str:
        kind, value = self._take()
        if kind != "name":
            raise _MalformedError
        return str(value)

    def _peek(self) -> tuple[str, object]:
        if self._next >= len(self._tokens):
            raise _MalformedError
        return self._tokens[self._next]

    def _take(self) -> tuple[str, object]:
        token = self._peek()
        self._next += 1
        return token

    def _go_in(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise _MalformedError
