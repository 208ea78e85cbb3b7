"""Calls made with an answer in hand (a title, follow-up questions, a check) to those that answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from otel_raglog.conventions.json_text import parse_json
from otel_raglog.mapping.collapse import Call
from otel_raglog.mapping.context import shows_any
from otel_raglog.mapping.texts import holds
from otel_raglog.model import Chunk

_SHORTEST_TOLD = 8
"""Characters of an answer below which finding it in a prompt may be chance."""
_CARRIED_SHARE = 0.5
_WORD = re.compile(r"\w{3,}")
_BARE = re.compile(
    r"[\W\d]*(?:yes|no|true|false|(?:un)?safe|pass(?:ed)?|fail(?:ed)?|(?:not )?(?:grounded|supported)|"
    r"(?:in)?correct|(?:ir)?relevant)[\W\d]*",
    re.IGNORECASE,
)


def without_helpers(calls: Sequence[Call], chunks: Sequence[Chunk]) -> list[Call]:
    """Return the calls that may have answered, of those after the last search; all if none would be left.

    A call that was told what one other wrote, was not shown ``chunks`` apart from that, and carries
    nothing of it on gives it a title, translates it, asks further questions or moderates it. One
    that was shown the chunks, too, and says a bare verdict checks it.
    """
    kept = [call for call in calls if not _helps(call, _told(call, calls), chunks)]
    return kept or list(calls)


def _told(call: Call, calls: Sequence[Call]) -> list[str]:
    """Return what earlier ones of ``calls`` wrote and ``call`` was told, not as a tool's result."""
    messages = [message for message in call.messages.value or () if message.role != "tool"]
    wrote = [
        (other.output.value or "").strip()
        for other in calls
        if other is not call and other.end <= call.start
    ]
    return [
        text
        for text in wrote
        if len(text) >= _SHORTEST_TOLD and any(holds(m.content, text) for m in messages)
    ]


def _helps(call: Call, told: Sequence[str], chunks: Sequence[Chunk]) -> bool:
    if len(told) != 1:  # nothing, or the parts that it makes one answer of
        return False
    wrote, said = told[0], call.output.value or ""
    if _is_bare(said):
        return not _is_bare(wrote)
    if shows_any(call.prompt.replace(wrote, " "), chunks):
        return False
    if parse_json(said) is not None:
        return parse_json(wrote) is None
    words = set(_WORD.findall(wrote.lower()))
    carried = words & set(_WORD.findall(said.lower()))
    return len(carried) < _CARRIED_SHARE * len(words)


def _is_bare(text: str) -> bool:
    """Tell whether a text is a verdict and nothing else, as a word or as JSON of words and numbers."""
    data = parse_json(text)
    if isinstance(data, dict):
        return bool(data) and all(
            isinstance(value, bool | int | float) or (isinstance(value, str) and _is_bare(value))
            for value in data.values()
        )
    return _BARE.fullmatch(text) is not None
