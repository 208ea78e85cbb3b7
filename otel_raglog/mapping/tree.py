"""Spans in any order, repeated and with broken parents, to one deterministic tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from otel_raglog.mapping.adopting import find_hosts
from otel_raglog.model import Role, Span, SpanFacts

NONE = -1
"""The parent index of a top node."""

MAX_REATTACHED = 200
"""Groups of orphans beyond which a trace is too broken to guess at."""

_LEAF_ROLES = {Role.LLM, Role.EMBEDDER}
_OUTER_ROLES = {Role.CHAIN, Role.AGENT, Role.UNKNOWN}


@dataclass(frozen=True, slots=True)
class Node:
    """A span in the tree, with what it says (``None`` without a known vocabulary)."""

    index: int
    span: Span
    facts: SpanFacts | None
    parent: int
    children: tuple[int, ...]
    enter: int
    leave: int
    """``enter`` and ``leave`` number the nodes in depth-first order: a subtree is a range."""

    @property
    def role(self) -> Role:
        """The role that the span itself claims."""
        return self.facts.role if self.facts else Role.UNKNOWN


@dataclass(frozen=True, slots=True)
class Tree:
    """Nodes by index, in order of start; ``tops`` have no known parent."""

    nodes: tuple[Node, ...]
    tops: tuple[int, ...]
    order: tuple[int, ...]
    """Indices in depth-first order."""

    def ancestors(self, index: int) -> Iterator[int]:
        """Yield the ancestors of a node, nearest first."""
        parent = self.nodes[index].parent
        while parent != NONE:
            yield parent
            parent = self.nodes[parent].parent

    def subtree(self, index: int) -> Sequence[int]:
        """Return a node and its descendants, in depth-first order."""
        node = self.nodes[index]
        return self.order[node.enter : node.leave]

    def contains(self, outer: int, inner: int) -> bool:
        """Tell whether ``inner`` is a descendant of ``outer``."""
        first, second = self.nodes[outer], self.nodes[inner]
        return first.enter < second.enter < first.leave


def build_tree(spans: Iterable[Span], facts: dict[bytes, SpanFacts]) -> Tree:
    """Return the tree of ``spans`` with ``facts`` by span id.

    The same spans in any order and any number of times give the same tree. Parents that lead
    in a circle are cut at the earliest span. Orphans whose parent was not sent (a span that is
    no part of a run was forwarded at once) hang below the shortest span that encloses them all
    in time, if there is one. A second instrumentation's calls hang below the spans in which
    they ran (:func:`~otel_raglog.mapping.adopting.find_hosts`).
    """
    ordered = sorted(
        unique_spans(spans),
        key=lambda span: (span.start_unix_nano, -span.end_unix_nano, span.span_id),
    )
    known = [facts.get(span.span_id) for span in ordered]
    index_of = {span.span_id: index for index, span in enumerate(ordered)}
    parents = [index_of.get(span.parent_id, NONE) for span in ordered]
    _cut_circles(parents)
    _reattach(ordered, known, parents)
    tops, children = _children(parents)
    hosts = find_hosts(ordered, known, tops, children)
    if hosts:
        for stray, host in hosts.items():
            parents[stray] = host
        tops, children = _children(parents)
    return _numbered(ordered, known, parents, tops, children)


def unique_spans(spans: Iterable[Span]) -> list[Span]:
    """Return one copy per span id: the fullest one, whichever came first."""
    by_id: dict[bytes, Span] = {}
    for span in spans:
        other = by_id.get(span.span_id)
        if other is None or (span != other and _fullness(span) > _fullness(other)):
            by_id[span.span_id] = span
    return list(by_id.values())


def _fullness(span: Span) -> tuple[int, int, str]:
    attributes = sorted((key, repr(value)) for key, value in span.attributes.items())
    rest = (span.name, span.parent_id, span.start_unix_nano, span.status_code, len(span.events))
    return len(attributes), span.end_unix_nano, repr((attributes, rest))


def _cut_circles(parents: list[int]) -> None:
    done = bytearray(len(parents))
    for start in range(len(parents)):
        path: list[int] = []
        on_path: set[int] = set()
        index = start
        while index != NONE and not done[index]:
            if index in on_path:
                circle = path[path.index(index) :]
                parents[min(circle)] = NONE
                break
            path.append(index)
            on_path.add(index)
            index = parents[index]
        for passed in path:
            done[passed] = 1


def _reattach(spans: Sequence[Span], facts: Sequence[SpanFacts | None], parents: list[int]) -> None:
    groups: dict[bytes, list[int]] = {}
    for index, parent in enumerate(parents):
        span = spans[index]
        if parent == NONE and span.parent_id and span.parent_id != span.span_id:
            groups.setdefault(span.parent_id, []).append(index)
    if len(groups) > MAX_REATTACHED:
        return
    for _, group in sorted(groups.items(), key=lambda item: item[1]):
        container = _container(group, spans, facts, parents)
        if container != NONE:
            for index in group:
                parents[index] = container


def _container(
    group: Sequence[int],
    spans: Sequence[Span],
    facts: Sequence[SpanFacts | None],
    parents: Sequence[int],
) -> int:
    """Return the shortest span that encloses a group of siblings in time.

    Siblings are never put below one another. What looks like a whole pipeline is put only
    below a span that says nothing itself (an HTTP server span): two runs that overlap in time
    must not swallow each other.
    """
    start = min(spans[index].start_unix_nano for index in group)
    end = max(spans[index].end_unix_nano for index in group)
    if start <= 0 or end < start:
        return NONE
    whole = any(_looks_whole(facts[index]) for index in group)
    candidates = [
        index
        for index, span in enumerate(spans)
        if span.start_unix_nano <= start
        and span.end_unix_nano >= end
        and index not in group
        and not _is_leaf(facts[index])
        and not (whole and facts[index] is not None)
    ]
    candidates.sort(
        key=lambda index: (spans[index].end_unix_nano - spans[index].start_unix_nano, -index)
    )
    members = set(group)
    return next((index for index in candidates if _top_of(index, parents) not in members), NONE)


def _looks_whole(facts: SpanFacts | None) -> bool:
    return (
        facts is not None
        and facts.role in _OUTER_ROLES
        and facts.input.value is not None
        and facts.output.value is not None
    )


def _is_leaf(facts: SpanFacts | None) -> bool:
    return facts is not None and facts.role in _LEAF_ROLES


def _top_of(index: int, parents: Sequence[int]) -> int:
    while parents[index] != NONE:
        index = parents[index]
    return index


def _children(parents: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    children: list[list[int]] = [[] for _ in parents]
    tops: list[int] = []
    for index, parent in enumerate(parents):
        (tops if parent == NONE else children[parent]).append(index)
    return tops, children


def _numbered(
    spans: Sequence[Span],
    facts: Sequence[SpanFacts | None],
    parents: Sequence[int],
    tops: Sequence[int],
    children: Sequence[Sequence[int]],
) -> Tree:
    enter = [0] * len(spans)
    leave = [0] * len(spans)
    order: list[int] = []
    pending: list[tuple[int, bool]] = [(top, False) for top in reversed(tops)]
    while pending:
        index, entered = pending.pop()
        if entered:
            leave[index] = len(order)
            continue
        enter[index] = len(order)
        order.append(index)
        pending.append((index, True))
        pending.extend((child, False) for child in reversed(children[index]))
    nodes = tuple(
        Node(
            index,
            spans[index],
            facts[index],
            parents[index],
            tuple(children[index]),
            enter[index],
            leave[index],
        )
        for index in range(len(spans))
    )
    return Tree(nodes, tuple(tops), tuple(order))
