"""A last call that says an answer in other words (tone, format, language) to the call that answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property

from otel_raglog.conventions.json_text import parse_json
from otel_raglog.mapping.collapse import Call, View
from otel_raglog.mapping.combining import MOST_BEFORE, Combining
from otel_raglog.mapping.context import has_any, probes_of, shows_context
from otel_raglog.mapping.family import is_shown
from otel_raglog.mapping.generating import generate_step, total_tokens
from otel_raglog.mapping.helping import without_helpers
from otel_raglog.mapping.outputs import final_answer
from otel_raglog.mapping.prompting import template_variables
from otel_raglog.mapping.question import answer_in
from otel_raglog.mapping.texts import folded, holds
from otel_raglog.mapping.verdicts import is_verdict
from otel_raglog.model import Chunk, Field, GenerateStep

_SHORTEST_DRAFT = 8
"""Characters of an answer below which finding it in a prompt may be chance."""

_REWORDING = re.compile(
    r"\b(?:re-?writ|re-?phras|re-?word|re-?format|paraphras|polish|proof-?read|copy-?edit|simplif|"
    r"shorten|friendl|polite|grammar|spelling|plain language|plain english|"
    r"(?:format|convert|turn|put) (?:it|this|that|the (?:answer|response|reply|text|draft))|"
    r"(?:as|in|into|to) (?:markdown|html|json|bullet points)|(?:tone|style) (?:of|guide)|(?:more|in an?) \w+ tone)",
    re.IGNORECASE,
)
_TRANSLATING = re.compile(
    r"\b(?:translat|übersetz|tradu[ciz]|vertaal|vertal|przetłumacz|перев[её]д|перевод|переклад|çevir|"
    r"přelož|översätt|oversett|oversæt)|翻译|翻譯|翻訳|번역|ترجم",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w{4,}")
_CARRIED_SHARE = 0.5
"""Of a draft's words, what another wording of it in the same language keeps at least."""

_TRANSLATED_SHARE = 0.25
"""A translation is at least this much of the text: a title is less, Chinese is a third of English."""


def find_rewordings(
    view: View,
    call: Call | None,
    calls: Sequence[Call],
    chunks: Sequence[Chunk],
    asked: Callable[[Call], Field[str]],
    *,
    after: int,
    open_end: bool,
    closing: Collection[int] = (),
) -> tuple[Call | None, tuple[Call, ...]]:
    """Return the call that answers from the context, and those that reword its answer, in order.

    ``call`` is the one whose output the user gets, as far as that is known; with ``open_end`` (the
    run says no output) a later one that is told to reword it is; a translation only where the
    question was translated, too, or in the last pipeline of several (``closing``): else it may be
    made for somebody else. A rewording call was told what
    one other wrote after the last search (``after``), and is shown no context. It does not
    answer the question (``asked``) anew, or is told to reword.
    """
    if call is None:
        return None, ()
    late = [other for other in calls if other.end > after]
    later: list[Call] = []
    answering = call
    combining = Combining(calls, chunks)
    drafts = _Drafts(view, late, chunks, asked)
    while (draft := drafts.draft_of(answering)) is not None:
        if combining.combines(answering):  # what it was told is a part of the answer
            break
        later.insert(0, answering)
        answering = draft
    speaking = without_helpers(late, chunks) if open_end else ()
    both_ways = any(_translates(other) for other in calls if other.end <= answering.start)
    for other in sorted(late if open_end else (), key=lambda call: (call.start, call.end)):
        last = later[-1] if later else answering
        to_user = both_ways or other.leaf in closing
        if other not in speaking and not (to_user and _is_translation(other, drafts.said(last))):
            continue
        if other.start >= last.end and drafts.draft_of(other, only_told=True) is last:
            later.append(other)
    return answering, tuple(later)


def reworded(
    view: View, step: GenerateStep, later: Sequence[Call], answer: Field[str]
) -> GenerateStep:
    """Return the generator's step with what ``later`` calls made of its answer."""
    if not later:
        return step
    last = generate_step(view, later[-1], answer)
    ids = [view.node(index).span.span_id for call in later for index in call.nodes]
    why = f"{step.origin.why}; its answer was put into other words by {len(later)} later call(s)"
    counts = [step.tokens, *(call.tokens for call in later)]
    reasons = [step.finish_reason, *(call.finish_reason for call in later)]
    cut = next((r for r in reasons if r and r.lower() not in {"stop", "end_turn"}), None)
    return replace(
        step,
        origin=replace(step.origin, span_ids=(*step.origin.span_ids, *ids), why=why),
        answer=last.answer,
        draft=step.answer,
        finish_reason=cut or last.finish_reason,
        tokens=total_tokens(counts),
    )


