"""Request headers turned into headers that say which sidecars the request came by."""

from __future__ import annotations

from otel_raglog.model import Headers

VIA_HEADER = "x-otel-raglog-via"
"""Holds the instance ids of sidecars, separated by commas; one that finds its own sees a loop."""


def with_via(headers: Headers, instance_id: str) -> Headers:
    """Return ``headers`` with ``instance_id`` at the end of the list; as they are without an id."""
    if not instance_id:
        return headers
    before = [value for name, value in headers if name == VIA_HEADER]
    others = tuple((name, value) for name, value in headers if name != VIA_HEADER)
    return (*others, (VIA_HEADER, ",".join([*before, instance_id])))
