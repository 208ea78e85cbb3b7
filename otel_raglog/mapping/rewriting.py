"""LLM calls before a search to rewrites of the question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from otel_raglog.mapping.collapse import Call, View, origin_of
from otel_raglog.mapping.question import before_question
from otel_raglog.mapping.roles import REWRITER_NAME
from otel_raglog.mapping.texts import (
    is_close_to_any,
    lines_of,
    normal,
    pieces_of,
    squeezed,
)
from otel_raglog.model import (
    EmbedStep,
    Field,
    FieldStatus,
    RetrieveStep,
    RewriteKind,
    RewriteStep,
)

MAX_PIECES = 60
"""Pieces of an output that are compared with search texts; a rewriter writes fewer."""

_PASSAGE_WORDS = 25
_SHORT_CHUNK = 20
_PASSAGE = re.compile(
    r"hyde|hypothetical|write a (?:short |brief |detailed )?(?:passage|paragraph|document)|"
    r"passage (?:to|that) answers?",
    re.IGNORECASE,
)
_TALK = re.compile(
    r"chat.?history|conversation|follow.?up (?:question|message|input)|standalone question|"
    r"previous (?:messages|turns)",
    re.IGNORECASE,
)
_REWRITING = re.compile(
    r"re-?write|re-?phrase|reformulate|standalone question|search quer(?:y|ies)|"
    r"alternative (?:versions|questions)|different versions|sub-?questions|decompose|"
    r"generate (?:\w+ )?(?:search |multiple )?quer(?:y|ies)|expand the (?:query|question)",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\s*(?:yes|no|true|false|none|\d+|(?:binary_)?score\W.*|vector_?store|web_?search)\W*\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Target:
    """A text that was searched or embedded, and when."""

    text: str
    start: int
    embedded: bool


def search_texts(
    retrievals: Sequence[RetrieveStep], embeddings: Sequence[EmbedStep]
) -> tuple[Target, ...]:
    """Return what was searched and embedded, in order of time."""
    targets = [
        Target(step.query.value, step.origin.start_unix_nano, embedded=False)
        for step in retrievals
        if step.query.usable and step.query.value
    ]
    targets.extend(
        Target(text, step.origin.start_unix_nano, embedded=True)
        for step in embeddings
        if step.texts.usable and not step.passage
        for text in step.texts.value or ()
    )
    return tuple(sorted(targets, key=lambda target: (target.start, target.embedded)))


def find_rewrites(
    view: View,
    calls: Iterable[Call],
    targets: Sequence[Target],
    retrievals: Sequence[RetrieveStep],
    question: Field[str],
) -> tuple[RewriteStep, ...]:
    """Return the calls whose output, or a piece of it, was searched or embedded afterwards.

    A call that stands before a search and is named or told to rewrite counts too when what
    was searched was not recorded, or was changed once more.
    """
    first = min((step.origin.start_unix_nano for step in retrievals), default=None)
    last_inside = max((step.origin.end_unix_nano for step in retrievals), default=None)
    steps: list[RewriteStep] = []
    for call in calls:
        if not _precedes(call, targets, first, last_inside):
            continue
        step = _rewrite(view, call, targets, retrievals, question)
        if step is not None:
            steps.append(step)
    return tuple(steps)


def _precedes(call: Call, targets: Sequence[Target], first: int | None, last: int | None) -> bool:
    if any(target.start >= call.end for target in targets):
        return True
    return first is not None and last is not None and call.end <= last


def _rewrite(
    view: View,
    call: Call,
    targets: Sequence[Target],
    retrievals: Sequence[RetrieveStep],
    question: Field[str],
) -> RewriteStep | None:
    later = [target for target in targets if target.start >= call.end]
    pieces = pieces_of(call.output.value or "", call.data)[:MAX_PIECES]
    matched = [p for p in pieces if is_close_to_any(p, [target.text for target in later])]
    matched = _without_doubles(matched)
    names = _names(view, call)
    hinted = bool(REWRITER_NAME.search(names) or _REWRITING.search(call.prompt))
    if matched:
        why = "an LLM call whose output was searched for or embedded afterwards"
    elif hinted and _may_be_query(call) and not _has_read(call, retrievals):
        matched = list(lines_of(call.output.value or ""))[:MAX_PIECES]
        why = "an LLM call before a search that is named or told to rewrite the question"
    else:
        return None
    kind = _kind(call, names, matched, later)
    rewrites: Field[tuple[str, ...]] = Field(None, call.output.status, call.output.source)
    if matched:
        cut = call.output.status is FieldStatus.TRUNCATED
        status = FieldStatus.TRUNCATED if cut else FieldStatus.PRESENT
        rewrites = Field(tuple(matched), status, call.output.source)
    return RewriteStep(
        origin=origin_of(view, call.leaf, call.nodes, f"{why} ({kind.value})"),
        kind=kind,
        input=question,
        rewrites=rewrites,
        model=call.model,
    )


def _kind(call: Call, names: str, rewrites: Sequence[str], later: Sequence[Target]) -> RewriteKind:
    queries = [target.text for target in later if not target.embedded]
    only_embedded = bool(queries) and not any(is_close_to_any(r, queries) for r in rewrites)
    longest = max((len(rewrite.split()) for rewrite in rewrites), default=0)
    told = bool(_PASSAGE.search(names) or _PASSAGE.search(call.prompt))
    if (told and (only_embedded or not queries or longest >= _PASSAGE_WORDS)) or (
        only_embedded and longest >= _PASSAGE_WORDS
    ):
        return RewriteKind.HYDE
    if len(rewrites) > 1:
        return RewriteKind.MULTI_QUERY
    if before_question(call.messages.value or (), None) or _TALK.search(call.prompt):
        return RewriteKind.CONDENSE
    return RewriteKind.REWRITE


def _names(view: View, call: Call) -> str:
    names = [view.node(index).span.name for index in call.nodes]
    for index in view.tree.ancestors(call.nodes[0]):
        if index not in view.roles or index == view.top:
            break
        names.append(view.node(index).span.name)
    return " ".join(names)


def _has_read(call: Call, retrievals: Sequence[RetrieveStep]) -> bool:
    """Tell whether a prompt holds retrieved chunks: then the call answers or grades."""
    prompt = squeezed(call.prompt)
    return any(
        len(text) > _SHORT_CHUNK and text in prompt
        for step in retrievals
        for chunk in step.chunks.value or ()
        if (text := squeezed(chunk.text))
    )


def _may_be_query(call: Call) -> bool:
    if not call.output.usable:
        return call.output.status is not FieldStatus.NOT_CAPTURED
    text = call.output.value or ""
    return bool(text.strip()) and _DECISION.fullmatch(text) is None


def _without_doubles(pieces: Sequence[str]) -> list[str]:
    """Drop repeated pieces, and a whole text whose lines match one by one.

    Queries that differ in a detail (the fares of 2024, the fares of 2023) are both kept.
    """
    kept: list[str] = []
    seen: set[str] = set()
    for piece in sorted(pieces, key=lambda p: (p.count("\n"), pieces.index(p))):
        lines = {normal(line) for line in lines_of(piece)} or {normal(piece)}
        if not lines <= seen:
            kept.append(piece)
        seen |= lines | {normal(piece)}
    return kept
