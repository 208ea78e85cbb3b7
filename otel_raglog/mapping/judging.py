"""Calls of evaluators, which have a model judge an answer, to tell them from those that answer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from otel_raglog.mapping.texts import data_in
from otel_raglog.mapping.verdicts import begins_as_verdict
from otel_raglog.model import Message

_JUDGED = r"(?:responses?|answers?|outputs?|statements?|claims?|submission)"
_TASK = re.compile(
    rf"(?:task is to|please|you (?:must|will|should)|evaluator|judge|grader)[^\n]{{0,60}}?"
    rf"\b(?:evaluate|judge|assess|grade|score|tell if|determine (?:if|whether))\b[^\n]{{0,80}}?\b{_JUDGED}\b"
    rf"|whether (?:each|the) (?:claim|statement|answer)[^\n]{{0,60}}\b(?:contradicts?|supported|factual|correct)",
    re.IGNORECASE,
)
_KNOWN_TASK = re.compile(
    r"tell if a given piece of information is supported by the context"
    r"|verify if the context was useful in arriving at the given answer"
    r"|determine if the reference text contains information relevant"
    r"|expert evaluation system for a question answering",
    re.IGNORECASE,
)
"""What evaluation libraries tell a model, and nobody else does."""

_MOST_WORDS = 40

_TOLD = (
    r"(?:answers?|responses?|outputs?|replies|reply|completion|submission|prediction|generation|"
    r"drafts?|statements?|claims?|assistant|ai|bot|antwort(?:en)?|entwurf|aussagen?|behauptung(?:en)?|"
    r"réponses?|affirmations?|respuestas?|afirmaci(?:ón|ones)|respostas?|afirmaç(?:ão|ões)|rispost[ae]|"
    r"affermazion[ei]|antwoord(?:en)?|odpowiedź|odpověď|svar|cevap|yan\u0131t|ответ|відповідь|回答|答案|答え|답변)"
)
"""What an answer, or a part of one, is called."""

_LABEL = rf"(?:[^\W\d_]+(?:['\u2019]s)?[ _-]+){{0,2}}{_TOLD}(?:[ _]?\d{{1,2}})?"
_STILL_TO_GIVE = re.compile(
    r"format|rule|instruction|write|give|return|produce|language|provide|your|expected|desired|"
    r"required|example|sample|json",
    re.IGNORECASE,
)
"""What a label says of an answer that is none yet."""

_GIVEN = re.compile(
    rf"^[^\w\n<\"]{{0,6}}(?P<label>{_LABEL})[^\w\n:\uff1a]{{0,6}}[:\uff1a][ \t*_]*+(?P<line>[^\n]+|\n\s*[^\n]+)?"
    rf"|<(?P<tag>{_LABEL})>\s*(?P<tagged>[^<]*)"
    rf"|\"(?P<key>{_LABEL})\"\s*:\s*(?P<value>\"[^\"\n]+\"|\[[^\]\n]+)",
    re.IGNORECASE | re.MULTILINE,
)
_BEFORE = re.compile(
    rf"(?:^[^\w\n<\"]{{0,6}}{_LABEL}[^\w\n:\uff1a]{{0,6}}[:\uff1a]|<{_LABEL}>|\"{_LABEL}\"\s*:)\W*\Z",
    re.IGNORECASE | re.MULTILINE,
)
_ASKED = re.compile(
    r"^[^\w\n<\"]{0,6}(?:[^\W\d_]+[ _-]){0,2}(?:questions?|query|q|input|frage|pregunta|pergunta|domanda|"
    r"vraag|pytanie|otázka|fråga|soru|вопрос|питання|问题|質問|질문)[^\w\n:\uff1a]{0,6}[:\uff1a]",
    re.IGNORECASE | re.MULTILINE,
)
_LONGEST_BEFORE = 120
_MOST_KEYS = 2
"""Names of the fields of an output, from which on a text that has them says how to write it."""

_CHECKING = re.compile(
    r"\b(?:check|verif|judg|evaluat|grad(?:e|ing)\b|assess|hallucinat|fact-?check|moderat|prüf|bewert|"
    r"vérifi|évalu|comprueb|avali|valuta|controleer|beoordeel|ocen|оцен|провер)|评估|評価|检查|평가",
    re.IGNORECASE,
)
"""What a model is told that is to judge, in the languages of most applications."""

_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_JUDGES_KEY = re.compile(
    r"score|verdict|grade|relevance|relevancy|(?:un)?faithful|faithfulness|(?:un)?grounded|groundedness|"
    r"hallucinat\w+|noncommittal|toxic|toxicity",
)
"""Names that those who judge give to fields; an answer to a question has them hardly ever."""

_VERDICT_KEY = re.compile(
    rf"{_JUDGES_KEY.pattern}|rating|label|passed|(?:ir)?relevant|(?:in)?correct|correctness|(?:un)?supported",
)
_REASON_KEY = re.compile(
    r"reason|reasoning|explanation|rationale|justification|comment|critique|feedback|thought|analysis|"
    r"evidence|statement|claim|sentence|criteria|criterion|metric|name|id|index|confidence",
)
_MOST_LABEL_WORDS = 3
_MAX_DEPTH = 4


def is_judgement(messages: Sequence[Message], output: str) -> bool:
    """Tell whether a call judges an answer, of another run or trace, instead of giving one.

    Its instructions say so, it was given an answer, and what it says begins with a verdict.
    Evaluation libraries whose spans say nothing of it are told by this (LlamaIndex's and Phoenix's
    evaluators, Ragas).
    """
    said = output.strip()
    if not said or not begins_as_verdict(said):
        return False
    if len(said.split()) > _MOST_WORDS and said[:1] not in {"{", "["}:
        return False
    told = [message.content for message in messages if message.role in {"system", "user"}]
    if any(_KNOWN_TASK.search(text) for text in told):
        return True
    return any(_TASK.search(text) for text in told) and holds_judged(messages, said)


def holds_judged(messages: Sequence[Message], said: str) -> bool:
    """Tell whether a prompt holds an answer to be judged: after a label, in a tag, in JSON.

    It is in the last message of the user: in one before it, or in instructions, it is an example,
    or tells of the talk. So does one before the last of several questions. How ``said`` is to be
    written is no answer.
    """
    told = [message.content for message in messages if message.role == "user"]
    text = next(reversed(told or [message.content for message in messages[-1:]]), "")
    keys = {str(key).lower() for data in data_in(said, None) for key in _keys(data, 0)}
    given = [found.end() for found in _GIVEN.finditer(text) if _is_given(found, keys)]
    asked = [found.end() for found in _ASKED.finditer(text)]
    return bool(given) and (len(asked) < 2 or asked[-1] < given[-1])  # noqa: PLR2004  examples


def is_told_as_answer(text: str, told: str) -> bool:
    """Tell whether a text holds what was told as an answer: after a label, in a tag, in JSON."""
    at = text.find(told)
    if at < 0 or not told:
        return False
    return _BEFORE.search(text[max(0, at - _LONGEST_BEFORE) : at]) is not None


def is_told_to_check(text: str) -> bool:
    """Tell whether instructions are to check or judge something."""
    return _CHECKING.search(text) is not None


def _is_given(found: re.Match[str], keys: Collection[str]) -> bool:
    """Tell whether what stands after a label is an answer: not a cue, a form or a placeholder."""
    name = found["label"] or found["tag"] or found["key"] or ""
    given = (found["line"] or found["tagged"] or found["value"] or "").strip()
    if not given.strip('"[]<>{}._ ') or _STILL_TO_GIVE.search(name) or name.lower() in keys:
        return False
    lowered = given.lower()
    if given.startswith(("{", "<", "```")) or given.endswith((":", "\uff1a")) or "json" in lowered:
        return False
    return sum(bool(re.search(rf"\b{re.escape(key)}\b", lowered)) for key in keys) < _MOST_KEYS


def _keys(data: object, depth: int) -> Iterator[object]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(data, dict):
        yield from data
    for inner in (
        data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    ):
        yield from _keys(inner, depth + 1)


def is_scored(said: str) -> bool:
    """Tell whether an output is scores or verdicts in JSON, with their reasons and nothing else.

    Names of fields are code, and so the same whatever language an evaluator is told to speak. An
    answer may have them, too: they are a judgement of who was given an answer (:func:`holds_judged`).
    """
    return any(_scores(data, 0) for data in data_in(said, None))


def is_assessment(said: str) -> bool:
    """Tell whether an output is JSON of scores, or of nothing but reasons, claims or statements."""
    return any(_scores(data, 0) is not None for data in data_in(said, None))


def says_score(said: str) -> bool:
    """Tell whether an output has a score or verdict in JSON, under a name that an answer has not."""
    return any(_holds(data, _JUDGES_KEY, 0) for data in data_in(said, None))


def holds_score(data: object) -> bool:
    """Tell whether a score or verdict stands anywhere in JSON data."""
    return _holds(data, _VERDICT_KEY, 0)


def _holds(data: object, kind: re.Pattern[str], depth: int) -> bool:
    if depth > _MAX_DEPTH:
        return False
    if isinstance(data, list):
        return any(_holds(item, kind, depth + 1) for item in data)
    return isinstance(data, dict) and any(
        (_is_named(kind, key) and _is_label(value)) or _holds(value, kind, depth + 1)
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
