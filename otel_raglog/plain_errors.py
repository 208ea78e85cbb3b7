"""What pydantic says of a wrong value to plain words: what the option allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_LONGEST_SHOWN = 80

_WORDS: Mapping[str, str] = {
    "missing": "is missing",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number with fewer digits",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "dict_type": "must be a mapping of names and values",
    "path_type": "must be a path, as text",
    "invalid_key": "must have names that are text: write them in quotes",
}
_BOUNDS = {
    "greater_than": ("gt", "must be more than {}"),
    "greater_than_equal": ("ge", "must be {} or more"),
    "less_than": ("lt", "must be less than {}"),
    "less_than_equal": ("le", "must be {} or less"),
}
_LISTS = frozenset({"tuple_type", "list_type", "set_type"})
_MAPPINGS = frozenset({"model_type", "model_attributes_type", "dataclass_type"})
_CHOICES = frozenset({"literal_error", "enum"})


def in_words(problem: Mapping[str, Any], known: Sequence[str] = ()) -> str:
    """Return one of ``ValidationError.errors()`` as the end of a sentence about its option.

    ``known`` are the options of a mapping that is wrong as a whole, or the values of which a list
    is made.
    """
    kind, context = str(problem["type"]), problem.get("ctx", {})
    if kind in _WORDS:
        return _WORDS[kind]
    if kind in _BOUNDS:
        name, words = _BOUNDS[kind]
        return words.format(f"{context[name]:g}")
    if kind in _CHOICES:
        return f"must be {context['expected']}"
    if kind in _LISTS:
        example = ", ".join(known) or "a, b"
        return f"must be a list, such as [{example}]"
    if kind in _MAPPINGS:
        return (
            f"must be a mapping of options ({', '.join(known)})" if known else _WORDS["dict_type"]
        )
    return str(problem["msg"]).removeprefix("Value error, ")


def is_key(place: Sequence[int | str]) -> bool:
    """Tell whether a name in a mapping is wrong, and not what it stands for."""
    return bool(place) and place[-1] == "[key]"


def shown(value: object) -> str:
    """Return what was given, in brackets; nothing of mappings and lists, which are long."""
    if isinstance(value, Mapping | list | tuple):
        return ""
    if value is None:
        return " (got nothing)"
    text = repr(value)
    return f" (got {text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + '…'})"
