"""Traces that are a part of a run to what tells which run that is: texts, times, a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from otel_raglog.mapping.context import context_in
from otel_raglog.mapping.question import asked_in, this_turn
from otel_raglog.mapping.texts import folded, normal, pieces_of
from otel_raglog.model import Message, Run, Span, Trace

MOST_TEXTS = 16
"""Texts of an embedding call beyond which they are documents on their way into a store."""

_MOST_CHUNKS = 100
_MOST_PIECES = 60
_LONGEST_OUTPUT = 20_000
_FEWEST_CHARACTERS = 20
"""Length from which a chunk is known again in a prompt; "yes" is in many."""


class JoinBy(StrEnum):
    """What traces of one run must have in common beside their texts."""

    SESSION = "session"
    SERVICE = "service"


@dataclass(frozen=True, slots=True)
class Fragment:
    """A trace that only searches, or only calls an LLM: a part of some run, if of any.

    Texts are ready to be compared: ``sought``, ``asked``, ``question``, ``said`` and ``written``
    without case, white space and edge punctuation, ``found`` and ``prompt`` without case and
    with single blanks. ``calls`` tells the LLM call from the search; ``called`` is when it was
    made, in a trace that may have begun before.
    """

    trace_id: bytes
    key: tuple[str, ...]
    """Fragments of one run have the same."""
    session: str | None
    name: str
    calls: bool
    start: int
    end: int
    called: int
    span_ids: frozenset[bytes]
    sought: tuple[str, ...] = ()
    """What was embedded or searched for."""
    batch: bool = False
    """Several texts were embedded, and nothing was searched for."""
    found: tuple[str, ...] = ()
    """The chunks that came of it."""
    question: str = ""
    asked: str = ""
    """The last message of the user in the prompt, without the context in it."""
    prompt: str = ""
    """The prompt without earlier turns of the talk."""
    said: str = ""
    written: frozenset[str] = frozenset()
    """What a program may take from what the LLM said."""


def fragment_of(trace: Trace, runs: Sequence[Run], by: JoinBy) -> Fragment | None:
    """Return what may be joined with other traces; ``None`` for all that stands for itself.

    ``runs`` are those of ``trace``. One that searches and answers is whole; so are several.
    Nothing that names no session (or no service), or recorded no text, is a fragment.
    """
    if len(runs) != 1 or not trace.spans:
        return None
    run = runs[0]
    if run.skip_reason == "cached_answer":
        return None
    searches = bool(run.retrievers or run.rerankers or run.embedders)
    looked_up = bool(run.retrievers or run.rerankers)
    top = _top_of(trace, run)
    key = _key(run, top, by)
    if key is None or (run.generators and looked_up) or not (run.generators or searches):
        return None
    return _call(trace, run, top, key) if run.generators else _search(trace, run, top, key)


def _key(run: Run, top: Span, by: JoinBy) -> tuple[str, ...] | None:
    if by is JoinBy.SESSION:
        return (run.session_id,) if run.session_id else None
    service, instance = (top.resource.get(name) for name in ("service.name", "service.instance.id"))
    return (str(service), str(instance or "")) if service else None


def _top_of(trace: Trace, run: Run) -> Span:
    return next((s for s in trace.spans if s.span_id == run.top_span_id), trace.spans[0])


def _call(trace: Trace, run: Run, top: Span, key: tuple[str, ...]) -> Fragment | None:
    step = run.generators[-1]
    messages = this_turn(step.messages.value or ())
    asked = next(iter(asked_in(messages)[-1:]), "")
    said = step.answer.value or ""
    if not messages and not said:
        return None
    pieces = pieces_of(said[:_LONGEST_OUTPUT])[:_MOST_PIECES]
    return Fragment(
        trace_id=trace.trace_id,
        key=key,
        session=run.session_id,
        name=top.name,
        calls=True,
        start=min(span.start_unix_nano for span in trace.spans),
        end=max(span.end_unix_nano for span in trace.spans),
        called=step.origin.start_unix_nano,
        span_ids=frozenset(span.span_id for span in trace.spans),
        question=normal(run.question.value or ""),
        asked=normal(_without_context(asked)),
        prompt=folded("\n".join(message.content for message in messages)),
        said=normal(said),
        written=frozenset(filter(None, map(normal, pieces))),
    )


def _search(trace: Trace, run: Run, top: Span, key: tuple[str, ...]) -> Fragment | None:
    embedded = [text for step in run.embedders for text in step.texts.value or ()]
    if len(embedded) > MOST_TEXTS:
        return None
    sought = [run.question.value or ""]
    sought += [
        text for step in run.embedders if not step.passage for text in step.texts.value or ()
    ]
    sought += [step.query.value or "" for step in run.retrievers]
    sought += [step.query.value or "" for step in run.rerankers]
    lists = [step.chunks.value for step in run.retrievers if not step.reconstructed]
    lists += [step.selected.value for step in run.rerankers]
    found = [chunk.text for chunks in lists for chunk in chunks or ()]
    start = min(span.start_unix_nano for span in trace.spans)
    fragment = Fragment(
        trace_id=trace.trace_id,
        key=key,
        session=run.session_id,
        name=top.name,
        calls=False,
        start=start,
        end=max(span.end_unix_nano for span in trace.spans),
        called=start,
        span_ids=frozenset(span.span_id for span in trace.spans),
        sought=_distinct(map(normal, sought)),
        batch=len(set(embedded)) > 1 and not (run.retrievers or run.rerankers),
        found=tuple(
            text
            for text in _distinct(map(folded, found[:_MOST_CHUNKS]))
            if len(text) >= _FEWEST_CHARACTERS
        ),
    )
    return fragment if fragment.sought or fragment.found else None


def _without_context(asked: str) -> str:
    context = context_in((Message("user", asked),), {}, (), None)
    return asked.replace(context, " ") if context else asked


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, texts)))
