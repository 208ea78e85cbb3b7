"""A span to the vocabularies that it speaks, at a cost that does not grow with their number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from otel_raglog.conventions.convention import Convention, MarkedByScope, MarkedByValue
from otel_raglog.conventions.merging import merge
from otel_raglog.conventions.recasting import recast
from otel_raglog.model import Role, Span, SpanFacts

_REMEMBERED = 8_192
_MAX_REMEMBERED_CHARS = 200

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
        self._remembered: dict[str, Positions] = {}
        for beginning, position in beginnings:
            head, dot, _ = beginning.partition(".")
            known = self._by_head.setdefault(head, []) if dot else self._headless
            known.append((beginning, position))

    def find(self, name: str) -> Positions:
        """Return the positions of the conventions that have a beginning of ``name``."""
        found = self._remembered.get(name)
        if found is None:
            found = self._find(name)
            if len(name) <= _MAX_REMEMBERED_CHARS:
                if len(self._remembered) >= _REMEMBERED:
                    self._remembered.clear()
                self._remembered[name] = found
        return found

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
        by_value = [(at, item) for at, item in numbered if isinstance(item, MarkedByValue)]
        self._values = {
            key: [(at, other.value_parts) for at, other in by_value if key in other.value_keys]
            for _, item in by_value
            for key in item.value_keys
        }

    def speaking(self, span: Span) -> tuple[Convention, ...]:
        """Return the conventions that have a marker on ``span``, in order of precedence."""
        found: set[int] = set(self._names.find(span.name))
        if span.scope_name in self._scopes:
            found.add(self._scopes[span.scope_name])
        find = self._keys.find
        for key in span.attributes:
            found.update(find(key))
        for event in span.events:
            found.update(find(event.name))
            for key in event.attributes:
                found.update(find(key))
        for key, marking in self._values.items():
            text = span.attributes.get(key)
            if isinstance(text, str):
                small = text.lower()
                found.update(at for at, parts in marking if any(part in small for part in parts))
        return tuple(self.conventions[at] for at in sorted(found))

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
        return tuple(sorted(self._values))

    def value_parts(self) -> tuple[str, ...]:
        """Return what makes such a span worth holding when it is in such a text, sorted."""
        return tuple(sorted({p for found in self._values.values() for _, s in found for p in s}))
