"""Embeddings of which some may be missing to all of them, or none."""

from __future__ import annotations

from collections.abc import Iterable

from otel_raglog_proxy_bridge.model import Vector


def complete(found: Iterable[Vector | None]) -> tuple[Vector, ...]:
    """Return the embeddings, none at all when one is missing: each belongs to an input's place."""
    listed = list(found)
    whole = tuple(one for one in listed if one is not None)
    return whole if len(whole) == len(listed) else ()
