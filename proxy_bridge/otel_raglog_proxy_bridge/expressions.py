"""JMESPath expressions to what they find in a call, checked and kept small."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from otel_raglog_proxy_bridge.model import Exchange
from otel_raglog_proxy_bridge.path_templates import is_plain

ROOTS = ("request", "response", "events", "query", "path")
"""What an expression begins with: see :func:`data_of`."""
MOST_CHARACTERS = 1_000
_MOST_COPIES = 256
_COPYING = frozenset({"multi_select_list", "multi_select_dict"})
_CHAINS = frozenset(
    {"subexpression", "index_expression", "pipe", "projection", "value_projection",
     "filter_projection", "flatten"}
)  # fmt: skip
"""Of these what comes first alone looks at the whole data."""
_LONGEST_LITERAL = 24


class MappingError(ValueError):
    """A mapping, or a file of mappings, is wrong; the message names the key and the nearest known."""


def data_of(exchange: Exchange) -> dict[str, object]:
    """Return what expressions look at.

    ``request`` and ``response`` are the bodies' JSON, ``events`` the data of a streamed answer in
    order, ``query`` the URL's parameters, ``path`` the list of the path's segments.
    """
    return {
        "request": exchange.request,
        "response": exchange.response,
        "events": list(exchange.events),
        "query": dict(exchange.query),
        "path": list(exchange.segments),
    }


def check_expression(expression: str, *, trusted: bool = True) -> None:
    """Say what is wrong with an expression.

    One that no person wrote (not ``trusted``) may hold no literal and no key that looks like
    content: what is stored must hold nothing of a call.

    Raises:
        MappingError: it is no JMESPath, begins with something unknown, is too long, or copies the
            data too often (nested selections multiply).
    """
    if len(expression) > MOST_CHARACTERS:
        raise MappingError(f"is longer than {MOST_CHARACTERS} characters")
    tree = _compiled(expression).parsed
    roots = set(_roots(tree))
    for root in sorted(roots - set(ROOTS)):
        near = difflib.get_close_matches(root, ROOTS, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise MappingError(f"begins with {root!r}, not with one of {', '.join(ROOTS)}{hint}")
    if not roots:
        raise MappingError(f"refers to none of {', '.join(ROOTS)}")
    if _copies(tree) > _MOST_COPIES:
        raise MappingError("selects too much: its lists and objects multiply")
    if not trusted:
        _refuse_content(tree)


def _refuse_content(tree: Mapping[str, Any]) -> None:
    for node in _nodes(tree):
        if node["type"] == "literal" and not _is_short(node["value"]):
            raise MappingError("holds a text or a value that is no short name")
        if node["type"] in {"field", "key_val_pair"} and not is_plain(node["value"]):
            raise MappingError("holds a key that looks like an id")


def found_by(expression: str, data: Mapping[str, object]) -> object:
    """Return what ``expression`` finds in ``data``; ``None`` where it finds nothing or fails."""
    from jmespath.exceptions import JMESPathError  # noqa: PLC0415  an optional extra

    try:
        found: object = _compiled(expression).search(data)
    except (JMESPathError, MappingError, RecursionError, TypeError, ValueError, OverflowError):
        return None
    return found


def _compiled(expression: str) -> Any:
    try:
        import jmespath  # noqa: PLC0415  an optional extra
        from jmespath.exceptions import JMESPathError  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MappingError(
            f"mappings need {error.name}: pip install 'otel-raglog[proxy]'"
        ) from None
    try:
        return jmespath.compile(expression)
    except (JMESPathError, RecursionError) as error:
        first = str(error).partition("\n")[0] or type(error).__name__
        raise MappingError(f"is no JMESPath: {first}") from None


def _nodes(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield tree
    for child in tree["children"]:
        if isinstance(child, Mapping):
            yield from _nodes(child)


def _roots(tree: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys that are looked up in the whole data."""
    kind, children = tree["type"], tree["children"]
    if kind == "field":
        yield tree["value"]
    elif kind in _CHAINS:
        yield from _roots(children[0])
    elif kind != "expref":
        for child in children:
            if isinstance(child, Mapping):
                yield from _roots(child)


def _copies(tree: Mapping[str, Any]) -> int:
    """Return how many times at most an expression repeats what it is given."""
    product = 1
    for node in _nodes(tree):
        if node["type"] in _COPYING:
            product *= max(1, len(node["children"]))
        elif node["type"] == "function_expression":
            # Nested to_string doubles backslashes; a joint that is no literal repeats the data.
            free = node["value"] == "join" and node["children"][0]["type"] != "literal"
            product *= _MOST_COPIES + 1 if free else max(2, len(node["children"]))
    return product


def _is_short(value: object) -> bool:
    if isinstance(value, str):
        return not value or (len(value) <= _LONGEST_LITERAL and is_plain(value))
    return value is None or isinstance(value, bool) or (isinstance(value, int) and abs(value) < 10)  # noqa: PLR2004
