"""A span to the vocabularies that it speaks, at a cost that does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from otel_raglog.conventions.convention import (
    Convention,
    KnownByScope,
    MarkedByScope,
    MarkedByValue,
)
from otel_raglog.conventions.merging import merge
from otel_raglog.conventions.recasting import recast
from otel_raglog.conventions.remembered import Remembered
from otel_raglog.conventions.scopes import enclosing
from otel_raglog.model import Role, Span, SpanFacts

Positions = tuple[int, ...]


class _Beginnings:
    """Beginnings of names to the positions of the conventions that have them.

    Applications write the same names on every span, so what was found for a name is remembered.
    A name that was not seen before is compared with those beginnings alone that share its part
    before the first dot.
    """

    def __init__(self, beginnings: Iterable[tuple[str, int]]) -> None:
        self._by_head: dict[str, list[tuple[str, int]]] = {}
        self._headless: list[tuple[str, int]] = []
        self.of = Remembered(self._find)
        """The positions of the conventions that have a beginning of a name."""
        for beginning, position in beginnings:
            head, dot, _ = beginning.partition(".")
            known = self._by_head.setdefault(head, []) if dot else self._headless
            known.append((beginning, position))

    def _find(self, name: str) -> Positions:
        candidates = [*self._by_head.get(name.partition(".")[0], ()), *self._headless]
        return tuple(
            sorted({position for beginning, position in candidates if name.startswith(beginning)})
        )


class ConventionSet:
    """Conventions in order of precedence."""

    def __init__(self, conventions: Sequence[Convention]) -> None:
        self.conventions = tuple(conventions)
        numbered = list(enumerate(self.conventions))
        self._keys = _Beginnings((p, at) for at, item in numbered for p in item.marker_prefixes)
        self._names = _Beginnings((n, at) for at, item in numbered for n in item.marker_names)
        self._scopes = {
            scope: at
            for at, item in numbered
            if isinstance(item, MarkedByScope)
            for scope in item.marker_scopes
        }
        senders: dict[str, list[int]] = {}
        for at, item in numbered:
            for scope in item.sender_scopes if isinstance(item, KnownByScope) else ():
                senders.setdefault(scope, []).append(at)
        self._sent: Remembered[Positions] = Remembered(
            lambda scope: tuple(at for name in enclosing(scope) for at in senders.get(name, ()))
        )
        self._by_value = [(at, item) for at, item in numbered if isinstance(item, MarkedByValue)]
        self._value_keys = tuple(sorted({k for _, item in self._by_value for k in item.value_keys}))

    def speaking(self, span: Span) -> tuple[Convention, ...]:
        """Return the conventions that have a marker on ``span``, in order of precedence."""
        of = self._keys.of.__getitem__
        marked = {self._names.of[span.name], *map(of, span.attributes)}
        for event in span.events:
            marked.update((of(event.name), *map(of, event.attributes)))
        found = {at for positions in marked for at in positions}
        if span.scope_name in self._scopes:
            found.add(self._scopes[span.scope_name])
        for key in self._value_keys:
            text = span.attributes.get(key)
            if isinstance(text, str):
                found.update(self._marked_by_value(key, text.lower()))
        if found:
            found.update(self._sent[span.scope_name])
        return tuple(self.conventions[at] for at in sorted(found))

    def _marked_by_value(self, key: str, text: str) -> Iterator[int]:
        beginning = text.lstrip()
        for at, item in self._by_value:
            if (
                key in item.value_keys
                and any(part in text for part in item.value_parts)
                and not beginning.startswith(item.value_exclusions)
            ):
                yield at

    def read(self, span: Span) -> SpanFacts | None:
        """Return what ``span`` says, ``None`` when it speaks no vocabulary.

        Of several vocabularies on one span the first wins; the others fill what it leaves open.
        Where a user said what the span is, they are read as if it were that.
        """
        readings = [facts for item in self.speaking(span) if (facts := item.read(span)) is not None]
        if len(readings) > 1 and readings[0].settled and readings[0].role is not Role.IGNORED:
            role = readings[0].role
            readings[1:] = [recast(span, facts, role) for facts in readings[1:]]
        return merge(readings) if readings else None

    def marker_prefixes(self) -> tuple[str, ...]:
        """Return all beginnings of keys that make a span worth holding, sorted."""
        return tuple(sorted({p for item in self.conventions for p in item.marker_prefixes}))

    def marker_names(self) -> tuple[str, ...]:
        """Return all beginnings of span names that make a span worth holding, sorted."""
        return tuple(sorted({n for item in self.conventions for n in item.marker_names}))

    def marker_scopes(self) -> tuple[str, ...]:
        """Return the names of the scopes all of whose spans are worth holding, sorted."""
        return tuple(sorted(self._scopes))

    def value_keys(self) -> tuple[str, ...]:
        """Return the keys of ordinary spans whose texts may make one worth holding, sorted."""
        return self._value_keys

    def value_parts(self) -> tuple[str, ...]:
        """Return what makes such a span worth holding when it is in such a text, sorted."""
        return tuple(sorted({part for _, item in self._by_value for part in item.value_parts}))

    def value_exclusions(self) -> tuple[str, ...]:
        """Return the beginnings of texts that no convention looks into, sorted."""
        excluded = [set(item.value_exclusions) for _, item in self._by_value]
        return tuple(sorted(set.intersection(*excluded))) if excluded else ()
