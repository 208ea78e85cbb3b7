"""A trace's tree to the spans of each run in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from otel_raglog.mapping.chaining import Chain, chained, speaks
from otel_raglog.mapping.question import asks_several
from otel_raglog.mapping.questions_apart import split_questions
from otel_raglog.mapping.roles import GENERATOR_NAME, called
from otel_raglog.mapping.texts import normal
from otel_raglog.mapping.tree import NONE, Node, Tree
from otel_raglog.mapping.turns import split_turns
from otel_raglog.model import FieldStatus, Role

_OUTER = {Role.CHAIN, Role.AGENT, Role.UNKNOWN, Role.TOOL}
_SEARCH = {Role.RETRIEVER, Role.RERANKER, Role.EMBEDDER, Role.TOOL}


@dataclass(frozen=True, slots=True)
class Part:
    """The spans of one run.

    ``top`` is the topmost one; ``spoken`` is the topmost one that has the question or the
    answer, :data:`NONE` if none has. Of pipelines beside one another that are one run
    (``voices``, in order of time) one has the question, mostly the first, and a later one the answer.
    """

    top: int
    spoken: int
    indices: tuple[int, ...]
    voices: tuple[int, ...] = ()


def split(tree: Tree) -> tuple[Part, ...]:
    """Return the runs of a trace, in order of time; at least one if there are spans.

    A span that has input or output of its own is one run with all within it, however many
    searches and LLM calls it nests. A span that has none (an HTTP server span, or no span at
    all above several roots) is split when two or more of the pipelines below it each search
    and then answer, or when LLM calls right below it are the turns of a conversation or
    independent questions, or when pipelines without content ran side by side. Pipelines of which one
    was told what another one wrote stay together (:func:`~otel_raglog.mapping.chaining.chained`). A
    span beside the pipelines goes with the one in whose time it lies, else with the next one.
    """
    if not tree.nodes:
        return ()
    roots = _run_roots(tree)
    if len(roots) <= 1:
        top = _topmost(tree)
        turns = (tree.order,) if roots else split_turns(tree)
        if not roots and len(turns) == 1:
            turns = split_questions(tree)
        if len(turns) > 1:
            return tuple(Part(min(turn), NONE, turn) for turn in turns)
        batch = () if roots else _silent_batch(tree)
        if not batch:
            together = _together(tree, roots)
            if together:
                return (_whole_part(tree, top, together[0]),)
            return (Part(top, roots[0] if roots else NONE, tree.order),)
        roots = batch
    return _apart(tree, roots)


def _apart(tree: Tree, roots: Sequence[int]) -> tuple[Part, ...]:
    """Return each root with all within it, and what is one run with it or stands beside it."""
    found = _together(tree, roots)
    if len(found) == 1 and set(roots) <= set(found[0].members):
        return (_whole_part(tree, _topmost(tree), found[0]),)
    chains = {index: chain for chain in found for index in chain.members}
    head = {index: chain.members[0] for index, chain in chains.items()}
    owners: dict[int, list[int]] = {}
    for root in roots:
        owners.setdefault(head.get(root, root), []).extend(_own(tree, root, roots))
    for index in chains.keys() - set(roots):
        owners[head[index]] += tree.subtree(index)
    taken = {index for owned in owners.values() for index in owned}
    for index in tree.order:
        node = tree.nodes[index]
        if index in taken or node.facts is None or any(tree.contains(index, r) for r in roots):
            continue
        root = _owner(tree, node, roots)
        owners[head.get(root, root)].append(index)
    parts: list[Part] = []
    for first, owned in sorted(owners.items()):
        indices = tuple(sorted(owned, key=lambda index: tree.nodes[index].enter))
        chain = chains.get(first)
        spoken, voices = _spoken_of(tree, chain) if chain else (first, ())
        parts.append(Part(first, spoken, indices, voices))
    return tuple(parts)


def _together(tree: Tree, roots: Sequence[int]) -> tuple[Chain, ...]:
    """Return the spans that are one run with roots that search and answer."""
    return chained(tree, {root for root in roots if _searches_and_answers(tree, root)})


def _whole_part(tree: Tree, top: int, chain: Chain) -> Part:
    """Return all spans as the run of pipelines that belong together."""
    spoken, voices = _spoken_of(tree, chain)
    return Part(top, spoken, tree.order, voices)


def _spoken_of(tree: Tree, chain: Chain) -> tuple[int, tuple[int, ...]]:
    """Return which pipeline has the question, if one has, and all of them."""
    voices = tuple(index for index in chain.members if tree.nodes[index].role in _OUTER)
    return chain.asks if chain.asks in voices else NONE, voices


def _run_roots(tree: Tree) -> tuple[int, ...]:
    pending: list[tuple[int, ...]] = [tree.tops]
    found: list[int] = []
    while pending:
        level = pending.pop()
        speaking = _speaking(tree, level)
        whole = _whole(tree, speaking)
        for index in whole if len(whole) > 1 else speaking:
            node = tree.nodes[index]
            inner = _whole(tree, _speaking(tree, node.children))
            if len(inner) > 1 and node.facts is not None and asks_several(node.facts, len(inner)):
                pending.append(tuple(inner))
            elif len(whole) > 1:
                found.append(index)
    if len(found) > 1:
        return tuple(sorted(twin for index in found for twin in _batch(tree, index)))
    spoken = _spoken(tree)
    return () if spoken == NONE else _batch(tree, spoken)


def _batch(tree: Tree, index: int) -> tuple[int, ...]:
    """Return a run, and those of its batch that lie below it: each may have the next within it.

    A tracer that takes the run that was begun last for the parent nests runs that were begun
    together (OpenLLMetry with LangChain's ``batch``).
    """
    found = [index]
    while (twin := _next_of_batch(tree, found[-1])) != NONE:
        found.append(twin)
    return tuple(found)


def _next_of_batch(tree: Tree, index: int) -> int:
    """Return the run of the same name and another input that was begun before all else in a run."""
    node = tree.nodes[index]
    if not node.children or node.role not in _OUTER:
        return NONE
    first = min(node.children, key=lambda child: tree.nodes[child].span.start_unix_nano)
    inner = tree.nodes[first]
    alike = inner.span.name == node.span.name and inner.role is node.role
    if not alike or node.facts is None or inner.facts is None:
        return NONE
    given, other = node.facts.input.value, inner.facts.input.value
    if not given or not other or given == other:
        return NONE
    apart = (_own(tree, index, (first,))[1:], tree.subtree(first)[1:])
    return first if all(_search_and_answer(tree, spans) for spans in apart) else NONE


def _silent_batch(tree: Tree) -> tuple[int, ...]:
    """Return pipelines that ran side by side, of which no span tells what they were asked.

    They are of one name, each searches and then answers, all that searches or answers is in one
    of them, and they overlap in time: steps of an agent follow one another. Where a prompt can be
    read, texts tell questions apart (:func:`split_questions`).
    """
    level: Sequence[int] = tree.tops
    while True:
        found = [
            index
            for index in level
            if tree.nodes[index].role in _OUTER and _searches_and_answers(tree, index)
        ]
        if len(found) != 1:
            break
        level = tree.nodes[found[0]].children
    steps = [n for n in tree.nodes if n.role in _SEARCH or n.role is Role.LLM]
    asked = [n.facts.messages for n in steps if n.role is Role.LLM and n.facts is not None]
    if (
        len({tree.nodes[index].span.name for index in found}) != 1
        or any(said.status is FieldStatus.PRESENT for said in asked)
        or not all(any(tree.contains(index, n.index) for index in found) for n in steps)
    ):
        return ()
    found.sort(key=lambda index: (tree.nodes[index].span.start_unix_nano, index))
    spans = [tree.nodes[index].span for index in found]
    beside = all(b.start_unix_nano < a.end_unix_nano for a, b in pairwise(spans))
    return tuple(found) if beside else ()


def _own(tree: Tree, root: int, roots: Sequence[int]) -> list[int]:
    """Return the spans of a run without those of the runs below it."""
    within = [other for other in roots if other != root and tree.contains(root, other)]
    taken = {index for other in within for index in tree.subtree(other)}
    return [index for index in tree.subtree(root) if index not in taken]


def _speaking(tree: Tree, level: Sequence[int]) -> list[int]:
    """Return the topmost spans at or below ``level`` that have input or output."""
    found: list[int] = []
    pending = list(reversed(level))
    while pending:
        index = pending.pop()
        if speaks(tree.nodes[index]):
            found.append(index)
        else:
            pending.extend(reversed(tree.nodes[index].children))
    return found


def _whole(tree: Tree, indices: Sequence[int]) -> list[int]:
    """Return the pipelines that search and then answer, and those of the same name that answer.

    An agent that could answer one of its turns without a search has the name of the others.
    """
    outer = [index for index in indices if tree.nodes[index].role in _OUTER]
    complete = [index for index in outer if _searches_and_answers(tree, index)]
    names = {tree.nodes[index].span.name for index in complete}
    return [
        index
        for index in outer
        if index in complete or (tree.nodes[index].span.name in names and _answers(tree, index))
    ]


def _searches_and_answers(tree: Tree, index: int) -> bool:
    return _search_and_answer(tree, tree.subtree(index)[1:])


def _search_and_answer(tree: Tree, indices: Sequence[int]) -> bool:
    searches = [tree.nodes[i].span.end_unix_nano for i in indices if tree.nodes[i].role in _SEARCH]
    answers = [tree.nodes[i].span.end_unix_nano for i in indices if _may_answer(tree.nodes[i])]
    return bool(searches) and bool(answers) and max(answers) > min(searches)


def _answers(tree: Tree, index: int) -> bool:
    return any(_may_answer(tree.nodes[i]) for i in tree.subtree(index)[1:])


def _may_answer(node: Node) -> bool:
    if node.role is Role.LLM:
        return True
    if node.facts is None or node.role not in _OUTER or node.children:
        return False
    return GENERATOR_NAME.search(called(node)) is not None


def _topmost(tree: Tree) -> int:
    """Return the true root if there is one, else the first of the topmost spans."""
    roots = [index for index in tree.tops if not tree.nodes[index].span.parent_id]
    return min(roots or tree.tops)


def _spoken(tree: Tree) -> int:
    """Return the topmost span with input or output that is around the whole run.

    Of several siblings that have some (the nodes of a graph whose root was never sent), only
    one that searches and answers is.
    """
    speaking = _speaking(tree, tree.tops)
    outer = [index for index in speaking if tree.nodes[index].role in _OUTER]
    if len(speaking) == len(outer) == 1 and not _serves(tree, outer[0]):
        return outer[0]
    whole = (index for index in outer if _searches_and_answers(tree, index))
    return next((index for index in whole if not _reports(tree, index)), NONE)


def _serves(tree: Tree, index: int) -> bool:
    """Tell whether a tool works for LLM calls beside it, which were recorded without content."""
    node = tree.nodes[index]
    return node.role is Role.TOOL and any(
        other.role is Role.LLM and not tree.contains(index, other.index) for other in tree.nodes
    )


def _reports(tree: Tree, index: int) -> bool:
    """Tell whether a later LLM call was handed what a pipeline answered, as a tool's result."""
    end = tree.nodes[index].span.end_unix_nano
    said = {
        normal(message.content)
        for inner in tree.subtree(index)
        if (facts := tree.nodes[inner].facts) is not None and facts.role is Role.LLM
        for message in facts.output_messages.value or ()
    } - {""}
    return any(
        message.role == "tool" and normal(message.content) in said
        for node in tree.nodes
        if node.role is Role.LLM and node.facts is not None and node.span.start_unix_nano >= end
        for message in (node.facts.messages.value or () if said else ())
    )


def _owner(tree: Tree, node: Node, roots: Sequence[int]) -> int:
    """Return the pipeline in whose time a span lies, else the next one, else the last."""
    start, end = node.span.start_unix_nano, node.span.end_unix_nano
    around = [
        root
        for root in roots
        if tree.nodes[root].span.start_unix_nano <= start
        and tree.nodes[root].span.end_unix_nano >= end
    ]
    if around:
        return max(around, key=lambda root: tree.nodes[root].span.start_unix_nano)
    return next((r for r in roots if tree.nodes[r].span.start_unix_nano >= end), roots[-1])
