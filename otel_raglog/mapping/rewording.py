"""A last call that says an answer in other words (tone, format, language) to the call that answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from otel_raglog.conventions.json_text import parse_json
from otel_raglog.mapping.collapse import Call, View
from otel_raglog.mapping.context import probes_of, shows_any, shows_context
from otel_raglog.mapping.family import is_shown
from otel_raglog.mapping.generating import generate_step, total_tokens
from otel_raglog.mapping.helping import is_verdict, without_helpers
from otel_raglog.mapping.outputs import final_answer
from otel_raglog.mapping.prompting import template_variables
from otel_raglog.mapping.question import answer_in
from otel_raglog.mapping.texts import holds
from otel_raglog.model import Chunk, Field, GenerateStep

_SHORTEST_DRAFT = 8
"""Characters of an answer below which finding it in a prompt may be chance."""

_REWORDING = re.compile(
    r"\b(?:re-?writ|re-?phras|re-?word|re-?format|paraphras|polish|proof-?read|copy-?edit|simplif|"
    r"shorten|friendl|polite|grammar|spelling|plain language|plain english|"
    r"(?:format|convert|turn|put) (?:it|this|that|the (?:answer|response|reply|text|draft))|"
    r"(?:as|in|into|to) (?:markdown|html|json|bullet points)|(?:tone|style) (?:of|guide)|(?:more|in an?) \w+ tone)",
    re.IGNORECASE,
)
_TRANSLATING = re.compile(
    r"\b(?:translat|übersetz|tradu[ciz]|vertaal|vertal|przetłumacz|перев[её]д|перевод|переклад|çevir|"
    r"přelož|översätt|oversett|oversæt)|翻译|翻譯|翻訳|번역|ترجم",
    re.IGNORECASE,
)
_TRANSLATED_SHARE = 0.25
"""A translation is at least this much of the text: a title is less, Chinese is a third of English."""


def find_rewordings(
    view: View,
    call: Call | None,
    calls: Sequence[Call],
    chunks: Sequence[Chunk],
    asked: Callable[[Call], Field[str]],
    *,
    after: int,
    open_end: bool,
) -> tuple[Call | None, tuple[Call, ...]]:
    """Return the call that answers from the context, and those that reword its answer, in order.

    ``call`` is the one whose output the user gets, as far as that is known; with ``open_end`` (the
    run says no output) a later one that is told to reword it is; a translation only where the
    question was translated, too: else it may be made for somebody else. A rewording call was told what
    one other wrote after the last search (``after``), and is shown no context. It does not
    answer the question (``asked``) anew, or is told to reword.
    """
    if call is None:
        return None, ()
    late = [other for other in calls if other.end > after]
    later: list[Call] = []
    answering = call
    while (draft := _draft_of(view, answering, late, chunks, asked)) is not None:
        later.insert(0, answering)
        answering = draft
    speaking = without_helpers(late, chunks) if open_end else ()
    both_ways = any(_translates(other) for other in calls if other.end <= answering.start)
    for other in sorted(late if open_end else (), key=lambda call: (call.start, call.end)):
        last = later[-1] if later else answering
        if other not in speaking and not (both_ways and _is_translation(other, last)):
            continue
        if other.start >= last.end and _draft_of(view, other, late, chunks) is last:
            later.append(other)
    return answering, tuple(later)


def reworded(
    view: View, step: GenerateStep, later: Sequence[Call], answer: Field[str]
) -> GenerateStep:
    """Return the generator's step with what ``later`` calls made of its answer."""
    if not later:
        return step
    last = generate_step(view, later[-1], answer)
    ids = [view.node(index).span.span_id for call in later for index in call.nodes]
    why = f"{step.origin.why}; its answer was put into other words by {len(later)} later call(s)"
    counts = [step.tokens, *(call.tokens for call in later)]
    reasons = [step.finish_reason, *(call.finish_reason for call in later)]
    cut = next((r for r in reasons if r and r.lower() not in {"stop", "end_turn"}), None)
    return replace(
        step,
        origin=replace(step.origin, span_ids=(*step.origin.span_ids, *ids), why=why),
        answer=last.answer,
        draft=step.answer,
        finish_reason=cut or last.finish_reason,
        tokens=total_tokens(counts),
    )


def _draft_of(
    view: View,
    call: Call,
    calls: Sequence[Call],
    chunks: Sequence[Chunk],
    asked: Callable[[Call], Field[str]] | None = None,
) -> Call | None:
    """Return the call whose answer ``call`` rewords; without ``asked`` it must be told to."""
    told = _told_by(call, calls)
    if len(told) != 1 or is_verdict(_spoken_by(told[0])):
        return None
    draft = told[0]
    rest = [
        replace(message, content=_without(message.content, _spoken_by(draft)))
        for message in call.messages.value or ()
    ]
    own = "\n\n".join(message.content for message in rest)
    if shows_any(own, chunks) or shows_context(rest, template_variables(view, call)):
        return None
    probes = probes_of(chunks)
    before = [draft, *(other for other in calls if other.end <= draft.start)]
    if not any(is_shown(view, other, probes) for other in before):
        return None
    if _REWORDING.search(own) or _TRANSLATING.search(own):
        return draft
    question = asked(draft).value if asked else None
    return draft if question and not holds(own, question) else None


def _translates(call: Call) -> bool:
    return _TRANSLATING.search(call.prompt) is not None


def _is_translation(call: Call, draft: Call) -> bool:
    said = call.output.value or ""
    return _translates(call) and len(said) >= _TRANSLATED_SHARE * len(_spoken_by(draft))


def _told_by(call: Call, calls: Sequence[Call]) -> list[Call]:
    """Return the earlier ones of ``calls`` whose words ``call`` was told, not as a tool's result.

    One whose words came through another of them is left out.
    """
    found = [other for other in calls if other is not call and _is_told(call, other)]
    return [other for other in found if not any(_is_told(later, other) for later in found)]


def _is_told(call: Call, earlier: Call) -> bool:
    said = _spoken_by(earlier)
    return (
        earlier.end <= call.start
        and len(said) >= _SHORTEST_DRAFT
        and any(m.role != "tool" and holds(m.content, said) for m in call.messages.value or ())
    )


def _spoken_by(call: Call) -> str:
    """Return what a program takes for a call's answer: without reasoning, or out of JSON."""
    text = final_answer((call.output.value or "").strip())
    data = parse_json(text)
    return (answer_in(data) if isinstance(data, dict) else None) or text


def _without(text: str, piece: str) -> str:
    """Return a text without a piece of it, but for case and white space."""
    if piece in text:
        return text.replace(piece, " ")
    return re.sub(r"\s+".join(map(re.escape, piece.split())), " ", text, flags=re.IGNORECASE)
