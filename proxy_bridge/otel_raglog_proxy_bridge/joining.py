"""A call and the open threads of calls to the thread that it goes on with, if any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from otel_raglog_proxy_bridge.linking import (
    Direction,
    Ties,
    closeness,
    direction_of,
    keys_of,
    words_shared,
)
from otel_raglog_proxy_bridge.model import (
    CallStage,
    EmbedderReading,
    LlmReading,
    ReadCall,
    RerankerReading,
    RetrieverReading,
)
from otel_raglog_proxy_bridge.text_pieces import beginning, is_long, piece_of, tells
from otel_raglog_proxy_bridge.threads import Thread, is_indexing
from otel_raglog_proxy_bridge.trace_headers import trace_id_of

_REWORDED = 0.6
"""Share of the words of a query that a model's words or question must have to have led to it."""

_NOTHING_NEW = 0.98
"""Share of a prompt's words that a thread must have had: punctuation may stick to some."""

_SOON_NS = 30_000_000_000
_FEWEST_LETTERS = 3
_SAME_BEGINNING = 20
_CLOSENESS_STEPS = 100_000


class Strength(IntEnum):
    """How sure it is that a call goes on with a thread."""

    NONE = 0
    ORDER = 1
    WORDS = 2
    TEXT = 3
    HANDED_ON = 4
    TRACE = 5


@dataclass(frozen=True, slots=True)
class Arrival:
    """A call that a thread is looked for, with all that is compared.

    ``traces_tell``: two calls had one trace id before, so that others mean other questions; some
    clients begin a trace with each call.
    """

    read: ReadCall
    ties: Ties
    trace: str
    sent: tuple[Direction, ...]
    query: str
    given: tuple[str, ...]
    """By what each of a reranker's documents is known again."""
    traces_tell: bool = False


def arrival_of(read: ReadCall, ties: Ties, *, traces_tell: bool = False) -> Arrival:
    """Return ``read`` ready to be compared."""
    sent = tuple(map(direction_of, ties.sent_vectors))
    query = ties.asked[0] if ties.asked else ""
    given = tuple(next(keys_of(document), "") for document in ties.given)
    return Arrival(read, ties, trace_id_of(read.call), sent, query, given, traces_tell)


def best_thread(
    threads: Sequence[Thread], new: Arrival, fronts: frozenset[str]
) -> tuple[Thread | None, Strength]:
    """Return the thread that ``new`` goes on with and how sure that is, or ``None``.

    Of equally strong ones the one whose own words it has, then the one whose documents or vector
    it holds most of, then one not answered yet, then one whose words fill more of it, then one
    that made no such call yet, then the latest. What it has of each of them tells nothing.
    A thread made during other questions of the front proxy is out; while more of them are open
    than threads, a call that is made again word for word is another question's.
    """
    possible = [thread for thread in threads if _may_hold(thread, fronts)]
    strengths = [
        (strength, thread)
        for thread in possible
        if (strength := strength_of(thread, new)) is not Strength.NONE
    ]
    if not strengths:
        return None, Strength.NONE
    strongest = max(strength for strength, _ in strengths)
    found = [thread for strength, thread in strengths if strength is strongest]
    if len(possible) < len(fronts) and strongest is not Strength.TRACE:
        found = [thread for thread in found if not thread.repeats(new.read.call)]
    if len(found) <= 1:
        return (found[0], strongest) if found else (None, Strength.NONE)
    words = [words_in_common(thread, new) for thread in found]
    of_all = frozenset.intersection(*words)

    def rank(place: int) -> tuple[bool, int, bool, int, bool, int, int]:
        thread, own = found[place], words[place] - of_all
        return (
            bool(own),
            _held(thread, new),
            not thread.answered,
            sum(map(len, own)),
            not thread.repeats(new.read.call),
            thread.last_ended_ns,
            thread.number,
        )

    return found[max(range(len(found)), key=rank)], strongest


def _may_hold(thread: Thread, fronts: frozenset[str]) -> bool:
    if thread.indexing or bool(thread.fronts) != bool(fronts):
        return False
    return not fronts or bool(thread.fronts & fronts)


def strength_of(thread: Thread, new: Arrival) -> Strength:
    """Return how sure it is that a call goes on with ``thread``."""
    if new.trace and new.trace in thread.traces:
        return Strength.TRACE
    found = _by_content(thread, new)
    if found is Strength.NONE and _follows(thread, new):
        found = Strength.ORDER
    if new.trace and thread.traces and not _may_cross(thread, new, found):
        return Strength.NONE
    return found


def _may_cross(thread: Thread, new: Arrival, found: Strength) -> bool:
    """Whether a call may go on with a thread of another trace.

    What was handed on tells more than headers. Where each call has a trace of its own, so does
    content, for a stage that the thread has not had, and for a model after another stage.
    """
    if found is Strength.HANDED_ON:
        return not (new.traces_tell and thread.answered)
    if new.traces_tell:
        return False
    stage = new.read.decision.stage
    if stage is CallStage.LLM and thread.calls[-1].decision.stage is not stage:
        return not thread.repeats(new.read.call)
    return all(read.decision.stage is not stage for read in thread.calls)


