"""Model calls of a second instrumentation, recorded beside the spans in which they ran, to these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from otel_raglog.mapping.texts import is_close_to_any, normal
from otel_raglog.model import Message, Role, Span, SpanFacts

_CALLS = {Role.LLM, Role.EMBEDDER}
_SEARCHES = {Role.RETRIEVER, Role.RERANKER, Role.TOOL}

Rank = tuple[int, int, int]
"""Lower is better: what speaks for a host, its length in time, its index."""


def find_hosts(
    spans: Sequence[Span],
    facts: Sequence[SpanFacts | None],
    tops: Sequence[int],
    children: Sequence[Sequence[int]],
) -> dict[int, int]:
    """Return, by index, the span in which each stray LLM or embedding call ran.

    A framework's instrumentor that does not make its spans the current ones (LangChain's)
    leaves the calls that the client library's instrumentor sees beside its own spans instead of
    below them. Such a call belongs below the span, from a sibling's subtree and of another
    scope, that encloses it in time: below the same call seen by the framework if there is one,
    else below the search for the embedded text, else below the shortest.

    Where the one scope's calls stand below the other's spans elsewhere in the trace, nothing
    but the same call is taken to be a host. Of stray calls with the same times, the one whose
    scope, name and id come first is the host, so that no two calls are below each other.
    """
    forest = _Forest(spans, facts, children)
    hosts: dict[int, int] = {}
    for group in (tops, *children):
        if len(group) < 2:  # noqa: PLR2004  nothing beside it
            continue
        strays = [i for i in group if forest.role(i) in _CALLS and not children[i]]
        scopes = {spans[index].scope_name for index in group}
        if not strays or (len(scopes) == 1 and scopes != {""}):
            continue
        taken: set[int] = set()
        for stray, around in forest.under_way(strays, group):
            ranked = [
                rank
                for index in forest.enclosing(stray, around)
                if index not in taken and (rank := forest.rank(stray, index)) is not None
            ]
            if ranked:
                host = min(ranked)[-1]
                hosts[stray] = host
                if forest.role(host) in _CALLS:
                    taken.add(host)
    return hosts


@dataclass(slots=True)
class _Forest:
    """The spans of a trace, what they say, and which stand below which."""

    spans: Sequence[Span]
    facts: Sequence[SpanFacts | None]
    children: Sequence[Sequence[int]]
    _nested: set[tuple[str, str]] | None = field(init=False, default=None)
    _texts: dict[int, tuple[str, str]] = field(init=False, default_factory=dict)

    def nested(self) -> set[tuple[str, str]]:
        """Return pairs of scopes: calls of the second stand right below spans of the first."""
        if self._nested is None:
            self._nested = {
                (self.spans[index].scope_name, self.spans[child].scope_name)
                for index, below in enumerate(self.children)
                if self.facts[index] is not None
                for child in below
                if self.role(child) in _CALLS
            }
        return self._nested

    def role(self, index: int) -> Role:
        found = self.facts[index]
        return found.role if found is not None else Role.UNKNOWN

    def under_way(
        self, strays: Sequence[int], group: Sequence[int]
    ) -> Iterator[tuple[int, list[int]]]:
        """Yield each stray call with its siblings of other scopes that run at its start.

        Siblings that say nothing and have nothing below them (those of HTTP clients) are left
        out.
        """
        telling = [i for i in group if self.facts[i] is not None or self.children[i]]
        waiting = sorted(telling, key=lambda index: self.spans[index].start_unix_nano, reverse=True)
        running: list[int] = []
        for stray in sorted(strays, key=self._order):
            start = self.spans[stray].start_unix_nano
            while waiting and self.spans[waiting[-1]].start_unix_nano <= start:
                running.append(waiting.pop())
            running = [index for index in running if self.spans[index].end_unix_nano >= start]
            yield stray, [index for index in running if self._is_foreign(index, stray)]

    def enclosing(self, stray: int, around: Sequence[int]) -> list[int]:
        """Return the spans at or below ``around`` that enclose a call and say something."""
        inner = self.spans[stray]
        found: list[int] = []
        pending = list(around) if inner.start_unix_nano <= inner.end_unix_nano else []
        while pending:
            index = pending.pop()
            outer = self.spans[index]
            begun = outer.start_unix_nano <= inner.start_unix_nano
            if not begun or outer.end_unix_nano < inner.end_unix_nano:
                continue
            twin = not self.children[index] and self._order(index) > self._order(stray)
            if self.facts[index] is not None and self._is_foreign(index, stray) and not twin:
                found.append(index)
            pending.extend(self.children[index])
        return found

    def rank(self, stray: int, index: int) -> Rank | None:
        """Return how well a span does as the host of a call, ``None`` when it cannot be it."""
        mine, theirs = self.facts[stray], self.facts[index]
        if mine is None or theirs is None:
            return None
        span = self.spans[index]
        length = span.end_unix_nano - span.start_unix_nano
        if theirs.role in _CALLS:
            unequal = self._differences(stray, index, mine, theirs)
            return None if unequal is None else (unequal, length, index)
        if (span.scope_name, self.spans[stray].scope_name) in self.nested():
            return None
        query = theirs.query.value if theirs.role in _SEARCHES else None
        wanted = bool(query) and is_close_to_any(query or "", mine.embedding_texts.value or ())
        return (3 if wanted else 4, length, index)

    def _order(self, index: int) -> tuple[int, int, str, str, bytes]:
        """Return what sorts spans by their start, a longer one before those it encloses."""
        span = self.spans[index]
        return (
            span.start_unix_nano,
            -span.end_unix_nano,
            span.scope_name,
            span.name,
            span.span_id,
        )

    def _is_foreign(self, one: int, other: int) -> bool:
        """Tell whether two instrumentations wrote two spans; without scopes their names tell."""
        first, second = self.spans[one], self.spans[other]
        if not first.scope_name and not second.scope_name:
            return first.name != second.name
        return first.scope_name != second.scope_name

    def _differences(
        self, stray: int, index: int, mine: SpanFacts, theirs: SpanFacts
    ) -> int | None:
        """Return how much two model calls differ; ``None`` when they are not one and the same.

        The outputs decide, else the prompts, else the tokens. Two calls of which nothing can be
        compared are taken to be one.
        """
        if mine.role is not theirs.role:
            return None
        pairs = list(zip(self._told(stray, mine), self._told(index, theirs), strict=True))
        alike = [one in other or other in one for one, other in pairs if one and other]
        if alike:
            return len(pairs) - sum(alike) if alike[0] else None
        counted = (
            (mine.tokens.prompt, theirs.tokens.prompt),
            (mine.tokens.completion, theirs.tokens.completion),
        )
        known = [one == other for one, other in counted if one is not None and other is not None]
        return len(pairs) if all(known) else None

    def _told(self, index: int, facts: SpanFacts) -> tuple[str, str]:
        """Return the output and the prompt of an LLM call, or the texts of an embedding."""
        found = self._texts.get(index)
        if found is None:
            embedded = "\n".join(facts.embedding_texts.value or ())
            found = (
                _joined(facts.output_messages.value or ()) or normal(embedded),
                _joined(facts.messages.value or ()),
            )
            self._texts[index] = found
        return found


def _joined(messages: Sequence[Message]) -> str:
    return normal("\n".join(message.content for message in messages))
