"""The spans of a trace to a tree for people: what became of each, what was read, what was lost."""

from __future__ import annotations

from collections.abc import Sequence

from rich.tree import Tree

from otel_raglog.commands.tables import shorten, text_of
from otel_raglog.explaining.explained_trace import ExplainedSpan, ExplainedTrace, Outcome
from otel_raglog.explaining.span_reading import WORDS, Sought, Used
from otel_raglog.model import FieldStatus

MOST_SPANS = 200
"""Spans that are shown of one trace: its steps before all others."""

MOST_SIBLINGS = 50
MOST_LEVELS = 25
"""Levels beyond which the tree gets no deeper: nobody reads a line of indents."""

_WIDTH = 160
_NAME_WIDTH = 80
_MOST_KEYS = 8
_MOST_REMEDIES = 20
_TOLD = (Outcome.STEP, Outcome.COLLAPSED)
_STYLES = {Outcome.STEP: "bold", Outcome.NOT_READ: "dim", Outcome.LEFT_OUT: "dim"}


def span_tree(trace: ExplainedTrace, title: str) -> Tree:
    """Return the tree of a trace's spans under ``title``, and below it what to do about losses."""
    tree = Tree(text_of(title))
    shown = _shown(trace.spans)
    numbers = {remedy.text: number for number, remedy in enumerate(trace.remedies, 1)}
    branches: dict[int, tuple[Tree, int]] = {}
    hidden = 0
    place = tree
    for position, item in enumerate(trace.spans):
        branch, level = branches.get(item.parent, (tree, 0))
        if position not in shown:
            if not hidden:
                place = branch
            hidden += 1
            # What is below a hidden span goes where that would be.
            branches[position] = (branch, level)
            continue
        if hidden:
            place.add(text_of(_more(hidden), "dim"))
            hidden = 0
        leaf = branch.add(text_of(_headline(item, level), _STYLES.get(item.outcome, "")))
        for line in _details(item, numbers):
            leaf.add(text_of(line, "dim"))
        deep = level + 1 >= MOST_LEVELS
        branches[position] = (branch, level) if deep else (leaf, level + 1)
    if hidden:
        place.add(text_of(_more(hidden), "dim"))
    _add_remedies(tree, trace)
    return tree


def _shown(spans: Sequence[ExplainedSpan]) -> frozenset[int]:
    """Return the positions of the spans that are shown: all, or the most telling ones."""
    siblings: dict[int, int] = {}
    first: list[int] = []
    second: list[int] = []
    for position, item in enumerate(spans):
        number = siblings[item.parent] = siblings.get(item.parent, 0) + 1
        if item.outcome in _TOLD or item.read_here:
            first.append(position)
        elif number <= MOST_SIBLINGS and item.depth < MOST_LEVELS:
            second.append(position)
    return frozenset([*first, *second][:MOST_SPANS])


def _more(count: int) -> str:
    return f"… {count} more span{'s' if count > 1 else ''}"


def _headline(item: ExplainedSpan, level: int) -> str:
    span = item.reading.span
    line = f"{shorten(span.name, _NAME_WIDTH) or '(no name)'}: {item.became}"
    titles = ", ".join(convention.title for convention in item.reading.speaking)
    if titles and item.reading.facts is not None:
        line += f" [{titles}]"
    line += f" span {span.span_id.hex()}"
    if item.depth > level:
        line += f" (level {item.depth + 1})"
    return line


def _details(item: ExplainedSpan, numbers: dict[str, int]) -> list[str]:
    lines = [shorten(why, _WIDTH) for why in item.why]
    if item.placed:
        lines.append(item.placed)
    if item.read_here:
        lines.append(f"{', '.join(item.read_here)} read here")
    if item.reading.used:
        own = item.reading.facts.convention if item.reading.facts else ""
        lines.append("read: " + "; ".join(_used(used, own) for used in item.reading.used))
    if item.reading.sought:
        lines.append("looked for in vain: " + "; ".join(map(_sought, item.reading.sought)))
    lines.extend(
        f"lost: {shorten(lost.what, 2 * _WIDTH)} (see {numbers[lost.remedy]} below)"
        for lost in item.losses
    )
    return lines


def _used(used: Used, own: str) -> str:
    line = WORDS[used.fact]
    if used.count is not None:
        line += f" ({used.count})"
    if used.key:
        line += f" from {shorten(used.key, _WIDTH)}"
    if used.convention != own:
        line += f" ({used.convention})"
    return line if used.status is FieldStatus.PRESENT else f"{line}, {used.status.value}"


def _sought(sought: Sought) -> str:
    line = WORDS[sought.fact]
    if sought.status is not FieldStatus.NOT_CAPTURED:
        line += f" ({sought.status.value})"
    parts = []
    if sought.keys:
        parts.append("no " + _keys(sought.keys))
    if sought.unusable:
        parts.append(f"nothing of use in {_keys(sought.unusable)}")
    parts.extend(sought.notes)
    return f"{line}: {', '.join(parts)}" if parts else line


def _keys(keys: Sequence[str]) -> str:
    more = len(keys) - _MOST_KEYS
    return " / ".join(keys[:_MOST_KEYS]) + (f" and {more} more" if more > 0 else "")


def _add_remedies(tree: Tree, trace: ExplainedTrace) -> None:
    if not trace.remedies:
        return
    branch = tree.add(text_of("what to do"))
    for number, remedy in enumerate(trace.remedies[:_MOST_REMEDIES], 1):
        times = f", {remedy.spans} times" if remedy.spans > 1 else ""
        branch.add(text_of(f"{number}. {', '.join(remedy.kinds)}{times}: {remedy.text}"))
    more = len(trace.remedies) - _MOST_REMEDIES
    if more > 0:
        branch.add(text_of(f"… {more} more", "dim"))
