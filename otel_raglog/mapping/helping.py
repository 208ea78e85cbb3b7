"""Calls made with an answer in hand (a title, follow-up questions, a check) to those that answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from otel_raglog.conventions.json_text import parse_json, strings_in
from otel_raglog.mapping.collapse import Call
from otel_raglog.mapping.context import shows_any
from otel_raglog.mapping.judging import is_assessment
from otel_raglog.mapping.texts import folded, holds, normal
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
_WORD = re.compile(r"\w{3,}")
_BARE = re.compile(
    r"[\W\d]*(?:yes|no|true|false|(?:un)?safe|pass(?:ed)?|fail(?:ed)?|(?:not )?(?:grounded|supported)|"
    r"(?:in)?correct|(?:ir)?relevant)[\W\d]*",
    re.IGNORECASE,
)


_GRADE = re.compile(
    r"[\W]*(?:\d{1,2}(?:\.\d+)?(?: ?(?:/|of|out of) ?\d+)?|\d?\.\d+|(?:very |not |partially |somewhat |highly )?"
    r"(?:relevant|useful|helpful|similar|good|bad)|high|medium|low|none|keep|drop|discard|ambiguous|unknown)\W*",
    re.IGNORECASE,
)


def is_verdict(text: str) -> bool:
    """Tell whether a text is a verdict or a grade and nothing else: it may be in any prompt."""
    return _is_bare(text) or _GRADE.fullmatch(text) is not None


def without_helpers(calls: Sequence[Call], chunks: Sequence[Chunk]) -> list[Call]:
    """Return the calls that may have answered, of those after the last search; all if none would be left.

    A call that was told what one other wrote, was not shown ``chunks`` apart from that, and carries
    nothing of it on gives it a title, translates it, asks further questions or moderates it. One
    that was shown the chunks, too, and says a bare verdict checks it, and so does, after one that
    spoke to a person, one that says scores and reasons in JSON. What only such calls were told
    (facts that they are to compare) was written for them.
    """
    assessing = {call.leaf for call in calls if is_assessment(call.output.value or "")}
    spoke = [c.end for c in calls if c.output.value and c.leaf not in assessing]
    first = min(spoke, default=None)
    helping = {
        c.leaf for c in calls if c.leaf in assessing and first is not None and first <= c.start
    }
    for call in sorted(calls, key=lambda call: call.end):
        if call.leaf not in helping and _helps(call, _told(call, calls, helping), chunks):
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
    hearing = [
        other
        for other in later[:_COMPARED_CALLS]
        if any(piece in prompt for prompt in [folded(other.prompt)] for piece in pieces)
    ]
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


def _helps(call: Call, told: Sequence[str], chunks: Sequence[Chunk]) -> bool:
    said = call.output.value or ""
    if len(told) != 1:  # nothing, or the parts that it makes one answer of
        return False
    wrote = told[0]
    if _is_bare(said):
        return not _is_bare(wrote)
    if shows_any(call.prompt.replace(wrote, " "), chunks):
        return _is_foreign_word(said, wrote)
    if parse_json(said) is not None:
        return parse_json(wrote) is None
    words = set(_WORD.findall(wrote.lower()))
    carried = words & set(_WORD.findall(said.lower()))
    return len(carried) < _CARRIED_SHARE * len(words)


def _is_foreign_word(said: str, wrote: str) -> bool:
    """Tell whether all that is said of an answer is a grade or a word that is not in it.

    In whatever language: a verdict, and no shorter answer.
    """
    if len(wrote.split()) < _FEWEST_ANSWER_WORDS:
        return False
    word = said.strip().strip("*_`.!\"'").lower()
    if _GRADE.fullmatch(said) is not None:
        return word not in wrote.lower()
    return word.isalpha() and len(word) <= _LONGEST_WORD and word not in wrote.lower()


def _is_bare(text: str) -> bool:
    """Tell whether a text is a verdict and nothing else, as a word or as JSON of words and numbers."""
    data = parse_json(text)
    if isinstance(data, dict):
        return bool(data) and all(
            isinstance(value, bool | int | float) or (isinstance(value, str) and _is_bare(value))
            for value in data.values()
        )
    return _BARE.fullmatch(text) is not None
