"""Calls of evaluators, which have a model judge an answer, to tell them from those that answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from otel_raglog.mapping.texts import data_in
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

_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_VERDICT_KEY = re.compile(
    r"score|verdict|grade|rating|label|passed|(?:ir)?relevant|relevance|relevancy|(?:in)?correct|correctness|"
    r"(?:un)?faithful|faithfulness|(?:un)?grounded|groundedness|(?:un)?supported|hallucinat\w+|"
    r"noncommittal|toxic|toxicity",
)
_REASON_KEY = re.compile(
    r"reason|reasoning|explanation|rationale|justification|comment|critique|feedback|thought|analysis|"
    r"evidence|statement|claim|sentence|criteria|criterion|metric|name|id|index|confidence",
)
_MOST_LABEL_WORDS = 3
_MAX_DEPTH = 4


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


def is_scored(said: str) -> bool:
    """Tell whether an output is scores or verdicts in JSON, with their reasons and nothing else.

    Names of fields are code, and so the same whatever language an evaluator is told to speak.
    """
    return any(_scores(data, 0) for data in data_in(said, None))


def is_assessment(said: str) -> bool:
    """Tell whether an output is JSON of scores, or of nothing but reasons, claims or statements."""
    return any(_scores(data, 0) is not None for data in data_in(said, None))


def holds_score(data: object, depth: int = 0) -> bool:
    """Tell whether a score or verdict stands anywhere in JSON data."""
    if depth > _MAX_DEPTH:
        return False
    if isinstance(data, list):
        return any(holds_score(item, depth + 1) for item in data)
    return isinstance(data, dict) and any(
        (_is_named(_VERDICT_KEY, key) and _is_label(value)) or holds_score(value, depth + 1)
        for key, value in data.items()
    )


def _scores(data: object, depth: int) -> bool | None:
    """Tell whether JSON data scores, ``None`` when it says anything that is no score or reason."""
    if depth > _MAX_DEPTH or not data:
        return None
    if isinstance(data, list):
        found = [_scores(item, depth + 1) for item in data]
        return None if None in found else all(found)
    if not isinstance(data, dict):
        return None
    scored = False
    for key, value in data.items():
        inner = _scores(value, depth + 1)
        if inner or (_is_named(_VERDICT_KEY, key) and _is_label(value)):
            scored = True
        elif inner is None and not _is_named(_REASON_KEY, key):
            return None
    return scored


def _is_named(kind: re.Pattern[str], key: object) -> bool:
    words = (word.lower() for word in _TOKEN.findall(str(key)))
    return any(kind.fullmatch(word) or kind.fullmatch(word.removesuffix("s")) for word in words)


def _is_label(value: object) -> bool:
    """Tell whether a value is a number, a truth value, a word or two, or a list of these."""
    if isinstance(value, list):
        return bool(value) and all(not isinstance(v, list) and _is_label(v) for v in value)
    if isinstance(value, str):
        return 0 < len(value.split()) <= _MOST_LABEL_WORDS
    return isinstance(value, bool | int | float)