def words_in_common(thread: Thread, new: Arrival) -> frozenset[str]:
    """Return the texts by which a call has to do with what a thread asked, was told and said."""
    if not isinstance(new.read.reading, LlmReading):
        known = thread.asked.keys() | thread.parts.keys()
        return frozenset(text for text in new.ties.asked if text in known)
    shown = new.ties.shown
    asked = (piece for piece in thread.asked.values() if len(piece.text) >= _FEWEST_LETTERS)
    parts = (piece for piece in thread.parts.values() if tells(piece.text))
    pieces = (*asked, *parts, *thread.said_pieces, *thread.tool_words)
    return frozenset(piece.text for piece in pieces if shown.holds(piece))


def _by_content(thread: Thread, new: Arrival) -> Strength:
    match new.read.reading:
        case EmbedderReading():
            if is_indexing(new.read.reading):
                return Strength.NONE
            return max((_query(thread, text) for text in new.ties.asked), default=Strength.NONE)
        case RetrieverReading():
            return _retriever(thread, new)
        case RerankerReading():
            return _reranker(thread, new)
        case LlmReading():
            return _llm(thread, new)
    return Strength.NONE


def _query(thread: Thread, query: str) -> Strength:
    """Return how sure it is that a text that is looked for comes from ``thread``."""
    long_enough = tells(query)
    again = thread.answered and query in thread.asked  # answers repeat what they were asked
    if any(query == said or (long_enough and not again and query in said) for said in thread.said):
        return Strength.HANDED_ON
    if thread.answered:
        return Strength.NONE  # a question asked again is another run
    if query in thread.asked:
        return Strength.TEXT
    if long_enough and any(query in seen for seen in thread.last_seen):
        return Strength.TEXT
    if long_enough and any(words_shared(query, said) >= _REWORDED for said in thread.said):
        return Strength.WORDS
    return Strength.NONE


def _retriever(thread: Thread, new: Arrival) -> Strength:
    if any(closeness(one, made) for one in new.sent for made in thread.vectors):
        return Strength.HANDED_ON
    return max((_query(thread, query) for query in new.ties.asked), default=Strength.NONE)


def _reranker(thread: Thread, new: Arrival) -> Strength:
    query = _query(thread, new.query)
    if query is Strength.TEXT and new.query in thread.asked:
        return Strength.HANDED_ON
    if thread.answered or query >= Strength.TEXT or (thread.ranked and not thread.searched):
        return query  # two questions may well find the same documents
    if 2 * _shared(thread, new) >= max(1, len(new.given)):
        return Strength.TEXT
    return query


def _llm(thread: Thread, new: Arrival) -> Strength:
    shown, last_seen = new.ties.shown, new.ties.last_seen
    if any(map(shown.holds, thread.tool_words)):
        return Strength.HANDED_ON
    if thread.passages_in(shown):
        return Strength.HANDED_ON if words_in_common(thread, new) else Strength.TEXT
    if thread.answered:
        return Strength.TEXT if _brings_nothing_new(thread, new) else Strength.NONE
    asked = (piece for piece in thread.asked.values() if tells(piece.text))
    pieces = (*asked, *thread.said_pieces)
    same = tells(last_seen) and last_seen in thread.last_seen
    return Strength.TEXT if same or any(map(shown.holds, pieces)) else Strength.NONE


def _brings_nothing_new(thread: Thread, new: Arrival) -> bool:
    """Whether a prompt has answers of the thread, and no word that the thread has not had.

    So it is where partial answers are put together, or a pipeline asks itself what is still
    missing. A prompt for the next turn of a talk has the words of a new question. Two answers of
    one thread are enough by themselves: a talk has one for each question.
    """
    pieces = {beginning(answer) for answer in thread.answers}
    seen = sum(new.ties.shown.holds(piece_of(each)) for each in pieces if is_long(each))
    if seen != 1:
        return seen > 1
    words = new.ties.seen.split(" ")
    return sum(word in thread.words for word in words) / len(words) >= _NOTHING_NEW


def _shared(thread: Thread, new: Arrival) -> int:
    return sum(key in thread.keys for key in new.given)


def _held(thread: Thread, new: Arrival) -> int:
    match new.read.reading:
        case LlmReading():
            return thread.passages_in(new.ties.shown)
        case RerankerReading():
            return _shared(thread, new)
        case RetrieverReading():
            close = [closeness(one, made) for one in new.sent for made in thread.vectors]
            return round(max(close, default=0.0) * _CLOSENESS_STEPS)
    return 0


def _follows(thread: Thread, new: Arrival) -> bool:
    """Whether ``thread`` waits for just such a call, and it came soon enough."""
    gap = new.read.call.started_ns - thread.last_ended_ns
    if thread.answered or not 0 <= gap <= _SOON_NS:
        return False
    match new.read.reading:
        case RetrieverReading():
            made = any(each.decision.stage is CallStage.EMBEDDER for each in thread.calls)
            return made and not thread.searched and bool(new.sent)
        case RerankerReading():
            return thread.searched and not thread.has_texts
        case LlmReading():
            blind = (thread.searched or thread.ranked) and not thread.has_texts
            return blind and (not thread.last_seen or _asks_the_same(thread, new))
    return False


def _asks_the_same(thread: Thread, new: Arrival) -> bool:
    """Whether a prompt has words of a thread whose models were told the question.

    One that begins as an earlier one, and goes on otherwise, is that of another question.
    """
    begun = new.ties.last_seen[:_SAME_BEGINNING]
    return bool(words_in_common(thread, new)) and not any(
        last[:_SAME_BEGINNING] == begun and last != new.ties.last_seen for last in thread.last_seen
    )
