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

_MAILED = re.compile(r"(?:^|\n)[ \t]*>[ \t]*\Z")
_IN_QUOTES = re.compile(r"[\"'\u201d\u201c\u00bb\u00ab\u300d](?P<rest>[^\n]+)")
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")
_FEWEST_WORDS_ON = 4
"""Words after a quotation that ask on; fewer end a program's sentence around it."""

_OPENS = re.compile(r"(?:^|[\n:>\"'“„`({\[])[ \t]*\Z")
_CLOSES = re.compile(r"[ \t]*(?:\Z|[\n<\"'”“`)}\]])")


def helper_runs(runs: Sequence[Run]) -> frozenset[int]:
    """Return the positions of the runs that help; ``runs`` are of one session, in order of time.

    A run that searched never does. One that did not helps when it judges an answer; when it is
    asked about the question or the answer of a run beside it (which it quotes, and says more);
    when it is given the same question as one that searched, or also the answer; or when the next
    history leaves it out. A run that no model was called in answers, and so does one whose own
    history tells its turn, one in which a person quotes and asks on, and one that is told the same
    question with the same instructions.
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
    if not run.generators or _goes_on(run):
        return False
    question = (other.question.value or "").strip()
    answer = (other.answer.value or "").strip()
    asked = (run.question.value or "").strip()
    told = _told(run) or ([asked] if asked else [])
    if any(_asks(text) or _asks_on(text, question, answer) for text in told):
        return False
    if any(_quotes(text, answer) or text.strip() == answer for text in told if answer):
        # With the talk written out in the prompt the question is another one.
        return asked in {question, answer} or _quotes(asked, answer)
    if normal(asked) == normal(question):
        if run.history.value or not question or not _searched(other):
            return False
        return bool(_instructions(run)) and _instructions(run) != _instructions(other)
    return _quotes(asked, question)


def _messages(run: Run) -> Sequence[Message]:
    return run.generators[-1].messages.value or () if run.generators else ()


def _goes_on(run: Run) -> bool:
    """Tell whether a run was given what was said before, turn by turn, and then what is asked now."""
    messages = [m for m in _messages(run) if m.role in {"user", "assistant"}]
    if any(message.role == "assistant" for message in messages):
        return messages[-1].role == "user"
    return bool(run.history.value) and not any(turns_in_text(m.content) for m in messages)


def _instructions(run: Run) -> str:
    """Return the first line of what a model was told beside the question: the context comes later."""
    told = [m.content for m in _messages(run) if m.role == "system"] or [
        m.content for m in _messages(run) if m.role == "user"
    ]
    lines = [line for text in told for line in text.splitlines() if normal(line)]
    first = normal(lines[0]) if lines else ""
    return "" if first == normal(run.question.value or "") else first


def _told(run: Run) -> list[str]:
    """Return the user's messages of this turn, as the model that answers was given them."""
    return [message.content for message in this_turn(_messages(run)) if message.role == "user"]


def _asks(text: str) -> bool:
    """Tell whether a text is a talk written out, which ends with the user."""
    talk = turns_in_text(text)
    return any(turn.role == "assistant" for turn in talk) and talk[-1].role == "user"


def _asks_on(text: str, question: str, answer: str) -> bool:
    """Tell whether a person quotes what was said, in a mail's manner or in a line, and asks on.

    Who is given both the question and the answer is no person.
    """
    quoted = [said for said in (question, answer) if len(said) >= _SHORTEST_QUOTED and said in text]
    if len(quoted) != 1:
        return False
    before, _, after = text.partition(quoted[0])
    if _MAILED.search(before) and after.strip():
        return True
    same_line = _IN_QUOTES.match(after)
    return (
        same_line is not None
        and len(same_line["rest"].split()) >= _FEWEST_WORDS_ON
        and same_line["rest"].rstrip().endswith(_QUESTION_MARKS)
    )


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
