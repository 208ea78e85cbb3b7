"""Flattened attributes (``prefix.0.suffix``) to lists of items, with the holes they have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from otel_raglog.conventions.json_text import MAX_DEPTH, parse_json_or_literal
from otel_raglog.conventions.remembered import Remembered
from otel_raglog.model import AttributeValue

Item = Mapping[str, object]

_INDEXED = re.compile(r"(.+?)\.([0-9]{1,6})\.(.+)")
_OBJECTS = frozenset({"message", "document", "embedding", "prompt", "completion"})
"""Names of the objects in lists: a value of this name is a whole one."""
_MAY_BEGIN_LATE: frozenset[str] = frozenset({"llm.input_messages"})


class _Parts(NamedTuple):
    """A flattened key at its first index."""

    prefix: str
    position: int
    suffix: str


@dataclass(frozen=True, slots=True)
class ListAttribute:
    """A list-valued attribute.

    ``items`` map suffixes (``document.id``) to values, in index order. ``gaps`` tells that
    indices are missing: attributes were evicted. ``cut`` tells that the list came as a JSON
    string that no longer parses. ``indices`` are those of the items, where these were flattened.
    """

    key: str
    items: tuple[Item, ...]
    gaps: bool = False
    cut: bool = False
    indices: tuple[int, ...] = ()


class ListAttributes:
    """The list-valued attributes of one span, grouped in one pass.

    Of a span that dropped nothing (``whole``) a prompt that begins at index 1 has no hole: the
    OpenAI Agents SDK's instrumentor leaves the first place to instructions, if there are any.
    """

    def __init__(self, attributes: Mapping[str, AttributeValue], *, whole: bool = False) -> None:
        self._attributes = attributes
        self._late = _MAY_BEGIN_LATE if whole else frozenset()
        self._indexed: dict[str, dict[int, dict[str, object]]] = {}
        for key, value in attributes.items():
            parts = _PARTS[key]
            if parts is None:
                continue
            prefix, position, suffix = parts
            items = self._indexed.get(prefix)
            if items is None:
                items = self._indexed[prefix] = {}
            item = items.get(position)
            if item is None:
                items[position] = {suffix: value}
            else:
                item[suffix] = value

    def read(self, prefix: str) -> ListAttribute | None:
        """Return the list under ``prefix``, flattened or as one value; ``None`` without any."""
        indexed = self._indexed.get(prefix)
        if indexed:
            indices = sorted(indexed)
            return ListAttribute(
                key=prefix,
                items=tuple(_opened(indexed[index]) for index in indices),
                gaps=self._has_holes(prefix, indexed),
                indices=tuple(indices),
            )
        if prefix not in self._attributes:
            return None
        return _read_whole(prefix, self._attributes[prefix])

    def gaps(self) -> tuple[str, ...]:
        """Return the prefixes whose indices have holes, sorted."""
        if not self._indexed:
            return ()
        return tuple(
            sorted(
                prefix for prefix, items in self._indexed.items() if self._has_holes(prefix, items)
            )
        )

    def _has_holes(self, prefix: str, items: Mapping[int, object]) -> bool:
        late = prefix in self._late and 0 not in items
        return max(items) != len(items) - (0 if late else 1)


def flatten(value: object) -> dict[str, object]:
    """Return nested JSON data as dotted keys; list positions become indices.

    Lists are kept under their own key too, so that a list of numbers stays one value.
    """
    flat: dict[str, object] = {}
    pending: list[tuple[str, object, int]] = [("", value, 0)]
    while pending:
        path, item, depth = pending.pop()
        if isinstance(item, Mapping) and depth <= MAX_DEPTH:
            if path:
                flat[path] = item
            pending.extend(
                (f"{path}.{key}" if path else str(key), inner, depth + 1)
                for key, inner in item.items()
            )
        elif isinstance(item, list | tuple) and path and depth <= MAX_DEPTH:
            flat[path] = item
            pending.extend(
                (f"{path}.{index}", inner, depth + 1)
                for index, inner in enumerate(item)
                if isinstance(inner, Mapping)
            )
        elif path:
            flat[path] = item
    return flat


def sub_items(item: Item, prefix: str) -> tuple[Item, ...]:
    """Return the list inside an item, for ``message.contents.M.…`` and ``tool_calls.M.…``.

    It may also be one value, JSON or a structure.
    """
    found: dict[int, dict[str, object]] = {}
    for key, value in item.items():
        if key.startswith(prefix):
            parts = _PARTS[key]
            if parts is not None and parts.prefix == prefix:
                found.setdefault(parts.position, {})[parts.suffix] = value
    if found:
        return tuple(found[index] for index in sorted(found))
    whole = item.get(prefix)
    if isinstance(whole, str):
        whole = parse_json_or_literal(whole)
    return tuple(_item(element) for element in whole) if isinstance(whole, list | tuple) else ()


def _opened(item: dict[str, object]) -> Item:
    """Return an item, flattened where it is one object in JSON (``documents.0.document``)."""
    if len(item) != 1:
        return item
    ((name, value),) = item.items()
    if name not in _OBJECTS:
        return item
    data = parse_json_or_literal(value) if isinstance(value, str) else value
    return flatten({name: data}) if isinstance(data, Mapping) else item


def _parts_of(key: str) -> _Parts | None:
    match = _INDEXED.fullmatch(key)
    return _Parts(match[1], int(match[2]), match[3]) if match else None


_PARTS: Remembered[_Parts | None] = Remembered(_parts_of)
"""Flattened keys, split."""


def _read_whole(key: str, value: AttributeValue) -> ListAttribute | None:
    data: object = value
    if isinstance(value, str):
        data = parse_json_or_literal(value)
        if data is None:
            return ListAttribute(key, (), cut=value.lstrip()[:1] in {"{", "["})
    if isinstance(data, Mapping):
        data = [data]
    if not isinstance(data, list | tuple):
        return None
    return ListAttribute(key, tuple(_item(element) for element in data))


def _item(element: object) -> Item:
    if isinstance(element, str):
        parsed = parse_json_or_literal(element)
        element = parsed if isinstance(parsed, dict) else {"": element}
    if isinstance(element, Mapping):
        return flatten(element) if "" not in element else dict(element)
    return {"": element}
