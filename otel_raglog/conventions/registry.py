"""The attribute vocabularies that are read, and what to hold on their behalf."""

from __future__ import annotations

from typing import Protocol

from otel_raglog.conventions.openinference import OpenInference
from otel_raglog.conventions.vocabularies import UNREAD
from otel_raglog.model import Span, SpanFacts


class Convention(Protocol):
    """One attribute vocabulary.

    ``marker_prefixes`` are beginnings of attribute or event keys that mark a span as one of
    this vocabulary; ``marker_names`` are beginnings of span names that do. A span without any
    of them is forwarded at once and never read.
    """

    @property
    def name(self) -> str:
        """Short snake_case name, for provenance."""
        ...

    @property
    def marker_prefixes(self) -> tuple[str, ...]:
        """Beginnings of attribute or event keys."""
        ...

    @property
    def marker_names(self) -> tuple[str, ...]:
        """Beginnings of span names."""
        ...

    def read(self, span: Span) -> SpanFacts | None:
        """Return what the span says, ``None`` when it does not speak this vocabulary.

        Never raises, whatever the attributes hold.
        """
        ...


CONVENTIONS: tuple[Convention, ...] = (OpenInference(),)
"""In precedence order: the first convention that reads a span wins."""


def read_span(span: Span) -> SpanFacts | None:
    """Return the facts of the first convention that reads ``span``."""
    for convention in CONVENTIONS:
        facts = convention.read(span)
        if facts is not None:
            return facts
    return None


def recognise(span: Span) -> str | None:
    """Return the name of a vocabulary that we know of but do not read yet, else ``None``."""
    return next((vocabulary.name for vocabulary in UNREAD if vocabulary.keys(span)), None)


def unread_keys(span: Span) -> tuple[str, ...]:
    """Return the keys of unread vocabularies on ``span``, sorted."""
    return tuple(sorted({key for vocabulary in UNREAD for key in vocabulary.keys(span)}))


def marker_prefixes() -> tuple[str, ...]:
    """Return all beginnings of keys that make a span worth holding, sorted."""
    read = {prefix for convention in CONVENTIONS for prefix in convention.marker_prefixes}
    unread = {prefix for vocabulary in UNREAD for prefix in vocabulary.prefixes}
    return tuple(sorted(read | unread))


def marker_names() -> tuple[str, ...]:
    """Return all beginnings of span names that make a span worth holding, sorted."""
    return tuple(sorted({n for convention in CONVENTIONS for n in convention.marker_names}))
