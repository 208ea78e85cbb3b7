"""What an attribute vocabulary offers: the facts of its spans, and what it can say at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from otel_raglog.model import Role, Span, SpanFacts


@dataclass(frozen=True, slots=True)
class Wanted:
    """One fact of a span, with the keys that may hold it, best first.

    ``fact`` is the name of a field of :class:`~otel_raglog.model.SpanFacts`. A key that stands
    for several has ``N`` for an index (``retrieval.documents.N.document.content``); one that is
    an attribute of an event is written ``event name/attribute``. ``note`` says what else is to be
    known, for instance that the vocabulary has no key for it.
    """

    fact: str
    keys: tuple[str, ...] = ()
    note: str = ""


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
    def title(self) -> str:
        """What people call the vocabulary, or what writes it."""
        ...

    @property
    def marker_prefixes(self) -> tuple[str, ...]:
        """Beginnings of attribute or event keys."""
        ...

    @property
    def marker_names(self) -> tuple[str, ...]:
        """Beginnings of span names."""
        ...

    @property
    def wanted(self) -> Mapping[Role, tuple[Wanted, ...]]:
        """What a span of each role may say, and under which keys, for ``otel-raglog explain``."""
        ...

    @property
    def remedy(self) -> str:
        """One line: how the content of these spans is turned on, empty when it always is."""
        ...

    def read(self, span: Span) -> SpanFacts | None:
        """Return what the span says, ``None`` when it does not speak this vocabulary.

        A pure function of one span. Never raises, whatever the attributes hold.
        """
        ...


@runtime_checkable
class MarkedByScope(Protocol):
    """A convention some of whose spans have nothing but a name, which may be any."""

    @property
    def marker_scopes(self) -> tuple[str, ...]:
        """Names of the instrumentation scopes all of whose spans are this vocabulary's."""
        ...


@runtime_checkable
class KnownByScope(Protocol):
    """A convention whose spans may have no keys but those of a wider one, such as GenAI's.

    A span that is marked, by whatever, is offered to it as well when its scope is one of these, or
    below one. Unlike ``marker_scopes`` these mark nothing: ordinary spans of a scope are not held.
    """

    @property
    def sender_scopes(self) -> tuple[str, ...]:
        """Names of instrumentation scopes that tell who sent a span."""
        ...


@runtime_checkable
class Extending(Protocol):
    """A convention that writes keys of a wider one as well: what both read is one sender's."""

    @property
    def extends(self) -> str:
        """Name of the wider convention."""
        ...


@runtime_checkable
class MarkedByValue(Protocol):
    """A convention whose spans have keys that ordinary spans have, too.

    Such a span is marked when the text of one of ``value_keys`` has one of ``value_parts`` in it,
    in large or small letters, and begins with none of ``value_exclusions``; the keys alone mark
    nothing.
    """

    @property
    def value_keys(self) -> tuple[str, ...]:
        """Attributes whose texts are looked into."""
        ...

    @property
    def value_parts(self) -> tuple[str, ...]:
        """What marks the span when it is in such a text, in small letters."""
        ...

    @property
    def value_exclusions(self) -> tuple[str, ...]:
        """Short words in small letters: a text that begins with one marks nothing."""
        ...
