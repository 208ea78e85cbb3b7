"""A flat trace of searches and LLM calls to the independent questions that it answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from otel_raglog.mapping.texts import normal, squeezed
from otel_raglog.mapping.tree import Node, Tree
from otel_raglog.model import Role

MAX_EVENTS = 200
"""Searches and calls beyond which a trace is not taken apart: each is compared with each."""

_SEARCHES = {Role.EMBEDDER, Role.RETRIEVER, Role.RERANKER, Role.TOOL}
_FEWEST_CHARACTERS = 3
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class _Event:
    """A search or an LLM call that is not within another one, with its texts for comparison.

    ``asked`` and ``said`` are an LLM's messages and outputs. ``batch`` tells that ``sought`` are
    several texts embedded at once: passages, or rewrites that an LLM wrote. ``lines`` are those
    of the messages.
    """

    index: int
    start: int
    end: int
    searches: bool
    sought: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    batch: bool = False
    lines: frozenset[str] = frozenset()


def split_questions(tree: Tree) -> tuple[tuple[int, ...], ...]:
    """Return the spans of each question when one trace holds several, else one group of all.

    A search and an LLM call belong to one question when the prompt holds what was searched for,
    or the search is for what the call wrote; two calls do when one's prompt holds what the other
    had written by then (what it copied from its own prompt: as a line by itself), or both prompts ask for the same.
    Groups that have nothing in common and that each search and then answer are questions of
    their own. Where texts were not recorded, nothing is taken apart.
    """
    events = _events(tree)
    whole = (tree.order,)
    if not 4 <= len(events) <= MAX_EVENTS:  # noqa: PLR2004  two searches and two answers
        return whole
    at_once = [event for event in events if event.batch and not _was_written(event, events)]
    single = [event for event in events if event not in at_once]
    groups = [group for group in _connected(single) if _answers(group)]
    if len(groups) < 2:  # noqa: PLR2004  there are no questions to tell apart
        return whole
    known = {event.index for group in groups for event in group}
    groups.extend(_left_over([event for event in single if event.index not in known], groups))
    groups.sort(key=lambda group: min(event.start for event in group))
    shared = [event for event in at_once if not _joins_one(event, groups)]
    bare = [event for event in events if event.searches and not event.sought]
    return _with_all_spans(tree, groups, bare, shared)


def _was_written(batch: _Event, events: Sequence[_Event]) -> bool:
    """Tell whether an LLM call wrote what was embedded at once: the rewrites of one question."""
    said = [text for event in events if event.end <= batch.start for text in event.said]
    return any(normal(text) in wrote for text in batch.sought for wrote in said)


def _joins_one(batch: _Event, groups: Sequence[list[_Event]]) -> bool:
    """Add texts that were embedded at once to the one group that searched for them, if it is one.

    Those of several questions are of none: an embedding that holds all is no one's query.
    """
    texts = {normal(text) for text in batch.sought}
    searching = [
        group
        for group in groups
        if any(e.searches and not texts.isdisjoint(map(normal, e.sought)) for e in group)
    ]
    if len(searching) > 1:
        return False
    for group in searching:
        group.append(batch)
    return bool(searching)


def _events(tree: Tree) -> list[_Event]:
    events: list[_Event] = []
    until = 0
    for index in tree.order:
        node = tree.nodes[index]
        if node.enter < until or node.role not in _SEARCHES | {Role.LLM}:
            continue
        until = node.leave
        events.append(_event(tree, node))
    return sorted(events, key=lambda event: (event.start, event.end, event.index))


def _event(tree: Tree, node: Node) -> _Event:
    sought: list[str] = []
    asked: list[str] = []
    said: list[str] = []
    for index in tree.subtree(node.index):
        facts = tree.nodes[index].facts
        if facts is None:
            continue
        if facts.role is Role.LLM:
            asked += [message.content for message in facts.messages.value or ()]
            said += [message.content for message in facts.output_messages.value or ()]
            if facts.output_data is not None and not any(said):
                said.append(facts.output.value or str(facts.output_data))
        elif facts.role is Role.EMBEDDER:
            sought += facts.embedding_texts.value or ()
        elif facts.role in _SEARCHES:
            sought += [facts.query.value or ""]
    telling = _telling(sought)
    return _Event(
        node.index,
        node.span.start_unix_nano,
        node.span.end_unix_nano,
        node.role is not Role.LLM,
        telling,
        _telling(asked),
        _telling(said),
        batch=node.role is Role.EMBEDDER and len(telling) > 1,
        lines=frozenset(normal(line) for text in asked for line in text.splitlines()),
    )


def _telling(texts: Iterable[str]) -> tuple[str, ...]:
    folded = (squeezed(text).casefold() for text in texts)
    return tuple(dict.fromkeys(text for text in folded if len(normal(text)) >= _FEWEST_CHARACTERS))


def _connected(events: Sequence[_Event]) -> list[list[_Event]]:
    """Return the groups of events that have to do with one another, each in order of time."""
    sought = {normal(text) for event in events for text in event.sought}
    longer = {
        text: tuple(other for other in sought if text != other and text in other) for text in sought
    }
    group_of = list(range(len(events)))
    for later, event in enumerate(events):
        for earlier in range(later):
            if group_of[earlier] != group_of[later] and _belong(events[earlier], event, longer):
                old, new = group_of[later], group_of[earlier]
                group_of = [new if group == old else group for group in group_of]
    return [
        [event for event, group in zip(events, group_of, strict=True) if group == name]
        for name in dict.fromkeys(group_of)
    ]


def _belong(first: _Event, second: _Event, longer: Mapping[str, Sequence[str]]) -> bool:
    if first.searches and second.searches:
        return not {normal(text) for text in first.sought}.isdisjoint(map(normal, second.sought))
    if first.searches:
        return not first.batch and _any_holds(second.asked, first.sought, longer)
    ended = first.end <= second.start
    if second.searches:
        wrote = ended and _any_holds(first.said, second.sought, longer)
        return wrote or (not second.batch and _any_holds(first.asked, second.sought, longer))
    if first.asked[-1:] == second.asked[-1:]:
        return True
    handed_on = any(normal(text) in second.lines for text in first.said)
    return ended and (handed_on or _any_holds(second.asked, _of_its_own(first), {}))


def _of_its_own(call: _Event) -> list[str]:
    """Return what a call wrote that it was not shown: a page may be in two questions' prompts."""
    shown = [normal(text) for text in call.asked]
    return [text for text in call.said if not any(normal(text) in prompt for prompt in shown)]


