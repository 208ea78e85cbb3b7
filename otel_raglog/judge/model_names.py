"""Names that providers give to models to whether they mean the same one."""

from __future__ import annotations

import re

_DATED = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$", re.ASCII)
"""How providers name a version of a model: ``claude-haiku-4-5-20251001``, ``gpt-5-2025-08-07``."""


def undated(name: str) -> str:
    """Return the name without a date at its end."""
    return _DATED.sub("", name)


def is_version_of(told: str, model: str) -> bool:
    """Tell whether a provider means ``model`` by ``told``: the same name, or one with a date.

    ``gpt-5-2025-08-07`` is a version of ``gpt-5``; ``gpt-5-mini`` and ``gpt-5-1`` are other models.
    """
    return model in {told, undated(told)}
