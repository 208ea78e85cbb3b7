"""A flat trace of LLM calls to the turns of the conversation in it."""

from __future__ import annotations

from otel_raglog.mapping.question import OBSERVED
from otel_raglog.mapping.texts import normal
from otel_raglog.mapping.tree import Tree
from otel_raglog.model import Role


def split_turns(tree: Tree) -> tuple[tuple[int, ...], ...]:
    """Return the spans of each turn when one trace holds several, else one group of all.

    A turn ends with an LLM call whose output a later call has in its messages as the
    assistant's, with a new user message after it. An agent's own tool calls have no new user
    message: they stay one turn.
    """
    calls = [
        node.index
        for node in tree.nodes
        if node.role is Role.LLM and not any(tree.nodes[c].role is Role.LLM for c in node.children)
    ]
    ends: list[int] = []
    for position, call in enumerate(calls[:-1]):
        if any(_continues(tree, call, later) for later in calls[position + 1 :]):
            ends.append(call)
    if not ends:
        return (tree.order,)
    limits = [tree.nodes[call].span.end_unix_nano for call in ends]
    groups: list[list[int]] = [[] for _ in range(len(limits) + 1)]
    for index in tree.order:
        start = tree.nodes[index].span.start_unix_nano
        if any(tree.contains(index, call) for call in ends):
            continue
        groups[sum(start >= limit for limit in limits)].append(index)
    return tuple(tuple(group) for group in groups if group)


def _continues(tree: Tree, call: int, later: int) -> bool:
    first, second = tree.nodes[call].facts, tree.nodes[later].facts
    if first is None or second is None:
        return False
    said = {
        normal(message.content)
        for message in first.output_messages.value or ()
        if message.content.strip()
    }
    messages = second.messages.value or ()
    answered = [
        position
        for position, message in enumerate(messages)
        if message.role == "assistant" and normal(message.content) in said
    ]
    return bool(answered) and any(
        message.role == "user" and not OBSERVED.match(message.content)
        for message in messages[answered[-1] + 1 :]
    )