def _any_holds(
    outer: Sequence[str], inner: Sequence[str], longer: Mapping[str, Sequence[str]]
) -> bool:
    needles = [normal(text) for text in inner]
    return any(_holds(text, needle, longer) for text in outer for needle in needles)


def _holds(text: str, needle: str, longer: Mapping[str, Sequence[str]]) -> bool:
    """Tell whether a text holds a search text by itself, not as a part of another one's."""
    if needle not in text:
        return False
    return all(text.count(other) < text.count(needle) for other in longer.get(needle, ()))


def _answers(group: Sequence[_Event]) -> bool:
    """Tell whether a group searches and then answers."""
    searched = [event.end for event in group if event.searches]
    return bool(searched) and any(
        not event.searches and event.end > min(searched) for event in group
    )


def _left_over(rest: Sequence[_Event], groups: Sequence[Sequence[_Event]]) -> list[list[_Event]]:
    """Return further questions among what no group took: neighbours that search and answer.

    A search for something else than the question (a faulty embedder) has no text in common with
    the answering call that follows it.
    """
    ends = sorted(max(event.end for event in group) for group in groups)
    between: dict[int, list[_Event]] = {}
    for event in rest:
        between.setdefault(sum(event.start >= end for end in ends), []).append(event)
    return [found for found in between.values() if _answers(found)]


def _waiting(search: _Event, groups: Sequence[Sequence[_Event]]) -> int | None:
    """Return the group that a search of which no text was recorded belongs to, if one may be it.

    That is one between its embedding and its LLM call then; of several the one embedded last.
    """
    ready = [
        (max(before), number)
        for number, group in enumerate(groups)
        if (before := [e.end for e in group if e.searches and e.end <= search.start])
        and any(not e.searches and e.start >= search.end for e in group)
    ]
    return max(ready)[1] if ready else None


def _with_all_spans(
    tree: Tree,
    groups: Sequence[Sequence[_Event]],
    bare: Sequence[_Event] = (),
    shared: Sequence[_Event] = (),
) -> tuple[tuple[int, ...], ...]:
    """Return the spans of each group: its events with all within, and what leads up to it.

    ``bare`` are searches without a text. A span around events of several groups is of none of
    them, and so are ``shared`` ones that found nothing in common with one group alone.
    """
    events = [(event, number) for number, group in enumerate(groups) for event in group]
    known = {event.index for event, _ in events}
    for event in bare:
        number = _waiting(event, groups)
        if event.index not in known and number is not None:
            events.append((event, number))
    owner = {i: number for event, number in events for i in tree.subtree(event.index)}
    owner.update((i, _NOBODY) for event in shared for i in tree.subtree(event.index))
    for index in tree.order:
        if index in owner:
            continue
        inside = {number for event, number in events if tree.contains(index, event.index)}
        if not inside:
            start = tree.nodes[index].span.start_unix_nano
            later = [number for event, number in events if event.start >= start]
            owner[index] = min(later, default=len(groups) - 1)
        elif len(inside) == 1:
            owner[index] = inside.pop()
    return tuple(
        tuple(index for index in tree.order if owner.get(index) == number)
        for number in range(len(groups))
    )
