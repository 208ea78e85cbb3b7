"""Calls made with an answer in hand (a title, follow-up questions, a check) to those that answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from otel_raglog.conventions.json_text import parse_json, strings_in
from otel_raglog.mapping.collapse import Call
from otel_raglog.mapping.context import context_in, has_any, probes_of, shows_context
from otel_raglog.mapping.judging import (
    is_assessment,
    is_told_as_answer,
    is_told_to_check,
    says_score,
)
from otel_raglog.mapping.question import question_in_prompt, this_turn
from otel_raglog.mapping.texts import folded, holds, normal
from otel_raglog.mapping.verdicts import is_bare, is_grade, says_yes_or_no
from otel_raglog.model import Chunk

_SHORTEST_TOLD = 8
"""Characters of an answer below which finding it in a prompt may be chance."""
_CARRIED_SHARE = 0.5
_MOST_PIECES = 60
_COMPARED_PIECES = 10
_COMPARED_CALLS = 50
_FEWEST_ANSWER_WORDS = 4
"""Words below which what was written may be a verdict itself, or an answer to be corrected."""
_LONGEST_WORD = 20
_FEWEST_PARTS = 2
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class _Found:
    """What was found, with the beginnings by which a prompt is known to show it."""

    chunks: Sequence[Chunk]
    probes: Sequence[str]

    def is_shown(self, text: str) -> bool:
        return has_any(folded(text), self.probes)


def without_helpers(calls: Sequence[Call], chunks: Sequence[Chunk]) -> list[Call]:
    """Return the calls that may have answered, of those after the last search; all if none would be left.

    A call that was told what one other wrote, was not shown ``chunks`` apart from that, and carries
    nothing of it on gives it a title, translates it, asks further questions or moderates it. One
    that was shown the chunks, too, and says a bare verdict checks it, and so does, after one that
    spoke to a person, one that says scores and reasons in JSON. None of these is a call that was
    asked the question itself, was given the context, or several parts, and no answer to judge.
    What only helpers were told (facts that they are to compare) was written for them.
    """
    if len(calls) < 2:  # noqa: PLR2004  nothing to help with
        return list(calls)
    found = _Found(chunks, probes_of(chunks))
    assessing = {call.leaf for call in calls if is_assessment(call.output.value or "")}
    spoke = [c.end for c in calls if c.output.value and c.leaf not in assessing]
    first = min(spoke, default=None)
    helping = {
        c.leaf
        for c in calls
        if c.leaf in assessing
        and first is not None
        and first <= c.start
        and not _answers(c, _told(c, calls, assessing), calls, found)
    }
    for call in sorted(calls, key=lambda call: call.end):
        if call.leaf not in helping and _helps(call, _told(call, calls, helping), calls, found):
            helping.add(call.leaf)
    prepared = {call.leaf for call in calls if helping and _prepares(call, calls, helping)}
    return [call for call in calls if call.leaf not in helping | prepared] or list(calls)


def _prepares(call: Call, calls: Sequence[Call], helping: Collection[int]) -> bool:
    """Tell whether a call wrote JSON, after one that spoke to a person, for helpers alone."""
    data = parse_json(call.output.value or "")
    if call.leaf in helping or data is None:
        return False
    spoke = (o for o in calls if o.end <= call.start and o.leaf not in helping)
    if not any(o.output.value and parse_json(o.output.value) is None for o in spoke):
        return False
    pieces = sorted(set(strings_in(data, _MOST_PIECES)), key=len)[-_COMPARED_PIECES:]
    pieces = [normal(piece) for piece in pieces if len(piece) >= _SHORTEST_TOLD]
    later = sorted((o for o in calls if o.start >= call.end), key=lambda o: o.start)
    hearing = [other for other in later[:_COMPARED_CALLS] if has_any(folded(other.prompt), pieces)]
    return bool(hearing) and all(other.leaf in helping for other in hearing)


def _told(call: Call, calls: Sequence[Call], helping: Collection[int]) -> list[str]:
    """Return what earlier ones of ``calls`` wrote and ``call`` was told, not as a tool's result.

    What helpers wrote is left out, and what is a part of the rest.
    """
    messages = [message for message in call.messages.value or () if message.role != "tool"]
    wrote = [
        (other.output.value or "").strip()
        for other in calls
        if other is not call and other.end <= call.start and other.leaf not in helping
    ]
    told = [
        text
        for text in wrote
        if len(text) >= _SHORTEST_TOLD and any(holds(m.content, text) for m in messages)
    ]
    return [text for text in told if not any(text != other and text in other for other in told)]


def _answers(call: Call, told: Sequence[str], calls: Sequence[Call], found: _Found) -> bool:
    """Tell whether a call was asked what others were, given what it takes, and nothing to judge.

    It takes the context, or parts of the answer (of what it was ``told``). Reasoning or notes are
    nothing to judge; what stands there as an answer is, and so is all where it is told to check.
    """
    said = call.output.value or ""
    if says_score(said) or (is_bare(said) and not says_yes_or_no(said)):
        return False
    messages = [
        replace(
            message, content=_without(message.content, [*told, *(c.text for c in found.chunks)])
        )
        for message in call.messages.value or ()
    ]
    own = "\n\n".join(message.content for message in messages)
    question = _shared_question(call, folded(own), calls)
    if question is None:
        return False
    context = None if found.chunks else context_in(messages, call.variables, (), question)
    if is_told_to_check(_without(own, [context or "", question])):
        return False
    if len(told) >= _FEWEST_PARTS or any(is_told_as_answer(call.prompt, text) for text in told):
        return len(told) >= _FEWEST_PARTS
    if found.chunks:
        return found.is_shown(_without(call.prompt, told))
    return shows_context(call.messages.value or (), call.variables)


def _shared_question(call: Call, own: str, calls: Sequence[Call]) -> str | None:
    """Return the question of an earlier call that a prompt has, too, apart from what was found and told."""
    earlier = [other for other in calls if other is not call and other.start < call.start]
    for other in earlier[:_COMPARED_CALLS]:
        question = question_in_prompt(this_turn(other.messages.value or ()), (), other.variables)
        if question and len(question) >= _SHORTEST_TOLD and folded(question) in own:
            return question
    return None


def _without(text: str, pieces: Iterable[str]) -> str:
    for piece in pieces:
        text = text.replace(piece, " ") if piece else text
    return text


def _helps(call: Call, told: Sequence[str], calls: Sequence[Call], found: _Found) -> bool:
    said = call.output.value or ""
    if len(told) != 1:  # nothing, or the parts that it makes one answer of
        return False
    if _answers(call, told, calls, found):
        return False
    wrote = told[0]
    if is_bare(said):
        return not is_bare(wrote)
    if found.is_shown(call.prompt.replace(wrote, " ")):
        return _is_foreign_word(said, wrote) or (
            _is_quoted(said, call.prompt)
            and normal(said) not in folded(wrote)  # else it is the short form of what was said
            and _is_unasked(call, wrote, calls, found)
        )
    if parse_json(said) is not None:
        return parse_json(wrote) is None
    return not _carries(said, wrote)


def _carries(said: str, wrote: str) -> bool:
    words = set(_WORD.findall(wrote.lower()))
    return len(words & set(_WORD.findall(said.lower()))) >= _CARRIED_SHARE * len(words)


def _is_quoted(said: str, prompt: str) -> bool:
    """Tell whether every line of a text stands in a prompt: a passage, the name of its source."""
    lines = [normal(line) for line in said.splitlines() if line.strip()]
    return bool(lines) and all(line in folded(prompt) for line in lines)


def _is_unasked(call: Call, wrote: str, calls: Sequence[Call], found: _Found) -> bool:
    """Tell whether a call was not asked what the one was whose answer it was told.

    It names the sources of that answer, or quotes them.
    """
    own = folded(_without(call.prompt, [wrote, *(chunk.text for chunk in found.chunks)]))
    questions = [
        question_in_prompt(this_turn(other.messages.value or ()), (), other.variables) or ""
        for other in calls
        if other.end <= call.start and (other.output.value or "").strip() == wrote
    ]
    asked = [folded(question) for question in questions if len(question) >= _SHORTEST_TOLD]
    return bool(asked) and not any(question in own for question in asked)


def _is_foreign_word(said: str, wrote: str) -> bool:
    """Tell whether all that is said of an answer is a grade or a word that is not in it.

    In whatever language: a verdict, and no shorter answer.
    """
    if len(wrote.split()) < _FEWEST_ANSWER_WORDS:
        return False
    word = said.strip().strip("*_`.!\"'").lower()
    if is_grade(said):
        return word not in wrote.lower()
    return word.isalpha() and len(word) <= _LONGEST_WORD and word not in wrote.lower()
