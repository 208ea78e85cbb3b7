"""Prompts of evaluators, which ask a model to judge an answer, to tell them from questions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from otel_raglog.model import Message

_JUDGED = r"(?:responses?|answers?|outputs?|statements?|claims?|submission|piece of information)"
_TASK = re.compile(
    rf"(?:task is to|please|you (?:must|will|should)|evaluator|judge|grader)[^\n]{{0,60}}?"
    rf"\b(?:evaluate|judge|assess|grade|score|tell if|determine (?:if|whether))\b[^\n]{{0,80}}?\b{_JUDGED}\b"
    rf"|verify if the context was useful in arriving at the given answer"
    rf"|whether (?:each|the) (?:claim|statement|answer)[^\n]{{0,60}}\b(?:contradicts?|supported|factual|correct)"
    rf"|determine if the reference text contains information relevant"
    rf"|expert evaluation system for a question answering",
    re.IGNORECASE,
)
_VERDICT = re.compile(
    r"[\s*`\"']*(?:json\s*)?(?:yes|no|true|false|pass|fail|[0-9](?:\.[0-9]+)?|(?:ir|un)?relevant|unrelated|"
    r"factual|hallucinated|(?:in)?correct|(?:not )?supported|score|verdict|rating|[{\[])(?![a-z])",
    re.IGNORECASE,
)
_MOST_WORDS = 40


def is_judgement(messages: Sequence[Message], output: str) -> bool:
    """Tell whether a call judges an answer, of another run or trace, instead of giving one.

    Its instructions say so, and what it says begins with a verdict. Evaluation libraries whose
    spans say nothing of it are told by this (LlamaIndex's and Phoenix's evaluators, Ragas).
    """
    said = output.strip()
    short = len(said.split()) <= _MOST_WORDS or said[:1] in {"{", "["}
    if not said or not short or _VERDICT.match(said) is None:
        return False
    return any(
        message.role in {"system", "user"} and _TASK.search(message.content) for message in messages
    )
