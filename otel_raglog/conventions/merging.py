"""Several vocabularies' readings of one span to one: nothing is counted twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from otel_raglog.model import (
    FieldStatus,
    Loss,
    Role,
    SpanFacts,
    TokenUsage,
)

_FIELDS = (
    "query",
    "input_documents",
    "embedding_texts",
    "messages",
    "output_messages",
    "prompt_template",
)
_VALUES = ("prompt_variables", "top_k", "model", "finish_reason", "tool_name", "component")
_IDENTITIES = ("session_id", "user_id")
_NO_TOKENS = TokenUsage()


def merge(readings: Sequence[SpanFacts]) -> SpanFacts:
    """Return the first reading, with what it leaves open from those after it.

    A vocabulary that gives the span another role has misunderstood it: only who asked and in
    which conversation is taken from such a reading. ``readings`` holds at least one.
    """
    first = readings[0]
    if len(readings) == 1:
        return first
    role = next((read.role for read in readings if read.role is not Role.UNKNOWN), Role.UNKNOWN)
    agreeing = [read for read in readings[1:] if read.role in {role, Role.UNKNOWN}]
    changes: dict[str, object] = {"role": role}
    for other in agreeing:
        _fill(first, other, changes)
    for name in _IDENTITIES:
        if getattr(first, name) is None:
            changes[name] = next((v for read in readings[1:] if (v := getattr(read, name))), None)
    changes["loss"] = _all_losses([first, *agreeing])
    return replace(first, **changes)  # type: ignore[arg-type]  # names and types are SpanFacts' own


def _fill(first: SpanFacts, other: SpanFacts, changes: dict[str, object]) -> None:
    for name in _FIELDS:
        if name not in changes and _is_open(first, name) and not _is_open(other, name):
            changes[name] = getattr(other, name)
    for name in _VALUES:
        if name not in changes and not getattr(first, name) and getattr(other, name):
            changes[name] = getattr(other, name)
    if "tokens" not in changes and first.tokens == _NO_TOKENS and other.tokens != _NO_TOKENS:
        changes["tokens"] = other.tokens
    for name, companion in (
        ("documents", "structured_documents"),
        ("input", "input_data"),
        ("output", "output_data"),
    ):
        if name not in changes and _is_open(first, name) and not _is_open(other, name):
            changes[name] = getattr(other, name)
            changes[companion] = getattr(other, companion)


def _is_open(read: SpanFacts, name: str) -> bool:
    return getattr(read, name).status is FieldStatus.NOT_CAPTURED


def _all_losses(readings: Sequence[SpanFacts]) -> Loss:
    """Return the losses of one span: what the SDK dropped was dropped once."""
    losses = [read.loss for read in readings]
    return Loss(
        dropped_attributes=max(loss.dropped_attributes for loss in losses),
        dropped_events=max(loss.dropped_events for loss in losses),
        gaps=tuple(sorted({key for loss in losses for key in loss.gaps})),
        redacted=tuple(sorted({key for loss in losses for key in loss.redacted})),
        truncated=tuple(sorted({key for loss in losses for key in loss.truncated})),
    )
