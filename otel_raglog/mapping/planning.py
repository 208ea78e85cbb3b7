"""What an LLM call wrote for later ones to answer, to what it was asked itself: the user's question."""

from __future__ import annotations

from collections.abc import Sequence

from otel_raglog.mapping.collapse import Call, View
from otel_raglog.mapping.prompting import template_variables
from otel_raglog.mapping.question import asked_in, question_in_prompt
from otel_raglog.mapping.rewriting import MAX_PIECES, tells_to_rewrite
from otel_raglog.mapping.texts import holds, normal, pieces_of
from otel_raglog.model import Field, FieldStatus, RetrieveStep

_MOST_CALLS = 50
"""Calls before the last search, the first ones, that may have written a question."""

_MOST_TIMES = 3
_SHORTEST_ASKED = 8
"""Characters of a question below which finding it within a prompt may be chance."""


def before_rewriting(
    view: View,
    asked: Field[str],
    call: Call,
    calls: Sequence[Call],
    retrievals: Sequence[RetrieveStep],
) -> Field[str]:
    """Return what the user asked where an earlier call wrote what ``call`` was ``asked``.

    So it is after a rewriter, and for the last of several questions that one was taken apart into.
    A call that combines their answers may say more than the question: where its prompt holds what
    the one was asked that took it apart, that is the question. What only tells to rewrite is none.
    """
    last = max((step.origin.start_unix_nano for step in retrievals), default=-1)
    before = [other for other in calls if other is not call and other.end <= min(last, call.start)]
    if not before:
        return asked
    searched = {normal(step.query.value or "") for step in retrievals}
    posed = {normal(text) for other in calls for text in asked_in(other.messages.value or ())[-1:]}
    planners = [_Planner(view, other, searched | posed) for other in before[:_MOST_CALLS]]
    for _ in range(_MOST_TIMES):
        wanted = normal(asked.value or "")
        found = next((p for p in reversed(planners) if p.replaces(wanted, call)), None)
        if found is None:
            break
        planners = planners[: planners.index(found)]
        status = found.call.messages.status
        asked = Field(found.asked, status, found.call.messages.source)
    return asked


class _Planner:
    """A call that may have written questions, and what it was asked."""

    def __init__(self, view: View, call: Call, used: set[str]) -> None:
        self.call = call
        pieces = pieces_of(call.output.value or "", call.data)[:MAX_PIECES]
        self._wrote = {normal(piece) for piece in pieces} - {""}
        self._several = len(self._wrote & used) > 1
        self._view = view
        self._asked: str | None = None

    @property
    def asked(self) -> str:
        if self._asked is None:
            self._asked = self._read() or ""
        return self._asked

    def replaces(self, wanted: str, call: Call) -> bool:
        """Tell whether what this call was asked is the question, instead of ``wanted``."""
        if wanted not in self._wrote and not self._several:
            return False
        if not self.asked or normal(self.asked) == wanted:
            return False
        if wanted in self._wrote:
            return self._several or not holds(self.asked, wanted)
        return len(self.asked) >= _SHORTEST_ASKED and holds(call.prompt, self.asked)

    def _read(self) -> str | None:
        messages = self.call.messages.value or ()
        if self.call.messages.status is not FieldStatus.PRESENT:
            return None
        found = question_in_prompt(messages, (), template_variables(self._view, self.call))
        if not found or tells_to_rewrite(found):
            return None
        told = [message for message in messages if message.content.strip()]
        whole = len(told) == 1 and normal(told[0].content) == normal(found)
        return None if whole else found
