"""LLM calls before a search to rewrites of the question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from otel_raglog.conventions.queries import filters_in, searches_in
from otel_raglog.mapping.collapse import Call, View, origin_of, rewriter_calls
from otel_raglog.mapping.question import before_question
from otel_raglog.mapping.roles import REWRITER_NAME, called
from otel_raglog.mapping.texts import (
    data_in,
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
    Role,
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
    r"generate (?:\w+ )?(?:search |multiple )?quer(?:y|ies)|expand the (?:query|question)|"
    r"structured? (?:request|query)|structure the (?:user'?s? )?(?:query|question)|"
    r"quer(?:y|ies) (?:to|for) (?:search|retrieve|look)",
    re.IGNORECASE,
)
_HINTS = (REWRITER_NAME, _REWRITING, _PASSAGE)
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


def tells_to_rewrite(text: str) -> bool:
    """Tell whether a text tells to write queries, and so is none itself."""
    return any(hint.search(text) is not None for hint in _HINTS)


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

    A call that stands before a search and is named or told to rewrite, or that a search makes
    before it finds anything, counts too when what was searched was not recorded, or was changed
    once more. What a user said to be a rewriter is one, whatever was searched for.
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
    steps.extend(_declared(view, call, targets, question) for call in rewriter_calls(view))
    return tuple(sorted(steps, key=lambda step: step.origin.start_unix_nano))


def is_told_to_rewrite(view: View, call: Call, retrievals: Sequence[RetrieveStep]) -> bool:
    """Tell whether a call is named as a rewriter, or told to write what is searched for."""
    told = f"{_names(view, call)} {_instructions(call, retrievals)}"
    return any(hint.search(told) for hint in _HINTS)


def _declared(
    view: View, call: Call, targets: Sequence[Target], question: Field[str]
) -> RewriteStep:
    later = [target for target in targets if target.start >= call.end]
    written = [query for data in data_in("", call.data) for query in searches_in(data)]
    if not written:
        pieces = pieces_of(call.output.value or "", call.data)[:MAX_PIECES]
        texts = [target.text for target in later]
        matched = _without_doubles([p for p in pieces if is_close_to_any(p, texts)])
        written = matched or _written(call)
    status = call.output.status
    told = f"{_names(view, call)} {_instructions(call, ())}"
    kind = _kind(call, told, written, later)
    why = f"a span that the configuration calls a rewriter ({kind.value})"
    facts = view.facts(call.leaf)
    asked = facts.query if facts is not None and facts.query.usable else question
    return RewriteStep(
        origin=origin_of(view, call.leaf, call.nodes, why),
        kind=kind,
        input=asked,
        rewrites=Field(tuple(written) if call.output.usable else None, status, call.output.source),
        model=call.model,
    )


def _precedes(call: Call, targets: Sequence[Target], first: int | None, last: int | None) -> bool:
    if any(target.start >= _said_by(call) for target in targets):
        return True
    return first is not None and last is not None and call.end <= last


def _said_by(call: Call) -> int:
    """Return when a call had said what it says, at the latest.

    The span of a call that asks for tools may go on until these are done (the legacy tracer of the
    Vercel AI SDK 7): what it asks for is known before.
    """
    asks = isinstance(call.data, dict) and bool(call.data.get("tool_calls"))
    return call.start if asks else call.end


def _rewrite(
    view: View,
    call: Call,
    targets: Sequence[Target],
    retrievals: Sequence[RetrieveStep],
    question: Field[str],
) -> RewriteStep | None:
    later = [target for target in targets if target.start >= _said_by(call)]
    pieces = pieces_of(call.output.value or "", call.data)[:MAX_PIECES]
    matched = [p for p in pieces if is_close_to_any(p, [target.text for target in later])]
    matched = _without_doubles(matched)
    names = _names(view, call)
    told = f"{names} {_instructions(call, retrievals)}"
    if matched:
        why = "an LLM call whose output was searched for or embedded afterwards"
    else:
        inside = _precedes_within_search(view, call)
        hinted = any(hint.search(told) for hint in _HINTS)
        if not (hinted or inside) or not _may_be_query(call) or _has_read(call, retrievals):
            return None
        matched = _written(call)
        why = "an LLM call that a search makes before it finds anything"
        if hinted:
            why = "an LLM call before a search that is named or told to rewrite the question"
    kind = _kind(call, told, matched, later)
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
        filters=_filters(call),
    )


def _filters(call: Call) -> str | None:
    written = (filters_in(data) for data in data_in(call.output.value or "", call.data))
    return next((text for text in written if text), None)


def _precedes_within_search(view: View, call: Call) -> bool:
    """Tell whether a search makes a call before any search within it has found something."""
    searches = view.of_role(Role.RETRIEVER)
    around = [index for index in searches if view.ran_within(index, call.nodes[0])]
    if not around:
        return False
    start = min(view.node(index).span.start_unix_nano for index in around)
    spans = [view.node(index).span for index in searches]
    return not any(
        start <= span.start_unix_nano and span.end_unix_nano <= call.start for span in spans
    )


def _written(call: Call) -> list[str]:
    """Return the queries in an output that nothing was seen to search for."""
    text = call.output.value or ""
    structured = [query for data in data_in(text, call.data) for query in searches_in(data)]
    return (structured or list(lines_of(text)))[:MAX_PIECES]


def _instructions(call: Call, retrievals: Sequence[RetrieveStep]) -> str:
    """Return what a prompt says itself: without tool results and retrieved pages in it.

    Pages are looked for only where something is told that counts.
    """
    own = [m.content for m in call.messages.value or () if m.role != "tool"]
    told = squeezed("\n".join(own))
    if not any(cue.search(told) for cue in (*_HINTS, _TALK)):
        return told
    for step in retrievals:
        for chunk in step.chunks.value or ():
            text = squeezed(chunk.text)
            if len(text) > _SHORT_CHUNK:
                told = told.replace(text, " ")
    return told


def _kind(call: Call, told: str, rewrites: Sequence[str], later: Sequence[Target]) -> RewriteKind:
    queries = [target.text for target in later if not target.embedded]
    only_embedded = bool(queries) and not any(is_close_to_any(r, queries) for r in rewrites)
    longest = max((len(rewrite.split()) for rewrite in rewrites), default=0)
    passage = bool(_PASSAGE.search(told))
    if (passage and (only_embedded or not queries or longest >= _PASSAGE_WORDS)) or (
        only_embedded and longest >= _PASSAGE_WORDS
    ):
        return RewriteKind.HYDE
    if len(rewrites) > 1:
        return RewriteKind.MULTI_QUERY
    if before_question(call.messages.value or (), None) or _TALK.search(told):
        return RewriteKind.CONDENSE
    return RewriteKind.REWRITE


def _names(view: View, call: Call) -> str:
    names = [called(view.node(index)) for index in call.nodes]
    for index in view.tree.ancestors(call.nodes[0]):
        if index not in view.roles or index == view.top:
            break
        names.append(called(view.node(index)))
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
