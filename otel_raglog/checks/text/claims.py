"""Turns an answer into what it claims: no citations, code, lead-ins, sentences that decline."""

from __future__ import annotations

import re

from otel_raglog.checks.text.refusals import refuses
from otel_raglog.checks.text.sentences import sentences

_READ_CHARACTERS = 4_000
LEAD_IN = re.compile(
    r"(?i)\b(?:based on|according to|as (?:stated|mentioned) in|from) (?:the |this )?"
    r"(?:\w+ ){0,2}(?:context|passages?|documents?|text|information|sources?|handbook)"
    r"(?: provided| above| given)?[,:]?\s*"
)
"""Words that lead to a claim, and are none."""

_CITATION = re.compile(r"\s*\[\d{1,3}\]")
_FENCED = re.compile(
    r"^[ \t]*(?P<fence>```|~~~)[ \t]*(?P<language>[\w+#.-]{0,20})[^\n]*\n.*?(?:^[ \t]*(?P=fence)|\Z)",
    re.DOTALL | re.MULTILINE,
)
_LANGUAGES_OF_WORDS = frozenset({"text", "txt", "plain", "plaintext", "markdown", "md"})


def without_code(answer: str) -> str:
    """Return the answer without its blocks of code; empty when it is nothing else.

    What a program says cannot be compared with the words of documents. A whole answer between
    fences that name no language of programs is taken for words.
    """

    def kept(block: re.Match[str]) -> str:
        language = block["language"].casefold()
        is_whole = block.group().strip() == answer.strip()
        return (
            block.group() if language in _LANGUAGES_OF_WORDS or (is_whole and not language) else " "
        )

    return _FENCED.sub(kept, answer)


def claimed(answer: str) -> str:
    """Return the answer without citation marks, lead-ins, and sentences that decline."""
    read = _CITATION.sub("", answer[:_READ_CHARACTERS])
    kept = [sentence for sentence in sentences(read) if not refuses(sentence)]
    text = "\n".join(kept) if kept else read
    return LEAD_IN.sub("", text).strip() or text
