"""Cohere's rerank in OpenLLMetry, which writes documents and results as messages, to chunks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from otel_raglog.conventions.chat import message_from_item
from otel_raglog.conventions.documents import chunks_in
from otel_raglog.conventions.flattened import ListAttribute
from otel_raglog.conventions.json_text import as_number, parse_json_or_literal
from otel_raglog.model import Chunk, FieldStatus, Message, ScoreKind

_RESULT = re.compile(r"Doc (\d+), Score: ([-+0-9.eE]+)(?:\n(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Reranking:
    """What was asked, what was given, and what was kept, best first."""

    query: str
    given: tuple[Chunk, ...]
    selected: tuple[Chunk, ...]


def reranked_by_message(
    prompt: ListAttribute | None, completion: ListAttribute | None
) -> Reranking | None:
    """Return a reranking whose documents are system messages and whose query is the user's.

    Results name the place of a document and its score; the text only where it was asked for.
    ``None`` when the messages are of another kind.
    """
    if prompt is None or prompt.gaps:
        return None
    messages = [message_from_item(item) for item in prompt.items]
    if (
        not messages
        or messages[-1].role != "user"
        or any(m.role != "system" for m in messages[:-1])
    ):
        return None
    given = tuple(_document(message) for message in messages[:-1])
    results = [message_from_item(item).content for item in completion.items] if completion else []
    matches = [match for text in results if (match := _RESULT.fullmatch(text)) is not None]
    selected = tuple(_selected(match, given) for match in matches)
    return Reranking(messages[-1].content, given, selected)


def _document(message: Message) -> Chunk:
    found = chunks_in([parse_json_or_literal(message.content)], bare_strings=False)
    return found[0] if found else Chunk(message.content)


def _selected(match: re.Match[str], given: Sequence[Chunk]) -> Chunk:
    place = int(match[1])
    score = as_number(match[2])
    source = given[place] if place < len(given) else None
    text = match[3] or (source.text if source else "")
    return Chunk(
        text=text,
        id=source.id if source else None,
        score=score,
        score_kind=ScoreKind.UNKNOWN if score is None else ScoreKind.SIMILARITY,
        title=source.title if source else None,
        metadata=source.metadata if source else {},
        text_status=FieldStatus.PRESENT if text else FieldStatus.NOT_CAPTURED,
    )
