"""JSON values to the fields of protobuf messages, as strict as OTLP/JSON is.

Ids are hex in either case, 64-bit integers are numbers or strings, enums are integers only, keys
are lowerCamelCase only, and unknown keys are ignored
(https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding).
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from google.protobuf.message import Message

from otel_raglog.errors import BadInput

Read: TypeAlias = Callable[[Message, str, object, int], None]
"""Sets a message's field, given its name, the JSON value and the levels that may be nested."""

Convert: TypeAlias = Callable[[object], object]
"""Turns a JSON value into a single value of a field."""

Table: TypeAlias = Mapping[str, tuple[str, Read]]
"""JSON key to field name and how to read it."""

_NO_ID = b"\xff"
"""Stands for an id that is no hex: too short for any id, so the span will be refused."""
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")


class WrongValue(BadInput):
    """A value that does not fit; collects the path to it on its way up."""

    def __init__(self, expected: str, value: object) -> None:
        super().__init__()
        self._expected = expected
        self._found = _NAMES_OF_TYPES.get(type(value), type(value).__name__)
        self._path: list[str] = []

    def inside(self, step: str) -> WrongValue:
        """Return this error, with ``step`` before its path."""
        self._path.insert(0, step)
        return self

    def __str__(self) -> str:
        path = "".join(self._path).removeprefix(".") or "the request"
        return f"{path}: expected {self._expected}, found {self._found}"


_NAMES_OF_TYPES: Mapping[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
    type(None): "null",
}

# ------------------------------------------------------------------------- messages


def fill(message: Message, data: object, table: Table, levels: int) -> None:
    """Set the fields of ``message`` that ``table`` knows; values may be nested ``levels`` deep.

    Raises:
        WrongValue: something does not fit; the message says what and where.
    """
    if not isinstance(data, dict):
        raise WrongValue("an object", data)
    for key, (name, read) in table.items():
        value = data.get(key)
        if value is not None:
            try:
                read(message, name, value, levels)
            except WrongValue as error:
                raise error.inside(f".{key}") from None


def one(table: Table) -> Read:
    """Read an object into a message of one field."""

    def read(message: Message, name: str, value: object, levels: int) -> None:
        inner = getattr(message, name)
        inner.SetInParent()
        fill(inner, value, table, levels)

    return read


def many(table: Table) -> Read:
    """Read an array of objects into a repeated field; null stands for an empty message."""

    def read(message: Message, name: str, value: object, levels: int) -> None:
        if not isinstance(value, list):
            raise WrongValue("an array", value)
        for index, item in enumerate(value):
            try:
                fill(getattr(message, name).add(), {} if item is None else item, table, levels)
            except WrongValue as error:
                raise error.inside(f"[{index}]") from None

    return read


def nested(table: Table) -> Read:
    """Read an array or a map of values, one level further down."""
    read_one = one(table)

    def read(message: Message, name: str, value: object, levels: int) -> None:
        if levels == 0:
            raise WrongValue("a value that is not nested so deep", value)
        read_one(message, name, value, levels - 1)

    return read


def scalar(convert: Convert) -> Read:
    """Read a single value."""

    def read(message: Message, name: str, value: object, _levels: int) -> None:
        setattr(message, name, convert(value))

    return read


def list_of(convert: Convert) -> Read:
    """Read an array of single values."""

    def read(message: Message, name: str, value: object, _levels: int) -> None:
        if not isinstance(value, list):
            raise WrongValue("an array", value)
        getattr(message, name).extend([convert(item) for item in value])

    return read


# -------------------------------------------------------------------------- scalars


def text(value: object) -> bytes:
    """Return a string's UTF-8."""
    if not isinstance(value, str):
        raise WrongValue("a string", value)
    return value.encode("utf-8", "replace")


def hex_id(value: object) -> bytes:
    """Return the bytes of an id; of one that is no hex, bytes too few for any id."""
    if not isinstance(value, str):
        raise WrongValue("a hex string", value)
    try:
        return binascii.unhexlify(value)
    except ValueError:
        return _NO_ID


def valid_hex_id(value: object) -> bytes:
    """Return the bytes of an id where a wrong one cannot be refused alone."""
    found = hex_id(value)
    if found == _NO_ID:
        raise WrongValue("a hex string", value)
    return found


def base64_bytes(value: object) -> bytes:
    """Return the bytes of a base64 string of either alphabet."""
    if not isinstance(value, str):
        raise WrongValue("a base64 string", value)
    standard = value.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except ValueError:
        raise WrongValue("a base64 string", value) from None


def boolean(value: object) -> bool:
    """Return a boolean as it is."""
    if not isinstance(value, bool):
        raise WrongValue("a boolean", value)
    return value


def double(value: object) -> float:
    """Return a number, also from a string, which may be ``NaN`` or ``Infinity``."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise WrongValue("a number", value)
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise WrongValue("a number", value) from None


def integer(expected: str, low: int, high: int, *, as_string: bool = True) -> Convert:
    """Read an integer in [low, high]; as numbers, and as strings of digits if ``as_string``."""

    def convert(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise WrongValue(expected, value)
        if isinstance(value, str):
            integral = as_string and _INTEGER.fullmatch(value) is not None
        else:
            integral = isinstance(value, int) or value.is_integer()
        if not integral or not low <= int(value) <= high:
            raise WrongValue(expected, value)
        return int(value)

    return convert


read_uint64 = integer("an unsigned integer of 64 bits", 0, (1 << 64) - 1)

STRING = scalar(text)
ID = scalar(hex_id)
VALID_ID = scalar(valid_hex_id)
BOOL = scalar(boolean)
DOUBLE = scalar(double)
INT32 = scalar(integer("an integer of 32 bits", -(1 << 31), (1 << 31) - 1))
INT64 = scalar(integer("an integer of 64 bits", -(1 << 63), (1 << 63) - 1))
UINT64 = scalar(read_uint64)
TIME = scalar(integer("nanoseconds as an integer", 0, (1 << 64) - 1))
COUNT = scalar(integer("an unsigned integer of 32 bits", 0, (1 << 32) - 1))
ENUM = scalar(integer("an enum's integer", -(1 << 31), (1 << 31) - 1, as_string=False))
