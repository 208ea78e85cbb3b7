"""Nested spans of one role to logical steps: what is done once is counted once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

from otel_raglog.mapping.outputs import final_answer
from otel_raglog.mapping.tree import Node, Tree
from otel_raglog.model import (
    NOT_CAPTURED,
    Field,
    FieldStatus,
    Message,
    Role,
    SpanFacts,
    StepOrigin,
    TokenUsage,
)

T = TypeVar("T")

_NO_TOKENS = TokenUsage()

ERROR_STATUS = 2
"""OTLP's ``STATUS_CODE_ERROR``."""

_INFORMATIVE = (
    FieldStatus.REDACTED,
    FieldStatus.TRUNCATED,
    FieldStatus.EVICTED,
    FieldStatus.EXTERNAL,
)


@dataclass(frozen=True, slots=True)
class View:
    """The spans of one run: indices into the tree in depth-first order, and settled roles."""

    tree: Tree
    indices: tuple[int, ...]
    roles: Mapping[int, Role]
    top: int
    _by_role: dict[Role, tuple[int, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        found: dict[Role, list[int]] = {}
        for index in self.indices:
            found.setdefault(self.roles[index], []).append(index)
        by_role = {role: tuple(indices) for role, indices in found.items()}
        object.__setattr__(self, "_by_role", by_role)

    def node(self, index: int) -> Node:
        """Return a node of the tree."""
        return self.tree.nodes[index]

    def facts(self, index: int) -> SpanFacts | None:
        """Return what a span says."""
        return self.tree.nodes[index].facts

    def of_role(self, *roles: Role) -> tuple[int, ...]:
        """Return the spans with one of ``roles``, in depth-first order."""
        if len(roles) == 1:
            return self._by_role.get(roles[0], ())
        return tuple(index for index in self.indices if self.roles[index] in roles)

    def ran_within(self, outer: int, inner: int) -> bool:
        """Tell whether a span is below another one, or beside it and in its time.

        What a retriever calls by itself (a query constructor, an embedder that asks an LLM)
        LangChain records beside the retriever.
        """
        if self.tree.contains(outer, inner):
            return True
        around, within = self.node(outer), self.node(inner)
        beside = around.parent in self.roles and self.tree.contains(around.parent, inner)
        started = around.span.start_unix_nano <= within.span.start_unix_nano
        ended = within.span.end_unix_nano <= around.span.end_unix_nano
        return beside and started and ended and not self.tree.contains(inner, outer)

    def under(self, role: Role) -> frozenset[int]:
        """Return the spans that a span with ``role`` encloses."""
        if role not in self._by_role:
            return frozenset()
        found: set[int] = set()
        until = -1
        for index in self.indices:
            node = self.tree.nodes[index]
            if node.enter < until:
                found.add(index)
            if self.roles[index] is role:
                until = max(until, node.leave)
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class Nesting:
    """Spans of one role as a forest: ``children`` are the nearest descendants of that role."""

    tops: tuple[int, ...]
    children: Mapping[int, tuple[int, ...]]
    inside_out: tuple[int, ...]
    """Every span after all that it encloses."""


_NO_NESTING = Nesting((), {}, ())


@dataclass(frozen=True)
class Call:
    """One logical LLM call: the innermost span, and the wrappers around it.

    ``nodes`` are outermost first. Tokens are the innermost ones recorded, so that nothing is
    counted twice.
    """

    leaf: int
    nodes: tuple[int, ...]
    start: int
    end: int
    messages: Field[tuple[Message, ...]]
    output: Field[str]
    data: object | None = None
    model: str | None = None
    finish_reason: str | None = None
    tokens: TokenUsage = _NO_TOKENS
    variables: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None

    @cached_property
    def prompt(self) -> str:
        """All message text."""
        return "\n\n".join(message.content for message in self.messages.value or ())

    @cached_property
    def told(self) -> str:
        """What the user is told by the output, empty without one."""
        return final_answer(self.output.value or "")


def nest(tree: Tree, indices: Sequence[int]) -> Nesting:
    """Return the forest that spans of one role form among themselves.

    ``indices`` are in depth-first order.
    """
    if not indices:
        return _NO_NESTING
    tops: list[int] = []
    children: dict[int, list[int]] = {index: [] for index in indices}
    open_: list[int] = []
    inside_out: list[int] = []
    for index in indices:
        while open_ and not tree.contains(open_[-1], index):
            inside_out.append(open_.pop())
        if open_:
            children[open_[-1]].append(index)
        else:
            tops.append(index)
        open_.append(index)
    inside_out.extend(reversed(open_))
    return Nesting(
        tuple(tops),
        {index: tuple(inner) for index, inner in children.items()},
        tuple(inside_out),
    )


def chains(nesting: Nesting) -> tuple[tuple[int, ...], ...]:
    """Return each innermost span with the wrappers around it alone, outermost first."""
    outer = {inner: index for index, found in nesting.children.items() for inner in found}
    result: list[tuple[int, ...]] = []
    for index in sorted(nesting.children):
        if nesting.children[index]:
            continue
        chain = [index]
        while chain[-1] in outer and len(nesting.children[outer[chain[-1]]]) == 1:
            chain.append(outer[chain[-1]])
        result.append(tuple(reversed(chain)))
    return tuple(result)


def best(fields: Iterable[Field[T]]) -> Field[T]:
    """Return the first usable field with content; else the one that tells most of the loss."""
    empty: Field[T] | None = None
    lost: Field[T] | None = None
    for candidate in fields:
        if candidate.usable and candidate.status is not FieldStatus.EMPTY:
            return candidate
        if candidate.status is FieldStatus.EMPTY:
            empty = empty or candidate
        elif candidate.status in _INFORMATIVE and (
            lost is None or _INFORMATIVE.index(candidate.status) < _INFORMATIVE.index(lost.status)
        ):
            lost = candidate
    return empty or lost or NOT_CAPTURED


def origin_of(
    view: View, carrier: int, members: Iterable[int], why: str, name: str | None = None
) -> StepOrigin:
    """Return the origin of a step whose verdict ``carrier`` shall bear."""
    span, read = view.node(carrier).span, view.facts(carrier)
    ids = dict.fromkeys([view.node(index).span.span_id for index in sorted({carrier, *members})])
    return StepOrigin(
        span_id=span.span_id,
        span_ids=tuple(ids),
        name=name or (read.component if read else None) or span.name,
        why=why,
        start_unix_nano=span.start_unix_nano,
        end_unix_nano=span.end_unix_nano,
        error=error_of(view.node(carrier)),
    )


def error_of(node: Node) -> str | None:
    """Return a span's error: its status message, or that it has none; ``None`` without error."""
    if node.span.status_code != ERROR_STATUS:
        return None
    return node.span.status_message or "error without a message"


def rewriter_calls(view: View) -> tuple[Call, ...]:
    """Return what a user said to be rewriters, as calls: each with the LLM calls within it.

    Tokens are those of the span itself, where no LLM call within it counts them.
    """
    calls: list[Call] = []
    for top in nest(view.tree, view.of_role(Role.REWRITER)).tops:
        nodes = [top, *(i for i in view.of_role(Role.LLM) if view.tree.contains(top, i))]
        call = _call(view, tuple(nodes))
        said = [facts for index in nodes if (facts := view.facts(index)) is not None]
        outside_in = [*said[:1], *reversed(said[1:])]
        own = view.facts(top)
        calls.append(
            replace(
                call,
                leaf=top,
                start=view.node(top).span.start_unix_nano,
                messages=best([facts.messages for facts in outside_in]),
                output=best([output_of(facts) for facts in outside_in]),
                data=own.output_data if own is not None and own.output_data else call.data,
                tokens=own.tokens if own is not None and len(nodes) == 1 else _NO_TOKENS,
            )
        )
    return tuple(calls)


def llm_calls(view: View) -> tuple[Call, ...]:
    """Return the LLM calls of a run in order of their start, wrappers collapsed."""
    nesting = nest(view.tree, view.of_role(Role.LLM))
    return tuple(_call(view, chain) for chain in chains(nesting))


def _call(view: View, chain: tuple[int, ...]) -> Call:
    inner_first = [facts for index in reversed(chain) if (facts := view.facts(index)) is not None]
    leaf = view.node(chain[-1])
    outputs = [output_of(facts) for facts in inner_first]
    variables: dict[str, str] = {}
    for facts in inner_first:
        variables.update(facts.prompt_variables)
    return Call(
        leaf=chain[-1],
        nodes=chain,
        start=leaf.span.start_unix_nano,
        end=max(view.node(index).span.end_unix_nano for index in chain),
        messages=best([facts.messages for facts in inner_first]),
        output=best(outputs),
        data=next((f.output_data for f in inner_first if f.output_data is not None), None),
        model=next((facts.model for facts in inner_first if facts.model), None),
        finish_reason=next((f.finish_reason for f in inner_first if f.finish_reason), None),
        tokens=next((f.tokens for f in inner_first if f.tokens != TokenUsage()), TokenUsage()),
        variables=variables,
        error=next((e for index in chain if (e := error_of(view.node(index))) is not None), None),
    )


def output_of(facts: SpanFacts) -> Field[str]:
    """Return the text of an LLM's response."""
    read = facts.output_messages
    if read.value is None:
        return Field(None, read.status, read.source)
    text = next((message.content for message in read.value if message.content.strip()), "")
    if not text:
        return Field("", FieldStatus.EMPTY, read.source)
    return Field(text, read.status, read.source)
