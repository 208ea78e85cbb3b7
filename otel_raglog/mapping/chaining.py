"""Pipelines beside one another to those that are one run: one is told what another one wrote."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from otel_raglog.conventions.json_text import strings_in
from otel_raglog.mapping.collapse import ERROR_STATUS
from otel_raglog.mapping.judging import is_assessment, is_judgement
from otel_raglog.mapping.question import (
    HISTORY_KEYS,
    spoken_answer,
    spoken_question,
    this_turn,
    turns_in_text,
)
from otel_raglog.mapping.texts import folded, lines_of, normal, pieces_of
from otel_raglog.mapping.tree import Node, Tree
from otel_raglog.mapping.verdicts import is_verdict
from otel_raglog.model import FieldStatus, Role, SpanFacts

MOST_BEFORE = 20
"""Spans before one that it is compared with, nearest first."""

_OUTER = {Role.CHAIN, Role.AGENT, Role.UNKNOWN}
_INNER = {Role.RETRIEVER, Role.RERANKER, Role.EMBEDDER, Role.TOOL, Role.GUARDRAIL}
_MOST_PIECES = 60
_MOST_CALLS = 20
_MOST_DEPTH = 3
_FEWEST_CHARACTERS = 3
_SHORTEST_TOLD = 8
"""Characters of an output below which finding it within a text may be chance."""
_FEWEST_TOLD_WORDS = 5
"""Words below which an output may stand in instructions by chance (``say that you do not know``)."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A text as it is, and :func:`~otel_raglog.mapping.texts.folded`."""

    plain: str
    folded: str


@dataclass(frozen=True, slots=True)
class _Member:
    """One of several spans beside one another, with its texts for comparison.

    ``whole`` tells that it searches and then answers, ``pieces`` are those of what it ``wrote``,
    ``lines`` those of what it was ``shown`` and ``instructed``.
    """

    index: int
    start: int
    end: int
    whole: bool
    failed: bool
    judges: bool
    asked: str
    wrote: str
    pieces: frozenset[str]
    shown: tuple[_Text, ...]
    instructed: tuple[_Text, ...]
    lines: frozenset[str]


def speaks(node: Node) -> bool:
    """Tell whether a span has input or output of its own, if only hidden or cut."""
    silent = {FieldStatus.NOT_CAPTURED, FieldStatus.EVICTED}
    return node.facts is not None and not (
        node.facts.input.status in silent and node.facts.output.status in silent
    )


class Chain(NamedTuple):
    """Spans that are one run, in order of time; ``asks`` is the one that was given the question."""

    asks: int
    members: tuple[int, ...]


def chained(tree: Tree, whole: Collection[int]) -> tuple[Chain, ...]:
    """Return groups of spans that are one run together.

    The spans are the topmost ones that have input or output, and LLM calls outside of them. One
    belongs to an earlier one that wrote what it is asked, or that failed when it was asked the
    same; one that does not search and then answer also to those whose answers it was shown. One that
    says nothing, or judges, belongs to none. Several questions that one wrote are parts of one
    question where a later one was shown the answers to them, and so are any where that one is asked
    a question of its own; else they may be anybody's questions. Each group has one of ``whole``,
    which search and then answer. A talk told before is none of what a span was shown.
    """
    indices = list(_topmost(tree))
    if len(indices) < 2 or not any(index in whole for index in indices):  # noqa: PLR2004  alone
        return ()
    members = sorted(
        (_member(tree, index, whole=index in whole) for index in indices),
        key=lambda member: (member.start, member.end, member.index),
    )
    groups = _Groups(len(members))
    for first, second in (*_asked(members), *_parts(members)):
        groups.join(first, second)
    asks: list[int] = []
    for at, later in enumerate(members):
        told = _told(members, at)
        apart = [groups.of(before) for before in told if members[before].whole]
        if len(apart) > 1 and len(set(apart)) == len(apart):  # no two are parts of one question
            if not later.asked or any(members[before].wrote in later.asked for before in told):
                continue
            asks.append(at)
        for before in told:
            groups.join(before, at)
    chains = [group for group in groups.all() if len(group) > 1]
    return tuple(
        Chain(
            members[next((at for at in group if at in asks), group[0])].index,
            tuple(members[at].index for at in group),
        )
        for group in chains
        if any(members[at].whole for at in group)
    )