class _Drafts:
    """Tells whose answer a call rewords; each call's words are read once.

    Only the nearest :data:`MOST_BEFORE` calls before one are looked for in its prompt.
    """

    def __init__(
        self,
        view: View,
        calls: Sequence[Call],
        chunks: Sequence[Chunk],
        asked: Callable[[Call], Field[str]],
    ) -> None:
        self._view = view
        self._calls = sorted(calls, key=lambda call: (call.end, call.start, call.leaf))
        self._chunks = chunks
        self._asked = asked
        self._said: dict[int, str] = {}
        self._first_shown: int | None = None

    @cached_property
    def _probes(self) -> tuple[str, ...]:
        return probes_of(self._chunks)

    def said(self, call: Call) -> str:
        """Return what a program takes for a call's answer: without reasoning, or out of JSON."""
        if call.leaf not in self._said:
            text = final_answer((call.output.value or "").strip())
            data = parse_json(text)
            self._said[call.leaf] = (answer_in(data) if isinstance(data, dict) else None) or text
        return self._said[call.leaf]

    def draft_of(self, call: Call, *, only_told: bool = False) -> Call | None:
        """Return the call whose answer ``call`` rewords.

        It is told to (always so with ``only_told``), or says most of that answer again
        and little else.
        """
        told = self._told_by(call)
        if len(told) != 1 or is_verdict(self.said(told[0])):
            return None
        draft = told[0]
        rest = [
            replace(message, content=_without(message.content, self.said(draft)))
            for message in call.messages.value or ()
        ]
        own = "\n\n".join(message.content for message in rest)
        if has_any(folded(own), self._probes) or shows_context(
            rest, template_variables(self._view, call)
        ):
            return None
        if not self._saw_context_by(draft):
            return None
        if _REWORDING.search(own) or _TRANSLATING.search(own):
            return draft
        question = None if only_told else self._asked(draft).value
        anew = not question or holds(own, question)
        return None if anew or not _says_again(self.said(call), self.said(draft)) else draft

    def _saw_context_by(self, draft: Call) -> bool:
        """Tell whether a call, or one before it, was shown a chunk."""
        if self._first_shown is None:
            shown = (c.end for c in self._calls if is_shown(self._view, c, self._probes))
            self._first_shown = next(shown, -1)
        if 0 <= self._first_shown <= draft.start:
            return True
        return is_shown(self._view, draft, self._probes)

    def _told_by(self, call: Call) -> list[Call]:
        """Return the earlier calls whose words ``call`` was told, not as a tool's result.

        One whose words came through another of them is left out.
        """
        before = [c for c in self._calls if c.end <= call.start and c is not call][-MOST_BEFORE:]
        found = [earlier for earlier in before if self._is_told(call, earlier)]
        return [
            earlier
            for earlier in found
            if not any(c.start >= earlier.end and self._is_told(c, earlier) for c in found)
        ]

    def _is_told(self, call: Call, earlier: Call) -> bool:
        said = self.said(earlier)
        return len(said) >= _SHORTEST_DRAFT and any(
            message.role != "tool" and holds(message.content, said)
            for message in call.messages.value or ()
        )


def _says_again(said: str, draft: str) -> bool:
    """Tell whether a text has half of a draft's words or more, and no more words beside them."""
    words, told = set(_WORD.findall(folded(said))), set(_WORD.findall(folded(draft)))
    carried = len(words & told)
    return carried >= _CARRIED_SHARE * len(told) and len(words - told) <= carried


def _translates(call: Call) -> bool:
    return _TRANSLATING.search(call.prompt) is not None


def _is_translation(call: Call, draft: str) -> bool:
    said = call.output.value or ""
    return _translates(call) and len(said) >= _TRANSLATED_SHARE * len(draft)


def _without(text: str, piece: str) -> str:
    """Return a text without a piece of it, but for case and white space."""
    if piece in text:
        return text.replace(piece, " ")
    return re.sub(r"\s+".join(map(re.escape, piece.split())), " ", text, flags=re.IGNORECASE)
