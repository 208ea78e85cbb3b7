"""Payloads turned into one request, and the payloads of a refused one into two."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TypeAlias

from otel_raglog.model import Headers, Payload
from otel_raglog_exporters.cutting import cut_payload

Payloads: TypeAlias = tuple[Payload, ...]
"""At least one, of one signal and with equal headers."""

CONTENT_REASONS = frozenset(
    {
        "rejected",
        "exporter_error",
        "http_400",
        "http_413",
        "http_422",
        "invalid_argument",
        "resource_exhausted",
    }
)
"""Reasons of refusals that may be one payload's fault: the others of its batch are sent again."""

_SIZE_REASONS = frozenset({"http_413", "resource_exhausted"})


def by_headers(payloads: Payloads) -> list[Payloads]:
    """Return the payloads of each set of headers, in their order; sets as they first appear."""
    first = payloads[0].headers
    if all(payload.headers == first for payload in payloads):
        return [payloads]
    groups: dict[Headers, list[Payload]] = {}
    for payload in payloads:
        groups.setdefault(payload.headers, []).append(payload)
    return [tuple(group) for group in groups.values()]


def join(payloads: Payloads) -> Payload:
    """Return one payload with the content of all."""
    if len(payloads) == 1:
        return payloads[0]
    body = b"".join(payload.body for payload in payloads)
    return replace(payloads[0], body=body, items=sum(payload.items for payload in payloads))


def halve(payloads: Payloads, reason: str) -> list[Payloads]:
    """Return what to send instead of ``payloads`` that were refused, last one first.

    A single payload is cut when it was too large. Nothing is returned for what would be refused
    again: for another reason than the content, or since it cannot be made smaller.
    """
    middle = len(payloads) // 2
    if middle:
        return [payloads[middle:], payloads[:middle]] if reason in CONTENT_REASONS else []
    if reason in _SIZE_REASONS:
        parts = cut_payload(payloads[0], len(payloads[0].body) // 2)
        return apart(parts) if len(parts) > 1 else []
    return []


def apart(payloads: Iterable[Payload]) -> list[Payloads]:
    """Return each payload by itself, last one first."""
    alone: list[Payloads] = [(payload,) for payload in payloads]
    return alone[::-1]