class _Groups:
    """Positions that are joined to groups, each named by its first one."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))

    def of(self, position: int) -> int:
        while self._parent[position] != position:
            self._parent[position] = self._parent[self._parent[position]]
            position = self._parent[position]
        return position

    def join(self, first: int, second: int) -> None:
        one, two = sorted((self.of(first), self.of(second)))
        self._parent[two] = one

    def all(self) -> list[list[int]]:
        found: dict[int, list[int]] = {}
        for position in range(len(self._parent)):
            found.setdefault(self.of(position), []).append(position)
        return list(found.values())


def _topmost(tree: Tree) -> Iterator[int]:
    pending = list(reversed(tree.tops))
    while pending:
        node = tree.nodes[pending.pop()]
        if node.role is Role.LLM or (node.role in _OUTER and speaks(node)):
            yield node.index
        elif node.role not in _INNER:
            pending.extend(reversed(node.children))


def _member(tree: Tree, index: int, *, whole: bool) -> _Member:
    node = tree.nodes[index]
    below = [tree.nodes[inner] for inner in tree.subtree(index)]
    calls = [n.facts for n in below if n.role is Role.LLM and n.facts is not None]
    prompts = [m for facts in calls[:_MOST_CALLS] for m in this_turn(facts.messages.value or ())]
    asked = wrote = ""
    shown = [message.content for message in prompts if message.role == "user"]
    told = [message.content for message in prompts if message.role == "system"]
    if node.facts is not None and node.role is Role.LLM:
        wrote = next((m.content for m in node.facts.output_messages.value or ()), "")
    elif node.facts is not None:
        asked = spoken_question(node.facts).value or ""
        wrote = spoken_answer(node.facts).value or ""
        shown += [asked, *_given(node.facts)]
    data = node.facts.output_data if node.facts is not None else None
    lines = {normal(line) for text in (*shown, *told) for line in lines_of(text)}
    return _Member(
        index=index,
        start=node.span.start_unix_nano,
        end=node.span.end_unix_nano,
        whole=whole,
        failed=node.span.status_code == ERROR_STATUS
        or (not wrote and any(n.span.status_code == ERROR_STATUS for n in below)),
        judges=is_assessment(wrote) or is_judgement(prompts, wrote),
        asked=normal(asked),
        wrote=normal(wrote),
        pieces=frozenset(map(normal, pieces_of(wrote, data)[:_MOST_PIECES])),
        shown=tuple(_Text(text, folded(text)) for text in dict.fromkeys(shown)),
        instructed=tuple(_Text(text, folded(text)) for text in dict.fromkeys(told)),
        lines=frozenset(lines),
    )


def _given(facts: SpanFacts) -> Iterator[str]:
    """Yield the texts of an input, without the talk before."""
    if facts.input_data is None:
        yield facts.input.value or ""
    else:
        yield from strings_in(_without_talk(facts.input_data, 0))


def _without_talk(data: object, depth: int) -> object:
    if not isinstance(data, dict) or depth > _MOST_DEPTH:
        return data
    return {
        key: _without_talk(value, depth + 1)
        for key, value in data.items()
        if key not in HISTORY_KEYS
    }


def _before(members: Sequence[_Member], at: int) -> Iterator[int]:
    for before in range(max(0, at - MOST_BEFORE), at):
        if members[before].end <= members[at].start:
            yield before


def _asked(members: Sequence[_Member]) -> Iterator[tuple[int, int]]:
    """Yield those of which the later one is asked what the earlier one wrote, or failed at."""
    for at, later in enumerate(members):
        if len(later.asked) < _FEWEST_CHARACTERS:
            continue
        for before in _before(members, at):
            earlier = members[before]
            again = earlier.failed and earlier.asked == later.asked
            handed_on = later.whole and later.asked == earlier.wrote
            if again or (handed_on and later.wrote and not later.judges):
                yield before, at


def _told(members: Sequence[_Member], at: int) -> list[int]:
    """Return the earlier ones whose answers one that does not search itself was shown."""
    later = members[at]
    if later.whole or later.judges or not later.wrote:
        return []
    return [before for before in _before(members, at) if _is_shown(later, members[before])]


def _is_shown(later: _Member, earlier: _Member) -> bool:
    """Tell whether one was shown what an earlier one wrote.

    A page, or an instruction, with the same words that both were shown does not count.
    """
    wrote = earlier.wrote
    if len(wrote) < _FEWEST_CHARACTERS or is_verdict(wrote):
        return False
    texts = later.shown
    if len(wrote.split()) >= _FEWEST_TOLD_WORDS:
        texts += later.instructed
    if wrote in later.lines and wrote not in earlier.lines:
        return True
    texts = tuple(text for text in texts if wrote in text.folded)
    if len(wrote) < _SHORTEST_TOLD or not texts:
        return False
    around = [
        line
        for known in (*earlier.shown, *earlier.instructed)
        if wrote in known.folded
        for line in map(folded, known.plain.splitlines())
        if wrote in line
    ]
    return any(_tells(text, wrote, around) for text in texts)


def _tells(text: _Text, wrote: str, around: Sequence[str]) -> bool:
    """Tell whether a text holds what was written elsewhere than in known lines, and is no talk."""
    rest = text.folded
    for line in around:
        rest = rest.replace(line, " ")
    talk = turns_in_text(text.plain) if wrote in rest else ()
    return wrote in rest and not any(turn.role == "assistant" for turn in talk)


def _parts(members: Sequence[_Member]) -> Iterator[tuple[int, int]]:
    """Yield what belongs together since one wrote the questions of others, among other things."""
    asking: dict[str, list[int]] = {}
    for at, member in enumerate(members):
        if member.whole and not member.judges and len(member.asked) >= _FEWEST_CHARACTERS:
            asking.setdefault(member.asked, []).append(at)
    for at, planner in enumerate(members):
        if planner.whole:
            continue
        fed = [
            other
            for piece in sorted(planner.pieces)
            for other in asking.get(piece, ())
            if planner.end <= members[other].start
        ]
        if not fed or _comes_of_an_answer(members, at):
            continue
        if len(fed) == 1 or _are_used(members, fed):
            yield from ((at, other) for other in fed)


def _comes_of_an_answer(members: Sequence[_Member], at: int) -> bool:
    """Tell whether one was shown an answer: what it wrote the user may ask next."""
    before = (other for other in members[max(0, at - MOST_BEFORE) : at] if other.whole)
    return any(other.end <= members[at].start and _is_shown(members[at], other) for other in before)


def _are_used(members: Sequence[_Member], fed: Sequence[int]) -> bool:
    """Tell whether one was shown the answers to several questions, or to one before its own."""
    parts = sorted(fed)
    for at in range(parts[0] + 1, min(len(members), parts[-1] + MOST_BEFORE)):
        later = members[at]
        known = [
            part
            for part in parts
            if part < at and members[part].end <= later.start and _is_shown(later, members[part])
        ]
        if not later.judges and len(known) >= (1 if at in fed else 2):
            return True
    return False
