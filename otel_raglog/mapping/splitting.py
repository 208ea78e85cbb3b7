"""A trace's tree to the spans of each run in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from otel_raglog.mapping.question import asks_several
from otel_raglog.mapping.questions_apart import split_questions
from otel_raglog.mapping.roles import GENERATOR_NAME
from otel_raglog.mapping.tree import NONE, Node, Tree
from otel_raglog.mapping.turns import split_turns
from otel_raglog.model import FieldStatus, Role

_OUTER = {Role.CHAIN, Role.AGENT, Role.UNKNOWN, Role.TOOL}
_SEARCH = {Role.RETRIEVER, Role.RERANKER, Role.EMBEDDER, Role.TOOL}


@dataclass(frozen=True, slots=True)
class Part:
    """The spans of one run.

    ``top`` is the topmost one; ``spoken`` is the topmost one that has the question or the
    answer, :data:`NONE` if none has.
    """

    top: int
    spoken: int
    indices: tuple[int, ...]


def split(tree: Tree) -> tuple[Part, ...]:
    """Return the runs of a trace, in order of time; at least one if there are spans.

    A span that has input or output of its own is one run with all within it, however many
    searches and LLM calls it nests. A span that has none (an HTTP server span, or no span at
    all above several roots) is split when two or more of the pipelines below it each search
    and then answer, or when LLM calls right below it are the turns of a conversation or
    independent questions. A span beside the pipelines goes with the one in whose time it lies,
    else with the next one.
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
        return (Part(top, roots[0] if roots else NONE, tree.order),)
    owners = {root: list(tree.subtree(root)) for root in roots}
    taken = {index for owned in owners.values() for index in owned}
    for index in tree.order:
        node = tree.nodes[index]
        if index in taken or node.facts is None or any(tree.contains(index, r) for r in roots):
            continue
        owners[_owner(tree, node, roots)].append(index)
    return tuple(
        Part(root, root, tuple(sorted(owned, key=lambda index: tree.nodes[index].enter)))
        for root, owned in owners.items()
    )


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
        return tuple(sorted(found))
    spoken = _spoken(tree)
    return () if spoken == NONE else (spoken,)


def _speaking(tree: Tree, level: Sequence[int]) -> list[int]:
    """Return the topmost spans at or below ``level`` that have input or output."""
    found: list[int] = []
    pending = list(reversed(level))
    while pending:
        index = pending.pop()
        if _speaks(tree.nodes[index]):
            found.append(index)
        else:
            pending.extend(reversed(tree.nodes[index].children))
    return found


def _speaks(node: Node) -> bool:
    silent = {FieldStatus.NOT_CAPTURED, FieldStatus.EVICTED}
    return node.facts is not None and not (
        node.facts.input.status in silent and node.facts.output.status in silent
    )


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
    searches = [
        tree.nodes[i].span.end_unix_nano
        for i in tree.subtree(index)[1:]
        if tree.nodes[i].role in _SEARCH
    ]
    answers = [
        tree.nodes[i].span.end_unix_nano
        for i in tree.subtree(index)[1:]
        if _may_answer(tree.nodes[i])
    ]
    return bool(searches) and bool(answers) and max(answers) > min(searches)


def _answers(tree: Tree, index: int) -> bool:
    return any(_may_answer(tree.nodes[i]) for i in tree.subtree(index)[1:])


def _may_answer(node: Node) -> bool:
    if node.role is Role.LLM:
        return True
    if node.facts is None or node.role not in _OUTER or node.children:
        return False
    return GENERATOR_NAME.search(node.span.name) is not None


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
    if len(speaking) == len(outer) == 1:
        return outer[0]
    return next((index for index in outer if _searches_and_answers(tree, index)), NONE)


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
