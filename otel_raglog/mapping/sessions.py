"""Runs of one conversation to its id, and to the number of each turn in it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from otel_raglog.conventions.json_text import as_text
from otel_raglog.conventions.masking import is_redacted
from otel_raglog.mapping.collapse import View
from otel_raglog.mapping.helper_runs import helper_runs
from otel_raglog.mapping.texts import normal
from otel_raglog.model import Run, Span, Stage, StepOrigin
from otel_raglog.redaction.replacing import is_hashed

SESSION_KEYS = (
    "session.id",
    "gen_ai.conversation.id",
    "langfuse.session.id",
    "langsmith.metadata.session_id",
    "langsmith.metadata.thread_id",
    "langsmith.metadata.conversation_id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.conversation_id",
    "ai.telemetry.metadata.sessionId",
    "spring.ai.chat.client.conversation.id",
    "mlflow.trace.session",
)
"""Keys of conversations that stand on spans of any kind: baggage puts them everywhere."""


def session_of(view: View) -> str | None:
    """Return the conversation that a run belongs to: what a vocabulary says, on whichever span.

    Else what a key of any vocabulary says on a span that does not speak it. The spans around a
    run (one request with several questions) count, after its own.
    """
    for indices in (view.indices, tuple(view.tree.ancestors(view.top))):
        for index in indices:
            facts = view.facts(index)
            if facts is not None and facts.session_id and facts.session_id.strip():
                return facts.session_id
        bare = _bare_session([view.node(index).span for index in indices])
        if bare is not None:
            return bare
    return None


def number_turns(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Return runs, in any order, with the turn of each where these runs tell it.

    A history tells it: its own run's, and that of the run whose question ends it. Beyond that
    runs of one session are counted in order of time, unless they overlap. Runs in which nothing
    answers are no turns, nor are those that help with another one (:mod:`helper_runs`), whatever
    talk these are given. Runs of one trace that are turns of one talk are of one session, where
    only some of them name it.
    """
    runs = _with_sessions(runs)
    sessions: dict[tuple[str, str], list[int]] = {}
    for at, run in enumerate(runs):
        if run.session_id and (run.generators or run.answer.value):
            sessions.setdefault((run.service, run.session_id), []).append(at)
    helpers: set[int] = set()
    for session, members in sessions.items():
        ordered = sorted(members, key=lambda at: (_start(runs[at]), runs[at].run_id))
        helping = {ordered[place] for place in helper_runs([runs[at] for at in ordered])}
        sessions[session] = [at for at in ordered if at not in helping]
        helpers |= helping
    turns: dict[int, int] = {
        at: run.turn for at, run in enumerate(runs) if run.turn is not None and at not in helpers
    }
    _tell_from_histories(runs, turns, helpers)
    for ordered in sessions.values():
        _count(runs, ordered, turns)
    return tuple(
        run if run.turn == turns.get(at) else replace(run, turn=turns.get(at))
        for at, run in enumerate(runs)
    )


def _with_sessions(runs: Sequence[Run]) -> list[Run]:
    """Give runs without a session that of those in their trace whose history has their question.

    Or whose question is in their own. Runs of one request that know nothing of each other may be
    of several people.
    """
    found = list(runs)
    traces: dict[bytes, list[int]] = {}
    for at, run in enumerate(runs):
        traces.setdefault(run.trace_id, []).append(at)
    for members in traces.values():
        lacking = [at for at in members if not runs[at].session_id]
        if not lacking or len(lacking) == len(members):
            continue
        talks = _Talks({at: runs[at] for at in members})
        # A name goes from turn to turn: on with the first pass, back with the second.
        for at in [*lacking, *reversed(lacking)]:
            named = {found[other].session_id for other in talks.of(at)} - {None, ""}
            if not found[at].session_id and len(named) == 1:
                found[at] = replace(runs[at], session_id=named.pop())
    return found


class _Talks:
    """Runs of one trace, and which are turns of one talk."""

    def __init__(self, runs: Mapping[int, Run]) -> None:
        self._asking: dict[str, list[int]] = {}
        self._knowing: dict[str, list[int]] = {}
        self._runs = runs
        for at, run in runs.items():
            if run.question.value:
                self._asking.setdefault(normal(run.question.value), []).append(at)
            for text in self._asked_before(run):
                self._knowing.setdefault(text, []).append(at)

    def of(self, at: int) -> Iterator[int]:
        """Yield the runs that one knows of, and those that know of it."""
        run = self._runs[at]
        for text in self._asked_before(run):
            yield from self._asking.get(text, ())
        if run.question.value:
            yield from self._knowing.get(normal(run.question.value), ())

    @staticmethod
    def _asked_before(run: Run) -> set[str]:
        return {normal(m.content) for m in run.history.value or () if m.role == "user"}


def _tell_from_histories(
    runs: Sequence[Run], turns: dict[int, int], helpers: Collection[int]
) -> None:
    """Number the run whose question is the last of another's history."""
    asked: dict[tuple[str, str], list[int]] = {}
    for at, run in enumerate(runs):
        if run.question.value and at not in turns and at not in helpers:
            asked.setdefault((run.session_id or "", normal(run.question.value)), []).append(at)
    for at, run in enumerate(runs):
        turn = turns.get(at)
        last = next((m for m in reversed(run.history.value or ()) if m.role == "user"), None)
        if turn is None or turn < 2 or last is None:  # noqa: PLR2004  the first has none before it
            continue
        before = asked.get((run.session_id or "", normal(last.content)), [])
        same = [other for other in before if 0 < _end(runs[other]) <= _start(run)]
        if len(same) == 1:
            turns[same[0]] = turn - 1


def _count(runs: Sequence[Run], ordered: Sequence[int], turns: dict[int, int]) -> None:
    if len(ordered) < 2 and not any(at in turns for at in ordered):  # noqa: PLR2004  alone
        return
    starts = [_start(runs[at]) for at in ordered]
    ends = [_end(runs[at]) for at in ordered]
    if not all(starts) or any(
        end > start for end, start in zip(ends[:-1], starts[1:], strict=True)
    ):
        return
    told = [(position, turns[at]) for position, at in enumerate(ordered) if at in turns]
    number = told[0][1] - told[0][0] if told else 1
    if number < 1:  # the history is cut: more came before than it tells
        return
    for at in ordered:
        number = turns.setdefault(at, number) + 1


def _bare_session(spans: Sequence[Span]) -> str | None:
    naming = [span for span in spans if not span.attributes.keys().isdisjoint(SESSION_KEYS)]
    for key in SESSION_KEYS if naming else ():
        for span in naming:
            text = as_text(span.attributes.get(key))
            if text and text.strip() and (is_hashed(text) or not is_redacted(text)):
                return text
    return None


def _start(run: Run) -> int:
    return min((step.start_unix_nano for step in _origins(run)), default=0)


def _end(run: Run) -> int:
    return max((step.end_unix_nano for step in _origins(run)), default=0)


def _origins(run: Run) -> Iterable[StepOrigin]:
    return (step.origin for stage in Stage for step in run.steps(stage))
