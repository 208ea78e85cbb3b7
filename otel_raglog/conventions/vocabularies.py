"""Spans of vocabularies that this version does not read to the name of the vocabulary.

Their spans are held all the same, so that a trace is whole when it is looked at, and so that
``otel-raglog explain`` can say why nothing was judged.
"""

from __future__ import annotations

from dataclasses import dataclass

from otel_raglog.model import Span


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """A vocabulary known by the beginnings of its attribute or event keys."""

    name: str
    prefixes: tuple[str, ...]

    def keys(self, span: Span) -> tuple[str, ...]:
        """Return the keys and event names of ``span`` that belong to the vocabulary, sorted."""
        names = [*span.attributes, *(event.name for event in span.events)]
        return tuple(sorted({name for name in names if name.startswith(self.prefixes)}))


UNREAD: tuple[Vocabulary, ...] = (Vocabulary("Genkit", ("genkit:",)),)
"""In order: the more specific vocabulary names a span that speaks two."""
