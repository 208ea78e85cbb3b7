"""The attribute vocabularies that are read, in order of precedence."""

from __future__ import annotations

from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.convention import Convention
from otel_raglog.conventions.openinference import OpenInference
from otel_raglog.conventions.vocabularies import UNREAD
from otel_raglog.model import Span, SpanFacts

CONVENTIONS: tuple[Convention, ...] = (OpenInference(),)
"""In precedence order: the first convention that reads a span wins, the others fill its gaps."""

BUILT_IN = ConventionSet(CONVENTIONS)
"""What is read when nothing is configured."""


def read_span(span: Span) -> SpanFacts | None:
    """Return the facts that the built-in conventions read from ``span``."""
    return BUILT_IN.read(span)


def recognise(span: Span) -> str | None:
    """Return the name of a vocabulary that we know of but do not read yet, else ``None``."""
    return next((vocabulary.name for vocabulary in UNREAD if vocabulary.keys(span)), None)


def unread_keys(span: Span) -> tuple[str, ...]:
    """Return the keys of unread vocabularies on ``span``, sorted."""
    return tuple(sorted({key for vocabulary in UNREAD for key in vocabulary.keys(span)}))


def marker_prefixes(conventions: ConventionSet = BUILT_IN) -> tuple[str, ...]:
    """Return all beginnings of keys that make a span worth holding, sorted."""
    unread = {prefix for vocabulary in UNREAD for prefix in vocabulary.prefixes}
    return tuple(sorted({*conventions.marker_prefixes(), *unread}))


def marker_names(conventions: ConventionSet = BUILT_IN) -> tuple[str, ...]:
    """Return all beginnings of span names that make a span worth holding, sorted."""
    return conventions.marker_names()
