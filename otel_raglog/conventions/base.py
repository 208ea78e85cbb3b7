"""What the built-in conventions have in common: a declaration, and a class that reads spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from otel_raglog.conventions.convention import Convention, Extending, Wanted
from otel_raglog.conventions.work import WorkReader
from otel_raglog.model import Role, Span, SpanFacts


class BaseConvention:
    """A :class:`~otel_raglog.conventions.convention.Convention` by its declaration.

    A convention states its names, what it looks for, how content is turned on, the reader of its
    spans, and its markers. It overrides ``speaks`` where a marker tells too little or too much.
    """

    name: str
    title: str
    wanted: Mapping[Role, tuple[Wanted, ...]]
    remedy: str
    reader: type[WorkReader]
    marker_prefixes: tuple[str, ...] = ()
    marker_names: tuple[str, ...] = ()

    def speaks(self, span: Span) -> bool:
        """Tell whether a span is of this vocabulary: its name or one of its keys is a marker."""
        return span.name.startswith(self.marker_names) or any(
            key.startswith(self.marker_prefixes) for key in span.attributes
        )

    def read(self, span: Span) -> SpanFacts | None:
        """Return what the span says, ``None`` when it does not speak this vocabulary."""
        return self.reader(span, self.name).facts() if self.speaks(span) else None


def senders(speaking: Sequence[Convention]) -> tuple[Convention, ...]:
    """Return the conventions of a span without those that another one of them extends."""
    wider = {item.extends for item in speaking if isinstance(item, Extending)}
    return tuple(item for item in speaking if item.name not in wider)
