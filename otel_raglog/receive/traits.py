"""The words on a span (keys, event names) to what they tell of it, without reading any value.

protobuf's own C code reduces spans to their words: parsed with a schema that knows nothing else,
and serialized again without what it did not know. Whatever the order or form in which a sender
wrote a span, the result is the same, and since instrumentations write the same words on span
after span, what they tell is remembered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from otel_raglog.receive import thin_pb2 as thin
from otel_raglog.receive.markers import EVALUATION_EVENT, OWN_PREFIX, RUN_FINISHED_KEY, Markers

_REMEMBERED_BYTES = 8 * 1024 * 1024
_REMEMBERED_OVERHEAD = 200
_LONGEST_REMEMBERED = 16 * 1024
_NO_LINK = b"\x6a\x00"
"""What is left of a link."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What a span's words tell.

    ``marked``: it may belong to a run. ``spoofed``: it bears words of our own namespace.
    ``may_finish``: one of them may say that the run is finished. ``links``: it has links.
    ``by_value``: it is marked if a value says so.
    """

    marked: bool
    spoofed: bool
    may_finish: bool
    links: bool
    by_value: bool = False

    @property
    def plain(self) -> bool:
        """Whether nothing needs a closer look, but for values where ``by_value`` is set."""
        return not (self.marked or self.spoofed or self.links)


_PLAIN = Traits(marked=False, spoofed=False, may_finish=False, links=False)
_PLAIN_UNLESS_VALUE = Traits(
    marked=False, spoofed=False, may_finish=False, links=False, by_value=True
)


def reduce_spans(request: bytes) -> Sequence[bytes]:
    """Return the words of every span of a request of one scope, in their order."""
    keys = thin.TracesRequestKeys.FromString(request).resource_spans[0].scope_spans[0]
    keys.DiscardUnknownFields()
    return thin.SerializedSpans.FromString(keys.SerializeToString()).spans


def bears_our_words(raw: bytes) -> bool:
    """Tell whether a serialized span bears words that look like ours."""
    keys = thin.SpanKeys.FromString(raw)
    keys.DiscardUnknownFields()
    words = keys.SerializeToString()
    return OWN_PREFIX in words or EVALUATION_EVENT in words


class TraitReader:
    """Tells the traits of reduced spans, and remembers them up to some megabytes."""

    def __init__(self, markers: Markers) -> None:
        self._markers = markers
        self._room = _REMEMBERED_BYTES
        self._special: dict[bytes, Traits] = {}
        self.plain: set[bytes] = set()
        """Words that are known to be plain; look here first."""
        self.by_value: set[bytes] = set()
        """Words that are plain if no value says otherwise."""

    def recall(self, words: bytes) -> Traits | None:
        """Return what these words tell, if they are remembered."""
        if words in self.plain:
            return _PLAIN
        return _PLAIN_UNLESS_VALUE if words in self.by_value else self._special.get(words)

    def read(self, words: bytes) -> Traits:
        """Return what the words of one span tell, and remember it. Looks at each of them."""
        if len(words) > _LONGEST_REMEMBERED:
            return self.guess(words)
        traits = _read(words, self._markers)
        self._remember(words, traits)
        return traits

    def guess(self, words: bytes) -> Traits:
        """Return what words may tell: a telling one inside of another one counts, too.

        Takes little time for any number of words, and misses nothing.
        """
        return Traits(
            marked=any(prefix in words for prefix in self._markers.key_prefixes),
            spoofed=OWN_PREFIX in words or EVALUATION_EVENT in words,
            may_finish=RUN_FINISHED_KEY in words,
            links=_NO_LINK in words,
            by_value=any(key in words for key in self._markers.value_keys),
        )

    def _remember(self, words: bytes, traits: Traits) -> None:
        self._room -= len(words) + _REMEMBERED_OVERHEAD
        if self._room < 0:  # simpler than a queue by use, and as good where words repeat
            self.plain.clear()
            self.by_value.clear()
            self._special.clear()
            self._room = _REMEMBERED_BYTES
        if traits.plain:
            (self.by_value if traits.by_value else self.plain).add(words)
        else:
            self._special[words] = traits


def _read(words: bytes, markers: Markers) -> Traits:
    span = thin.SpanKeys.FromString(words)
    keys = [attribute.key for attribute in span.attributes]
    in_events = list(_event_words(span))
    return Traits(
        marked=any(word.startswith(markers.key_prefixes) for word in (*keys, *in_events)),
        spoofed=any(word.startswith(OWN_PREFIX) for word in (*keys, *in_events))
        or EVALUATION_EVENT in in_events,
        may_finish=RUN_FINISHED_KEY in keys,
        links=bool(span.links),
        by_value=any(key in markers.value_keys for key in keys),
    )


def _event_words(span: thin.SpanKeys) -> Iterator[bytes]:
    """Yield the names of a span's events and the keys of their attributes."""
    for event in span.events:
        yield event.name
        for attribute in event.attributes:
            yield attribute.key
