"""A call and the open threads of calls to the thread that it goes on with, if any."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from otel_raglog_proxy_bridge.linking import (
    Ties,
    documents_in,
    is_in,
    plain,
    same_vector,
    shared_documents,
    shares_vector,
    tells,
    ties_of,
    words_shared,
)
from otel_raglog_proxy_bridge.model import (
    CallStage,
    Document,
    EmbedderReading,
    LlmReading,
    ReadCall,
    RerankerReading,
    RetrieverReading,
    Vector,
)
from otel_raglog_proxy_bridge.trace_headers import trace_id_of

_REWORDED = 0.6
"""Share of the words of a query that a model's words or question must have to have led to it."""

_NOTHING_NEW = 0.98
"""Share of a prompt's words that a thread must have had: punctuation may stick to some."""

_SOON_NS = 30_000_000_000
_AT_ONCE_NS = 1_000_000_000
_INDEXED_TEXTS = 8


class Strength(IntEnum):
    """How sure it is that a call goes on with a thread."""

    NONE = 0
    ORDER = 1
    WORDS = 2
    TEXT = 3
    HANDED_ON = 4
    TRACE = 5


@dataclass(slots=True, eq=False)
class Thread:
    """Calls that go on with each other. ``fronts``: the questions during which all were made."""

    number: int
    fronts: frozenset[str]
    calls: list[ReadCall] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    last_seen: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    vectors: list[Vector] = field(default_factory=list)
    documents: list[Document] = field(default_factory=list)
    traces: set[str] = field(default_factory=set)
    answered: bool = False
    searched: bool = False
    ranked: bool = False
    indexing: bool = False
    """Its vectors were stored: passages were embedded, and no question begins with them."""
    conclusion: str = ""
    """What was made of answers alone, after them: it is the run's answer."""
    told_by: str = "content"
    last_ended_ns: int = 0
    last_started_ns: int = 0

    def take(self, read: ReadCall, fronts: frozenset[str]) -> None:
        """Add a call, and what it says, to the thread."""
        reading = read.reading
        assert reading is not None  # noqa: S101  irrelevant calls are in no thread
        if self.calls and strength_of(self, read) is Strength.ORDER:
            self.told_by = "order"
        ties = ties_of(reading)
        if isinstance(reading, LlmReading):
            if self.answered and not documents_in(ties.seen, self.documents):
                self.conclusion = reading.answer or self.conclusion
            self.answered = self.answered or self._is_answer(reading, ties)
            self.seen.append(ties.seen)
            self.last_seen.append(ties.last_seen)
            self.said.append(ties.said)
            if reading.answer and not reading.tool_calls:
                self.answers.append(reading.answer)
        self.asked.extend(text for text in ties.asked if text not in self.asked)
        self.vectors.extend(ties.made_vectors)
        self.documents.extend(ties.found)
        self.documents.extend(ties.given)
        self.searched = self.searched or isinstance(reading, RetrieverReading)
        self.ranked = self.ranked or isinstance(reading, RerankerReading)
        self.fronts = self.fronts & fronts if self.calls else fronts
        trace = trace_id_of(read.call)
        if trace:
            self.traces.add(trace)
        self.calls.append(read)
        self.last_ended_ns = max(self.last_ended_ns, read.call.ended_ns)
        self.last_started_ns = max(self.last_started_ns, read.call.started_ns)

    def comments_on(self, other: Thread) -> bool:
        """Whether the thread is models alone that were at once shown what ``other`` is about.

        So are titles, follow-up questions, moderation: nothing was searched, and no user could
        have asked on so soon.
        """
        if self.searched or self.ranked or self.vectors or not other.answered:
            return False
        gap = self.calls[0].call.started_ns - other.last_ended_ns
        known = [*other.answers, *other.asked]
        shown = any(is_in(seen, text) for seen in self.seen for text in known)
        return shown and 0 <= gap <= _AT_ONCE_NS

    def _is_answer(self, reading: LlmReading, ties: Ties) -> bool:
        """Whether a model answered in words from what was found before."""
        if not reading.answer or reading.tool_calls:
            return False
        if reading.retrieved or reading.documents:
            return True
        if documents_in(ties.seen, self.documents):
            return True
        blind = not any(document.text for document in self.documents)
        return (self.searched or self.ranked) and blind


def best_thread(threads: Sequence[Thread], read: ReadCall, fronts: frozenset[str]) -> Thread | None:
    """Return the thread that ``read`` goes on with, ``None`` when it begins one of its own.

    Of equally strong ones the one whose documents it holds most of, then one not answered yet,
    then the latest. A thread made during other questions of the front proxy is out.
    """
    best: tuple[tuple[int, int, bool, int, int], Thread] | None = None
    for thread in threads:
        if thread.indexing:
            continue
        if bool(thread.fronts) != bool(fronts) or (fronts and not thread.fronts & fronts):
            continue
        strength = strength_of(thread, read)
        if strength is Strength.NONE:
            continue
        rank = (
            strength,
            _held_documents(thread, read),
            not thread.answered,
            thread.last_ended_ns,
            thread.number,
        )
        if best is None or rank > best[0]:
            best = (rank, thread)
    return None if best is None else best[1]


