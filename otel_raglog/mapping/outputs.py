"""Texts that programs recorded to what they tell a person."""

from __future__ import annotations

import re

from otel_raglog.conventions.reprs import message_text
from otel_raglog.mapping.structured import structured_answer

_OBJECT_REPR = re.compile(r"\s*<[^>]* at 0x[0-9a-f]+>\s*", re.IGNORECASE)
_CALL_REPR = re.compile(r"\s*<?(?:[a-z_]\w*\.)*_?[A-Z]\w*\([A-Za-z_]\w*=")
"""``StopEvent(result=AgentOutput(...``: what Python shows of an object."""

_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_MAX_REPR_CHARS = 10_000

# Looked for in the text after a line break: to find one is quicker than to try every line's start.
_THOUGHT = re.compile(r"\n[ \t]*thought[ \t]*:", re.IGNORECASE)
_CONCLUDED = re.compile(r"\n[ \t]*(?:final )?answer[ \t]*:[ \t]*", re.IGNORECASE)
_ACTION = re.compile(r"\n[ \t]*action\s*:", re.IGNORECASE)

_FINAL_ANSWER = re.compile(
    r"\n[ \t]*final_answer\([ \t]*(?P<quote>\"\"\"|\"|')(?P<text>(?:(?!(?P=quote)).){1,20000})(?P=quote)[ \t]*\)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)
"""How an agent that writes code answers."""

_REASONING = re.compile(
    r"^[ \t]*<(think|thinking|reasoning)>.*?</\1>\s*", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_REASONED = re.compile(
    r"\A(?:(?!<(?:think|thinking|reasoning)>).)*?</(?:think|thinking|reasoning)>[ \t]*\n\s*",
    re.IGNORECASE | re.DOTALL,
)
"""Reasoning whose opening tag the chat template wrote, so that the output lacks it."""


_ANSWER_TAG = re.compile(
    r"<(final_answer|answer)>((?:(?!<\1>).)*)</\1>\s*\Z", re.IGNORECASE | re.DOTALL
)


def plain_text(text: str) -> str | None:
    """Return a text, that of a message's repr, ``None`` when it only shows a Python object."""
    if not text.strip() or _OBJECT_REPR.fullmatch(text):
        return None
    return message_text(text) or (None if _is_object(text) else text)


def final_answer(text: str) -> str:
    """Return what the user is told: without blocks of reasoning, from an agent's ``Answer:`` on.

    Or what stands in ``<answer>`` at the end, or in the answer's field of JSON or of DSPy's chat form.
    An output that is nothing but reasoning is left as it is.
    """
    text = without_reasoning(text)
    structured = structured_answer(text)
    if structured is not None:
        return structured
    tagged = _ANSWER_TAG.search(text)
    if tagged is not None and tagged[2].strip():
        return tagged[2].strip()
    lined = "\n" + text
    code = _FINAL_ANSWER.search(lined)
    if code is not None:
        return code["text"]
    concluded = _CONCLUDED.search(lined)
    if concluded is None or _ACTION.search(lined):
        return text
    thought = _THOUGHT.search(lined)
    if "final" not in concluded[0].lower() and (
        thought is None or thought.end() > concluded.start()
    ):
        return text
    return lined[concluded.end() :].strip() or text


def without_reasoning(text: str) -> str:
    """Return an output without blocks of reasoning; one that is nothing else as it is."""
    if "</" not in text:
        return text
    rest = _REASONED.sub("", _REASONING.sub("", text))
    return text if rest == text or not rest.strip() else rest.strip()


def _is_object(text: str) -> bool:
    """Tell whether a text is the repr of one object and nothing else, whole or shortened."""
    if _CALL_REPR.match(text) is None:
        return False
    bare = _QUOTED.sub("", text[:_MAX_REPR_CHARS])
    depth = 0
    for position, sign in enumerate(bare):
        depth += (sign == "(") - (sign == ")")
        if depth == 0 and sign == ")":
            return not bare[position + 1 :].strip(" \t\r\n>")
    return True
