"""The LLM calls of a run to those that made the answer together."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from otel_raglog.mapping.collapse import Call, View
from otel_raglog.mapping.context import has_any, probes_of, shows_context
from otel_raglog.mapping.prompting import said_pieces, template_variables
from otel_raglog.mapping.texts import folded, normal
from otel_raglog.model import Chunk, Field, Role

SYNTHESIZER_NAME = re.compile(
    r"synthesi|get_response|documents.?chain|stuff.?documents|combine_docs|refine|map.?reduce|"
    r"summari[sz]e",
    re.IGNORECASE,
)
"""Names of spans that put chunks into prompts, over as many calls as it takes."""

MAX_FAMILY = 200
"""Calls before the answering one that are looked at, nearest first."""

_SEARCHES = frozenset({Role.RETRIEVER, Role.RERANKER, Role.EMBEDDER})
_FEWEST_LINE_WORDS = 2
"""Words of an output that must be a line of its own in the prompt, if it has no label there."""

_LABELLED = re.compile(
    r"[^\n:]*(?:answer|response|result|summary)[^\n:]{0,12}:(?P<said>.*)", re.IGNORECASE
)

_TOGETHER = 0.5
"""Outputs that are the answer together are at least this much of it."""


def find_family(  # noqa: PLR0917  what a run knows before its answer
    view: View,
    call: Call,
    calls: Sequence[Call],
    apart: Collection[int],
    chunks: Field[tuple[Chunk, ...]],
    answer: Field[str],
) -> tuple[Call, ...]:
    """Return the calls that made the answer, in order of time, ``call`` last.

    Beside ``call`` those are: the other calls of the same synthesizer (refine, tree, map and
    reduce); calls that were shown ``chunks`` and whose output is in the prompt of a member;
    calls whose outputs are the answer together with that of ``call``. A grader's prompt is
    none of these. ``apart`` are calls, by leaf, that rewrite or belong to a search.
    """
    before = [
        other
        for other in calls
        if other is not call and other.leaf not in apart and other.start < call.end
    ][-MAX_FAMILY:]
    top = _synthesizer(view, call)
    members = [call]
    if top is not None:
        members += [other for other in before if view.tree.contains(top, other.leaf)]
    members += [other for other in speakers(call, before, answer) if other not in members]
    probes = probes_of(chunks.value or ()) if before else ()
    shown = [other for other in before if other not in members and _is_shown(view, other, probes)]
    pending = list(members)
    while pending and shown:
        member = pending.pop()
        prompt = folded(member.prompt)
        lines = _lines(member.prompt)
        used = [o for o in shown if o.end <= member.start and _is_used(o, prompt, lines)]
        shown = [other for other in shown if other not in used]
        members += used
        pending += used
    return (*sorted((m for m in members if m is not call), key=lambda m: m.start), call)


def speakers(call: Call, calls: Sequence[Call], answer: Field[str]) -> tuple[Call, ...]:
    """Return the calls whose outputs, one after the other, are the answer; else ``call`` alone.

    A synthesizer that accumulates answers from each chunk joins what it was told.
    """
    if all(other is call for other in calls):
        return (call,)
    said = normal(answer.value or "") if answer.usable else ""
    if not said or normal(call.output.value or "") == said:
        return (call,)
    rest = said
    found: list[Call] = []
    for other in sorted([*(c for c in calls if c is not call), call], key=lambda c: c.start):
        text = normal(other.output.value or "")
        if len(text.split()) >= _FEWEST_LINE_WORDS and text in rest:
            rest = rest.replace(text, "\n", 1)
            found.append(other)
    together = len(found) > 1 and call in found
    if not together or len(rest) > (1 - _TOGETHER) * len(said):
        return (call,)
    return tuple(found)


def _synthesizer(view: View, call: Call) -> int | None:
    """Return the outermost span around a call that is named as a synthesizer and searches not."""
    found: int | None = None
    for index in view.tree.ancestors(call.nodes[0]):
        if index not in view.roles:
            break
        if any(view.roles.get(inner) in _SEARCHES for inner in view.tree.subtree(index)):
            break
        if SYNTHESIZER_NAME.search(view.node(index).span.name):
            found = index
    return found


def _is_shown(view: View, call: Call, probes: Sequence[str]) -> bool:
    if not call.messages.usable:
        return False
    if probes:
        return has_any(folded(call.prompt), probes)
    return shows_context(call.messages.value or (), template_variables(view, call))


def _is_used(call: Call, prompt: str, lines: Collection[str]) -> bool:
    """Tell whether what a call said, or a piece of it, is in a prompt."""
    if any(normal(piece) in prompt for piece in said_pieces(call)):
        return True
    return normal(call.output.value or "") in lines


def _lines(prompt: str) -> frozenset[str]:
    """Return what stands in lines of its own, or after a label such as ``Response:``."""
    found: set[str] = set()
    for line in prompt.splitlines():
        label = _LABELLED.match(line)
        said = normal(label["said"] if label else line)
        if label or len(said.split()) >= _FEWEST_LINE_WORDS:
            found.add(said)
    return frozenset(found - {""})
