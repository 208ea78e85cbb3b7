"""Runs of one conversation to those that answer no question of the user, but help with another one.

A title, follow-up questions, a moderation, a judgement: with one trace per call each is a run of
its own. They are told by what they share with the runs beside them in the same conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from otel_raglog.mapping.question import this_turn, turns_in_text
from otel_raglog.mapping.texts import normal
from otel_raglog.model import Message, Run

MOST_BESIDE = 10
"""Runs before one, and after it, that it is compared with: a helper is called at once."""

_SHORTEST_QUOTED = 8
"""Characters below which finding a text in a prompt may be chance."""

_OPENS = re.compile(r"(?:^|[\n:>\"'“„`({\[])[ \t]*\Z")
_CLOSES = re.compile(r"[ \t]*(?:\Z|[\n<\"'”“`)}\]])")


def helper_runs(runs: Sequence[Run]) -> frozenset[int]:
    """Return the positions of the runs that help; ``runs`` are of one session, in order of time.

    A run that searched never does. One that did not helps when it judges an answer; when it is
    asked about the question or the answer of a run beside it (which it quotes, and says more);
    when it is given the same question as one that searched, or also the answer; or when the next
    history leaves it out.
    """
    found = {
        at
        for at, run in enumerate(runs)
        if not _searched(run)
        and (_judges(run) or any(_is_about(run, other) for other in _beside(runs, at)))
    }
    return frozenset(found | _left_out(runs))


def _searched(run: Run) -> bool:
    return bool(run.retrievers or run.rerankers)


def _judges(run: Run) -> bool:
    return run.skip_reason == "evaluation"


def _beside(runs: Sequence[Run], at: int) -> Iterable[Run]:
    yield from runs[max(0, at - MOST_BESIDE) : at]
    yield from runs[at + 1 : at + 1 + MOST_BESIDE]


def _is_about(run: Run, other: Run) -> bool:
    question = (other.question.value or "").strip()
    answer = (other.answer.value or "").strip()
    asked = (run.question.value or "").strip()
    told = _told(run) or ([asked] if asked else [])
    if any(_asks(text) for text in told):
        return False
    if any(_quotes(text, answer) or text.strip() == answer for text in told if answer):
        # With the talk written out in the prompt the question is another one.
        return asked in {question, answer} or _quotes(asked, answer)
    if normal(asked) == normal(question):
        return bool(question) and _searched(other) and not run.history.value
    return _quotes(asked, question)


def _told(run: Run) -> list[str]:
    """Return the user's messages of this turn, as the model that answers was given them."""
    messages: Sequence[Message] = run.generators[-1].messages.value or () if run.generators else ()
    return [message.content for message in this_turn(messages) if message.role == "user"]


def _asks(text: str) -> bool:
    """Tell whether a text is a talk written out, which ends with the user."""
    talk = turns_in_text(text)
    return any(turn.role == "assistant" for turn in talk) and talk[-1].role == "user"


def _quotes(text: str, quoted: str) -> bool:
    """Tell whether a text holds another one apart: on lines, in quotes or tags, after a colon."""
    if len(quoted) < _SHORTEST_QUOTED:
        return False
    at = text.find(quoted)
    while at >= 0:
        before, after = text[:at], text[at + len(quoted) :]
        if (before.strip() or after.strip()) and _OPENS.search(before) and _CLOSES.match(after):
            return True
        at = text.find(quoted, at + 1)
    return False


def _left_out(runs: Sequence[Run]) -> set[int]:
    """Return the runs between a turn and the one whose history ends with that turn."""
    found: set[int] = set()
    for at, run in enumerate(runs):
        asked = [m.content for m in run.history.value or () if m.role == "user"]
        if not asked:
            continue
        talk = {normal(text) for text in asked}
        for before in range(at - 1, max(-1, at - 1 - MOST_BESIDE), -1):
            question = normal(runs[before].question.value or "")
            if question == normal(asked[-1]):
                between = range(before + 1, at)
                found.update(
                    other
                    for other in between
                    if not _searched(runs[other])
                    and normal(runs[other].question.value or "") not in talk
                )
                break
    return found