def strength_of(thread: Thread, read: ReadCall) -> Strength:
    """Return how sure it is that ``read`` goes on with ``thread``."""
    trace = trace_id_of(read.call)
    if trace and trace in thread.traces:
        return Strength.TRACE
    found = _by_content(thread, read)
    if found is Strength.NONE and _follows(thread, read):
        found = Strength.ORDER
    if trace and thread.traces and found < Strength.HANDED_ON:
        return Strength.NONE  # another trace: only what was handed on tells more than headers
    return found


def _by_content(thread: Thread, read: ReadCall) -> Strength:
    match read.reading:
        case EmbedderReading():
            return _embedder(thread, read.reading)
        case RetrieverReading():
            return _retriever(thread, read.reading)
        case RerankerReading():
            return _reranker(thread, read.reading)
        case LlmReading():
            return _llm(thread, read.reading)
    return Strength.NONE


def _embedder(thread: Thread, reading: EmbedderReading) -> Strength:
    if reading.purpose == "document" or len(reading.inputs) > _INDEXED_TEXTS:
        return Strength.NONE
    return max((_query(thread, plain(text)) for text in reading.inputs), default=Strength.NONE)


def _query(thread: Thread, query: str) -> Strength:
    """Return how sure it is that a text that is looked for comes from ``thread``."""
    if any(query == said or (tells(query) and query in said) for said in thread.said):
        return Strength.HANDED_ON
    if thread.answered:
        return Strength.NONE  # a question asked again is another run
    if query in thread.asked:
        return Strength.TEXT
    if tells(query) and any(query in seen for seen in thread.last_seen):
        return Strength.TEXT
    if any(words_shared(query, said) >= _REWORDED and tells(query) for said in thread.said):
        return Strength.WORDS
    return Strength.NONE


def _retriever(thread: Thread, reading: RetrieverReading) -> Strength:
    ties = ties_of(reading)
    if shares_vector(ties.sent_vectors, thread.vectors):
        return Strength.HANDED_ON
    return max((_query(thread, query) for query in ties.asked), default=Strength.NONE)


def _reranker(thread: Thread, reading: RerankerReading) -> Strength:
    query = _query(thread, plain(reading.query or ""))
    if thread.answered or query >= Strength.TEXT:
        return query  # two questions may well find the same documents
    if 2 * shared_documents(reading.documents, thread.documents) >= max(1, len(reading.documents)):
        return Strength.TEXT
    return query


def _llm(thread: Thread, reading: LlmReading) -> Strength:
    ties = ties_of(reading)
    if documents_in(ties.seen, thread.documents) or any(
        call_text and call_text in ties.seen for call_text in _tool_words(thread)
    ):
        return Strength.HANDED_ON
    if thread.answered:
        return Strength.TEXT if _brings_nothing_new(thread, ties) else Strength.NONE
    if any(tells(query) and query in ties.seen for query in thread.asked):
        return Strength.TEXT
    if any(tells(last) and last == ties.last_seen for last in thread.last_seen):
        return Strength.TEXT
    said = [each for each in thread.said if tells(each)]
    if any(is_in(ties.seen, each) for each in said):
        return Strength.TEXT
    return Strength.NONE


def _brings_nothing_new(thread: Thread, ties: Ties) -> bool:
    """Whether a prompt has answers of the thread, and no word that the thread has not had.

    So it is where partial answers are put together, or a pipeline asks itself what is still
    missing. A prompt for the next turn of a talk has the words of a new question. Two answers of
    one thread are enough by themselves: a talk has one for each question.
    """
    shown = sum(is_in(ties.seen, answer) for answer in set(thread.answers))
    if shown != 1:
        return shown > 1
    had = " ".join([*thread.seen, *thread.said, *thread.asked])
    return words_shared(ties.seen, had) >= _NOTHING_NEW


def _tool_words(thread: Thread) -> list[str]:
    """Return the arguments of tools that the thread's models asked for: they come back to them."""
    found = []
    for read in thread.calls:
        if isinstance(read.reading, LlmReading):
            found += [plain(call.arguments) for call in read.reading.tool_calls]
    return [text for text in found if tells(text)]


def _held_documents(thread: Thread, read: ReadCall) -> int:
    match read.reading:
        case LlmReading():
            return documents_in(ties_of(read.reading).seen, thread.documents)
        case RerankerReading():
            return shared_documents(read.reading.documents, thread.documents)
        case RetrieverReading():
            sent = ties_of(read.reading).sent_vectors
            return sum(any(same_vector(one, made) for made in thread.vectors) for one in sent)
    return 0


def _follows(thread: Thread, read: ReadCall) -> bool:
    """Whether ``thread`` waits for just such a call as ``read``, and it came soon enough."""
    gap = read.call.started_ns - thread.last_ended_ns
    if thread.answered or not 0 <= gap <= _SOON_NS:
        return False
    match read.reading:
        case RetrieverReading():
            made = any(each.decision.stage is CallStage.EMBEDDER for each in thread.calls)
            return made and not thread.searched and bool(ties_of(read.reading).sent_vectors)
        case RerankerReading():
            return thread.searched and not any(document.text for document in thread.documents)
        case LlmReading():
            blind = not any(document.text for document in thread.documents)
            return (thread.searched or thread.ranked) and blind
    return False
