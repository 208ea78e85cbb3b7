"""Searches and embeddings after the answer to what is no part of how it came about.

Pipelines look citations up, keep facts and the exchange in a memory, or search for what may be
asked next. What is written and found for that neither rewrites the question nor finds its context.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from otel_raglog.conventions.json_text import parse_json
from otel_raglog.mapping.collapse import Call, View
from otel_raglog.mapping.context import probes_of, shows_any, shows_context
from otel_raglog.mapping.family import is_shown
from otel_raglog.mapping.generating import answers
from otel_raglog.mapping.helping import without_helpers
from otel_raglog.mapping.judging import is_assessment
from otel_raglog.mapping.prompting import template_variables
from otel_raglog.mapping.question import answer_in
from otel_raglog.mapping.retrieving import Search
from otel_raglog.mapping.rewriting import is_told_to_rewrite
from otel_raglog.mapping.texts import holds, is_close_to_any, pieces_of
from otel_raglog.mapping.verdicts import is_verdict
from otel_raglog.model import (
    Chunk,
    EmbedStep,
    Field,
    RerankStep,
    RetrieveStep,
    StepOrigin,
)

_MOST_PIECES = 60
_STATEMENT = re.compile(r"[.!\u3002\uff01\u0964][\s\[\](){}\d,\"'»”*_]*\Z")
"""How what answers ends; a query to be searched for is a question or words alone."""

_ACTION = re.compile(r"^[ \t]*action(?: input)?[ \t]*:", re.IGNORECASE | re.MULTILINE)


def search_for_answer(
    view: View,
    calls: Sequence[Call],
    said: Field[str],
    search: Search,
    asked: Callable[[Call], Field[str]],
) -> Search:
    """Return a search without what was searched or reranked after the answer.

    The answer was given by the last call whose output is that of the run (``said``). Where the run
    says none it was given by the last call before a search that had read what was found and spoke to
    a person, if all later ones are made with its answer in hand or write JSON without one.
    """
    steps = _steps(search)
    if not _any_after(steps, calls):
        return search
    done = _answered(view, calls, said, steps, asked)
    if done is None:
        return search
    kept = Search(
        tuple(step for step in search.retrievals if not is_after(step.origin, done)),
        tuple(step for step in search.rerankings if not is_after(step.origin, done)),
    )
    return kept if kept.retrievals or kept.rerankings else search


def embeddings_for_answer(  # noqa: PLR0917  what a run knows before its answer
    view: View,
    call: Call | None,
    calls: Sequence[Call],
    said: Field[str],
    embeddings: Sequence[EmbedStep],
    search: Search,
) -> tuple[EmbedStep, ...]:
    """Return the embeddings without those after ``call``, if that answers from a context.

    What was searched for is a query whenever it was embedded.
    """
    if call is None or not _any_after(embeddings, [call, *calls]):
        return tuple(embeddings)
    steps = _steps(search)
    found = any(step.origin.end_unix_nano <= call.start for step in steps)
    if not found and not shows_context(call.messages.value or (), template_variables(view, call)):
        return tuple(embeddings)
    done = _last_of(call, calls, said)
    queries = [step.query.value for step in search.retrievals if step.query.value]
    after = [
        step
        for step in embeddings
        if is_after(step.origin, done)
        and not any(is_close_to_any(text, queries) for text in step.texts.value or ())
    ]
    if _asks_for(done, [text for step in after for text in step.texts.value or ()]):
        return tuple(embeddings)
    return tuple(step for step in embeddings if step not in after)


def is_after(origin: StepOrigin, call: Call) -> bool:
    """Tell whether a step began when a call was over; not where no times tell."""
    return origin.start_unix_nano >= call.end and origin.start_unix_nano > call.start


def _any_after(
    steps: Iterable[RetrieveStep | RerankStep | EmbedStep], calls: Sequence[Call]
) -> bool:
    return any(is_after(step.origin, call) for step in steps for call in calls)


def _answered(
    view: View,
    calls: Sequence[Call],
    said: Field[str],
    steps: Sequence[RetrieveStep | RerankStep],
    asked: Callable[[Call], Field[str]],
) -> Call | None:
    last = max((step.origin.start_unix_nano for step in steps), default=0)
    if said.usable and said.value:
        spoken = [call for call in calls if answers(call, said.value)]
        if spoken:
            return _last_of(max(spoken, key=_when), calls, said)
    candidates = [call for call in calls if call.end <= last and _speaks(call)]
    for call in sorted(candidates, key=_when, reverse=True):
        before = [step for step in steps if step.origin.end_unix_nano <= call.start]
        after = [step for step in steps if is_after(step.origin, call)]
        if not before or not after:
            continue
        if not is_shown(view, call, probes_of(_chunks(before))):
            continue
        retrievals = [step for step in before if isinstance(step, RetrieveStep)]
        sought = [step.query.value for step in after if step.query.value]
        if is_told_to_rewrite(view, call, retrievals) or _asks_for(call, sought):
            continue
        return call if _is_last_word(call, calls, steps, asked) else None
    return None


def _last_of(call: Call, calls: Sequence[Call], said: Field[str]) -> Call:
    """Return the last of the calls that wrote a part of the answer."""
    answer = said.value if said.usable and said.value else ""
    wrote = [other for other in calls if answer and other.told and holds(answer, other.told)]
    return max([call, *wrote], key=_when)


def _is_last_word(
    call: Call,
    calls: Sequence[Call],
    steps: Sequence[RetrieveStep | RerankStep],
    asked: Callable[[Call], Field[str]],
) -> bool:
    """Tell whether nothing answers after a call: not what is made with its answer in hand."""
    later = [other for other in calls if other is not call and other.end > call.end]
    if any(not other.output.value for other in later):
        return False
    if not later:
        return True
    rest = without_helpers([call, *later], _chunks(steps))
    if call not in rest:
        return False
    found = _chunks([step for step in steps if is_after(step.origin, call)])
    question = asked(call).value or ""
    return all(other is call or _only_notes(other, found, question) for other in rest)


def _only_notes(call: Call, found: Sequence[Chunk], question: str) -> bool:
    """Tell whether a call writes JSON that is no answer, as a memory takes notes."""
    data = parse_json(call.output.value or "")
    if data is None or answer_in(data) is not None:
        return False
    return not shows_any(call.prompt, found) or not (question and holds(call.prompt, question))


def _speaks(call: Call) -> bool:
    """Tell whether an output is told to a person: no verdict, no plan of an agent, no data."""
    text = call.output.value or ""
    if not call.output.usable or not call.told.strip() or _ACTION.search(text):
        return False
    if isinstance(call.data, dict) and call.data.get("tool_calls"):
        return False
    if is_verdict(text) or is_assessment(text):
        return False
    data = parse_json(text)
    return data is None or answer_in(data) is not None


def _asks_for(call: Call, texts: Sequence[str]) -> bool:
    """Tell whether a call wrote a query: one of ``texts`` that were searched for, and no statement."""
    if not texts or _STATEMENT.search(call.told.strip()):
        return False
    pieces = pieces_of(call.output.value or "", call.data)[:_MOST_PIECES]
    return any(is_close_to_any(piece, texts) for piece in pieces)


def _steps(search: Search) -> list[RetrieveStep | RerankStep]:
    return [*search.retrievals, *search.rerankings]


def _chunks(steps: Sequence[RetrieveStep | RerankStep]) -> tuple[Chunk, ...]:
    lists = [s.chunks.value if isinstance(s, RetrieveStep) else s.selected.value for s in steps]
    return tuple(chunk for chunks in lists for chunk in chunks or ())


def _when(call: Call) -> tuple[int, int, int]:
    return call.end, call.start, call.leaf
