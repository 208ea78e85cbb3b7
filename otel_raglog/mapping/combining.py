"""LLM calls that make one answer of what others found, to tell them from those that found a part."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from otel_raglog.mapping.collapse import Call
from otel_raglog.mapping.context import has_any, probes_of
from otel_raglog.mapping.judging import is_judgement, says_score
from otel_raglog.mapping.texts import folded, lines_of, normal
from otel_raglog.mapping.verdicts import is_verdict
from otel_raglog.model import Chunk

MOST_BEFORE = 30
"""Calls before one whose outputs are looked for in its prompt, nearest first."""

_FEWEST_CALLS = 3
_SHORTEST_TOLD = 8
"""Characters of an output below which finding it within a prompt may be chance."""


class Combining:
    """Answers which of the calls of a run combine what others answered from ``chunks``."""

    def __init__(self, calls: Sequence[Call], chunks: Sequence[Chunk]) -> None:
        self._calls = sorted(calls, key=lambda call: (call.end, call.start, call.leaf))
        self._chunks = chunks
        self._prompts: dict[int, list[tuple[str, frozenset[str]]]] = {}

    @cached_property
    def _found(self) -> tuple[tuple[Call, ...], frozenset[int]]:
        """The calls that were shown a chunk or combine answers, and the leaves of the latter."""
        few = len(self._calls) < _FEWEST_CALLS
        probes = () if few else probes_of(self._chunks)
        answering: list[Call] = []
        combining: set[int] = set()
        for call in self._calls if probes else ():
            if _is_aside(call):
                continue
            if answering and self._joins(call, answering):
                combining.add(call.leaf)
            if call.leaf in combining or has_any(folded(call.prompt), probes):
                answering.append(call)
        return tuple(answering), frozenset(combining)

    def combines(self, call: Call) -> bool:
        """Tell whether a call was told two answers or more, neither through another one of them.

        Or, as an agent that goes on where it stopped, one that another agent found meanwhile.
        """
        return call.leaf in self._found[1]

    def _joins(self, call: Call, answering: Sequence[Call]) -> bool:
        before = [other for other in answering[-MOST_BEFORE:] if other.end <= call.start]
        told = [other for other in before if self._is_told(call, other)]
        direct = [
            other
            for other in told
            if not any(later.start >= other.end and self._is_told(later, other) for later in told)
        ]
        return len({normal(other.told) for other in direct}) > 1 or any(
            self._goes_on(call, other) for other in direct
        )

    def _is_told(self, call: Call, earlier: Call) -> bool:
        """Tell whether a prompt holds what an earlier call wrote, not as a tool's result."""
        if call.leaf not in self._prompts:
            own = [m.content for m in call.messages.value or () if m.role != "tool"]
            self._prompts[call.leaf] = [(folded(text), _lines(text)) for text in own]
        said = normal(earlier.told)
        within = len(said) >= _SHORTEST_TOLD
        return any(
            (within and said in text) or said in lines for text, lines in self._prompts[call.leaf]
        )

    def _goes_on(self, call: Call, found: Call) -> bool:
        """Tell whether a prompt begins as one of before ``found`` did, and only tells that since."""
        messages = call.messages.value or ()
        earlier = [other for other in self._calls if other.end <= found.start]
        for other in earlier[-MOST_BEFORE:]:
            begun = other.messages.value or ()
            if not begun or messages[: len(begun)] != begun:
                continue
            since = [m for m in messages[len(begun) :] if m.role in {"user", "assistant"}]
            asked = [m for m in since if m.role == "user" and not _holds(m.content, found)]
            return any(_holds(m.content, found) for m in since) and not asked
        return False


def _is_aside(call: Call) -> bool:
    said = call.output.value or ""
    return (
        not said.strip()
        or is_verdict(said)
        or says_score(said)
        or is_judgement(call.messages.value or (), said)
    )


def _holds(text: str, earlier: Call) -> bool:
    said = normal(earlier.told)
    return (len(said) >= _SHORTEST_TOLD and said in folded(text)) or said in _lines(text)


def _lines(text: str) -> frozenset[str]:
    return frozenset(normal(line) for line in lines_of(text))
