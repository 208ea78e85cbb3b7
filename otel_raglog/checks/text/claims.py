"""Turns an answer into what it claims: without citations, lead-ins, and sentences that decline."""

from __future__ import annotations

import re

from otel_raglog.checks.text.refusals import refuses
from otel_raglog.checks.text.sentences import sentences

_READ_CHARACTERS = 4_000
_LEAD_IN = re.compile(
    r"(?i)\b(?:based on|according to|as (?:stated|mentioned) in|from) (?:the |this )?"
    r"(?:\w+ ){0,2}(?:context|passages?|documents?|text|information|sources?|handbook)"
    r"(?: provided| above| given)?[,:]?\s*"
)
_CITATION = re.compile(r"\s*\[\d{1,3}\]")


def claimed(answer: str) -> str:
    """Return the answer without citation marks, lead-ins, and sentences that decline."""
    read = _CITATION.sub("", answer[:_READ_CHARACTERS])
    kept = [sentence for sentence in sentences(read) if not refuses(sentence)]
    text = "\n".join(kept) if kept else read
    return _LEAD_IN.sub("", text).strip() or text
