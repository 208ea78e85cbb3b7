"""Finds texts of a run that try to instruct the LLM which judges it; they are counted, not changed."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from otel_raglog.checks.judge.answers import (
    EmbedderGrades,
    EvidenceFlow,
    Piece,
    RerankerGrades,
    RetrieverGrades,
    RewriterGrades,
    Statements,
    Verification,
)
from otel_raglog.checks.judge.instruction_phrases import INSTRUCTION, OF_ROLES
from otel_raglog.checks.judge.view import JudgeView
from otel_raglog.checks.judge.visible import TAGS, visible


class SuspicionKind(StrEnum):
    """How a text tries to instruct."""

    INSTRUCTION = "instruction"
    FAKE_VERDICT = "fake_verdict"
    DELIMITER = "delimiter"
    HIDDEN_TEXT = "hidden_text"
    ENCODED_INSTRUCTION = "encoded_instruction"


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Where a text tries to instruct, such as ``passed chunk 2``, and how."""

    kind: SuspicionKind
    where: str


_FIELDS = frozenset(
    field
    for answer in (
        RewriterGrades,
        EmbedderGrades,
        RetrieverGrades,
        RerankerGrades,
        Verification,
        EvidenceFlow,
        Piece,
        Statements,
    )
    for field in answer.model_fields
) | {"faulty_stages", "first_faulty_stage"}
_ALSO_ELSEWHERE = frozenset(
    ["answer", "passed", "excluded", "piece", "pieces", "refusal", "incomplete", "unsupported"]
) | {"contradiction", "harmless", "hedged"}
"""Names that other JSON has, too."""
_TOGETHER = frozenset(["passed", "excluded"])
_FEWEST_FIELDS = 2
_FIELD = re.compile(
    rf"\b({'|'.join(sorted(_FIELDS))})\b[\"'\\]{{0,4}}\s?[:=]\s?[\"'\\]{{0,4}}"
    r"(?:\d|true|false|null|none|\[|yes\b|partly\b|no\b|stated\b|omitted\b|different\b|said_unknown\b)"
)
_DELIMITER = re.compile(r"<<<[ \t]*(?:untrusted\b|end[ \t]+[0-9a-f]{4,})")
_TAG = re.compile(f"[{chr(TAGS.start)}-{chr(TAGS.stop - 1)}]")
_FEWEST_TAGS = 4
_HIDDEN = re.compile(
    "[\u200b-\u200d\u2060-\u2064\ufeff\ufe00-\ufe0f\U000e0100-\U000e01ef]{4,}|[\u202d\u202e]"
)
_IN_A_WORD = re.compile("(?<=[a-zA-Z])[\u200b-\u200d\u2060\ufeff]+(?=[a-zA-Z])")
_FEWEST_IN_WORDS = 3
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{16,}={0,2}(?:\s{1,2}[A-Za-z0-9+/_-]{16,}={0,2}){0,200}")
_MOST_ENCODED = 100


def suspected(view: JudgeView) -> tuple[Suspicion, ...]:
    """Return each kind of suspicion once for each text that is shown, in the view's order."""
    return tuple(
        Suspicion(kind, section.name_of(number))
        for section in view.sections
        for number, shown in enumerate(section.shown, 1)
        for kind in _kinds(shown.excerpt.text)
    )


def _kinds(text: str) -> Iterator[SuspicionKind]:
    seen = visible(text).text.casefold()
    for kind, finds in _FINDERS.items():
        if finds(text, seen):
            yield kind


def _instructs(_: str, seen: str) -> bool:
    return bool(INSTRUCTION.search(seen) or OF_ROLES.search(seen))


def _fakes_verdict(_: str, seen: str) -> bool:
    found = {match[1] for match in _FIELD.finditer(seen)}
    return (len(found) >= _FEWEST_FIELDS and not found <= _ALSO_ELSEWHERE) or found >= _TOGETHER


def _fakes_delimiter(_: str, seen: str) -> bool:
    return bool(_DELIMITER.search(seen))


def _hides(text: str, _: str) -> bool:
    if text.isascii():
        return False
    # Flags are spelled with tags, too: those that are part of a flag stay visible.
    tags = len(_TAG.findall(text)) - len(_TAG.findall(visible(text).text))
    if tags >= _FEWEST_TAGS or _HIDDEN.search(text):
        return True
    return len(_IN_A_WORD.findall(text)) >= _FEWEST_IN_WORDS


def _encodes(text: str, _: str) -> bool:
    return any(
        _instructs(decoded, seen) or _fakes_verdict(decoded, seen)
        for decoded in _decoded(text)
        for seen in (visible(decoded).text.casefold(),)
    )


def _decoded(text: str) -> Iterator[str]:
    """Yield the texts that are encoded in ``text`` as base64."""
    for match in islice(_BASE64.finditer(text), _MOST_ENCODED):
        packed = re.sub(r"[\s=]", "", match.group()).translate(str.maketrans("-_", "+/"))
        try:
            yield base64.b64decode(packed[: len(packed) // 4 * 4]).decode("utf-8", "ignore")
        except binascii.Error:
            continue


_FINDERS: Mapping[SuspicionKind, Callable[[str, str], bool]] = {
    SuspicionKind.INSTRUCTION: _instructs,
    SuspicionKind.FAKE_VERDICT: _fakes_verdict,
    SuspicionKind.DELIMITER: _fakes_delimiter,
    SuspicionKind.HIDDEN_TEXT: _hides,
    SuspicionKind.ENCODED_INSTRUCTION: _encodes,
}
