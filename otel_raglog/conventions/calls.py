"""Arguments of a function as its decorator recorded them, by place and without names."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def arguments_in(data: object) -> tuple[object, ...]:
    """Return the arguments in ``{"args": [...], "kwargs": {...}}``, none in other data.

    The named ones come last, together as one.
    """
    if not isinstance(data, dict) or data.keys() != {"args", "kwargs"}:
        return ()
    args, kwargs = data["args"], data["kwargs"]
    placed = args if isinstance(args, list) else []
    return (*placed, kwargs) if kwargs else tuple(placed)


def the_argument(data: object) -> object:
    """Return the only argument of a call (or all that have names), else ``data`` as it is."""
    arguments = arguments_in(data)
    return arguments[0] if len(arguments) == 1 else data


def first_found(data: object, look: Callable[[object], T | None]) -> T | None:
    """Return what ``look`` finds in the first argument in which it finds anything."""
    for argument in arguments_in(data):
        found = look(argument)
        if found:
            return found
    return None
