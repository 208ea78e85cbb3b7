"""Turns findings into the phrases that explanations are made of."""

from __future__ import annotations

from collections.abc import Sequence

from otel_raglog.checks.text.numbers import Number, NumberKind
from otel_raglog.model import Chunk

_SHOWN = 3
_LONGEST = 60


def listing(items: Sequence[str]) -> str:
    """Return at most three items, quoted, joined as English does: ``"a", "b" and 2 more``."""
    shown = [f'"{_short(item)}"' for item in items[:_SHOWN]]
    rest = len(items) - len(shown)
    if rest > 0:
        shown.append(f"{rest} more")
    if len(shown) <= 1:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def number_listing(found: Sequence[Number]) -> str:
    """Return at most three numbers with their kind: ``the year 2011 and the number 25``."""
    shown = [f"the {number.kind.value} {_short(_written(number))}" for number in found[:_SHOWN]]
    rest = len(found) - len(shown)
    if rest > 0:
        shown.append(f"{rest} more")
    if len(shown) <= 1:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def chunk_name(rank: int, chunk: Chunk) -> str:
    """Return how explanations refer to a chunk: by rank from 1, and by id when it has one."""
    return f"chunk {rank} ({_short(chunk.id)})" if chunk.id else f"chunk {rank}"


def counted(count: int, noun: str) -> str:
    """Return ``1 chunk`` or ``2 chunks``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _written(number: Number) -> str:
    return number.text.capitalize() if number.kind is NumberKind.MONTH else number.text


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LONGEST else f"{flat[: _LONGEST - 1]}…"
