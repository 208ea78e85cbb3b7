"""Texts to whether they are a verdict or a grade, or begin with one."""

from __future__ import annotations

import re

from otel_raglog.conventions.json_text import parse_json

_SAYS_YES_OR_NO = (
    r"yes|no|true|false|ja|nein|jein|oui|non|sí|si|sì|sim|não|nao|nee|nej|nei|jo|tak|nie|ano|ne|"
    r"igen|nem|evet|hay\u0131r|да|нет|так|ні|はい|いいえ|是|是的|否|不是|예|네|아니요|아니오|نعم|لا"
)
"""In the languages of most applications."""

_SAYS_HOW_GOOD = (
    r"(?:un)?safe|pass(?:ed)?|fail(?:ed)?|(?:not )?(?:grounded|supported|factual)|hallucinated|"
    r"(?:in)?correct|(?:ir|un)?relevant|unrelated"
)
_YES_OR_NO = re.compile(rf"[\W\d]*(?:{_SAYS_YES_OR_NO})[\W\d]*", re.IGNORECASE)
_HOW_GOOD = re.compile(rf"[\W\d]*(?:{_SAYS_HOW_GOOD})[\W\d]*", re.IGNORECASE)
_GRADE = re.compile(
    r"\W*(?:\d{1,2}(?:\.\d+)?(?: ?(?:/|of|out of) ?\d+)?|\d?\.\d+|(?:very |not |partially |somewhat |highly )?"
    r"(?:relevant|useful|helpful|similar|good|bad)|high|medium|low|none|keep|drop|discard|ambiguous|unknown)\W*",
    re.IGNORECASE,
)
_BEGINNING = re.compile(
    rf"[\s*`\"']*(?:json\s*)?(?:{_SAYS_YES_OR_NO}|{_SAYS_HOW_GOOD}|[0-9]+(?:\.[0-9]+)?|score|verdict|"
    r"rating)(?!\w)|[\s`]*(?:json\s*)?[{\[]",
    re.IGNORECASE,
)


def is_verdict(text: str) -> bool:
    """Tell whether a text is a verdict or a grade and nothing else: it may be in any prompt."""
    return is_bare(text) or is_grade(text)


def is_bare(text: str) -> bool:
    """Tell whether a text is a verdict and nothing else, as a word or as JSON of words and numbers."""
    data = parse_json(text)
    if isinstance(data, dict):
        return bool(data) and all(
            isinstance(value, bool | int | float) or (isinstance(value, str) and is_bare(value))
            for value in data.values()
        )
    return says_yes_or_no(text) or _HOW_GOOD.fullmatch(text) is not None


def says_yes_or_no(text: str) -> bool:
    """Tell whether a text is a yes or a no, which a question may have for an answer."""
    return _YES_OR_NO.fullmatch(text) is not None


def is_grade(text: str) -> bool:
    """Tell whether a text is a number or a grade, and nothing else."""
    return _GRADE.fullmatch(text) is not None


def begins_as_verdict(text: str) -> bool:
    """Tell whether a text begins with a verdict, a number, or JSON that may have one."""
    return _BEGINNING.match(text) is not None
