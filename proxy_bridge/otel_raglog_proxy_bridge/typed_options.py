"""The add-on's options as texts, such as ``--set NAME=VALUE`` gives them, to typed values."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from otel_raglog_proxy_bridge.addon_options import OPTIONS, BadOption, Option

PREFIX = "raglog_"
_BOOLEANS = {"true": True, "false": False}


def is_own(name: str) -> bool:
    """Return whether ``name`` is meant for the add-on, rightly written or not."""
    return name.startswith(PREFIX)


def check_name(name: str) -> None:
    """Do nothing if there is an option ``name``.

    Raises:
        BadOption: There is none; names the nearest.
    """
    known = [option.name for option in OPTIONS]
    if name not in known:
        nearest = difflib.get_close_matches(name, known, 1, 0.0)[0]
        raise BadOption(f"{name}: there is no such option; did you mean {nearest}?")


def typed_values(texts: Mapping[str, Sequence[str]]) -> dict[str, object]:
    """Return the values of ``OPTIONS`` by their names: the typed ones, else the defaults.

    mitmproxy converts texts too, but a text that it cannot convert, it passes over in silence
    together with the whole add-on, and a name that it does not know, it keeps for later.

    Args:
        texts: What was given for each name, in the order in which it was given.

    Raises:
        BadOption: A name is unknown, or a value of another type; says which.
    """
    known = {option.name: option for option in OPTIONS}
    values: dict[str, object] = {option.name: option.default for option in OPTIONS}
    for name, given in texts.items():
        check_name(name)
        values[name] = _typed(known[name], given)
    return values


def _typed(option: Option, given: Sequence[str]) -> object:
    if option.typespec not in (str, int, bool):
        return tuple(given)
    if len(given) > 1:
        raise BadOption(f"{option.name}: given {len(given)} times, but it has one value")
    if not given:
        if option.typespec is bool:
            return True
        raise BadOption(f"{option.name}: it has no value; write {option.name}=VALUE")
    text = given[0]
    if option.typespec is int:
        try:
            return int(text)
        except ValueError:
            raise BadOption(f"{option.name}: {text!r} is no whole number") from None
    if option.typespec is bool:
        if text not in _BOOLEANS:
            raise BadOption(f"{option.name}: {text!r} is neither 'true' nor 'false'")
        return _BOOLEANS[text]
    return text
