"""The LLM calls of a run to those that made the answer together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence

from otel_raglog.mapping.collapse import Call, View
from otel_raglog.mapping.context import has_any, probes_of, shows_context
from otel_raglog.mapping.names import NamePattern
from otel_raglog.mapping.prompting import said_pieces, template_variables
from otel_raglog.mapping.texts import folded, is_word_in, normal, pieces_of
from otel_raglog.mapping.verdicts import is_verdict
from otel_raglog.model import Chunk, Field, Role

SYNTHESIZER_NAME = NamePattern(
    r"synthesi|get_response|documents.?chain|stuff.?documents|combine_docs|refine|map.?reduce|"
    r"summari[sz]e",
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

_BETWEEN = re.compile(r"[;|]| [-\u2013/] |, ")
"""What stands between several outputs in one line."""

_MAX_PIECES = 60

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
    shown = [other for other in before if other not in members and is_shown(view, other, probes)]
    said = Counter(piece for other in shown for piece in _short_pieces(other))
    pending = list(members)
    while pending and shown:
        user = _User(pending.pop(), chunks.value or (), said)
        used = [other for other in shown if other.end <= user.start and user.uses(other, probes)]
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


def is_shown(view: View, call: Call, probes: Sequence[str]) -> bool:
    """Tell whether a call was shown one of ``probes``; without any, whether its prompt shows context."""
    if not call.messages.usable:
        return False
    if probes:
        return has_any(folded(call.prompt), probes)
    return shows_context(call.messages.value or (), template_variables(view, call))


class _User:
    """Tells of which calls the outputs, or pieces of them, are in the prompt of a later one."""

    def __init__(self, call: Call, chunks: Sequence[Chunk], said: Counter[str]) -> None:
        self.start = call.start
        self._prompt = call.prompt
        self._folded = folded(call.prompt)
        self._lines = _lines(call.prompt)
        self._chunks = chunks
        self._said = said

    def uses(self, call: Call, probes: Sequence[str]) -> bool:
        if any(normal(piece) in self._folded for piece in said_pieces(call)):
            return True
        if normal(call.output.value or "") in self._lines:
            return True
        short = _short_pieces(call)
        if not short.isdisjoint(self._lines):
            return True
        return bool(short) and self._combines(call, probes, short)

    def _combines(self, call: Call, probes: Sequence[str], short: Collection[str]) -> bool:
        """Tell whether a word or two of a call's output stand in the prompt, in place of its chunks.

        Where the prompt has the chunks that the call was shown, the call may be a grader, and a
        word of its own there chance. So it is in chunks, and in what both prompts say. A label is
        no answer, either: an option in the call's own instructions, or what others said, too, more
        often than the prompt has it.
        """
        prompt = folded(call.prompt)
        seen = [probe for probe in probes if probe in prompt]
        if not seen or has_any(self._folded, seen):
            return False
        mine, theirs = self._without_chunks(self._prompt), self._without_chunks(call.prompt)
        rest = folded("\n".join(line for line in mine if line not in theirs))
        options = folded("\n".join(line for line in theirs if line not in mine))
        return any(
            is_word_in(piece, rest)
            and not is_word_in(piece, options)
            and self._said[piece] <= max(1, rest.count(piece))
            for piece in short
        )

    def _without_chunks(self, prompt: str) -> dict[str, None]:
        """Return the lines of a prompt, without those of chunks, in order."""
        for chunk in self._chunks:
            prompt = prompt.replace(chunk.text, "\n") if chunk.text else prompt
        return dict.fromkeys(map(normal, prompt.splitlines()))


def _short_pieces(call: Call) -> set[str]:
    """Return what a program may take from an output, verdicts aside."""
    pieces = [p for p in pieces_of(call.output.value or "", call.data) if not is_verdict(p)]
    return {normal(piece) for piece in pieces[:_MAX_PIECES]} - {""}


def _lines(prompt: str) -> frozenset[str]:
    """Return what stands in lines of its own, or after a label such as ``Response:``.

    Of several outputs after a label each one counts.
    """
    found: set[str] = set()
    for line in prompt.splitlines():
        label = _LABELLED.match(line)
        said = normal(label["said"] if label else line)
        if label or len(said.split()) >= _FEWEST_LINE_WORDS:
            found.add(said)
        if label:
            parts = map(normal, _BETWEEN.split(label["said"]))
            found.update(part for part in parts if not is_verdict(part))
    return frozenset(found - {""})
