"""Calls that go on with each other, and what they asked, found and said."""

from __future__ import annotations

from dataclasses import dataclass, field

from otel_raglog_proxy_bridge.linking import (
    Direction,
    Ties,
    direction_of,
    is_in,
    keys_of,
    ties_of,
)
from otel_raglog_proxy_bridge.model import (
    Call,
    Document,
    EmbedderReading,
    LlmReading,
    ReadCall,
    Reading,
    RerankerReading,
    RetrieverReading,
)
from otel_raglog_proxy_bridge.text_pieces import (
    Piece,
    Shown,
    beginning,
    is_long,
    piece_of,
    plain,
    tells,
)
from otel_raglog_proxy_bridge.trace_headers import trace_id_of

_AT_ONCE_NS = 1_000_000_000
_INDEXED_TEXTS = 8


def is_indexing(reading: Reading) -> bool:
    """Whether passages are embedded, not a question or its variants."""
    return isinstance(reading, EmbedderReading) and (
        reading.purpose == "document" or len(reading.inputs) > _INDEXED_TEXTS
    )


@dataclass(slots=True, eq=False)
class Thread:
    """Calls that go on with each other. ``fronts``: the questions during which all were made.

    Texts are plain, and kept as the pieces that are looked for in prompts. ``parts`` are what may
    be the question in what models were told before one answered, and in what they said.
    """

    number: int
    fronts: frozenset[str]
    calls: list[ReadCall] = field(default_factory=list)
    asked: dict[str, Piece] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    said_pieces: list[Piece] = field(default_factory=list)
    parts: dict[str, Piece] = field(default_factory=dict)
    last_seen: list[str] = field(default_factory=list)
    words: set[str] = field(default_factory=set)
    """All words that it was asked, and that models were shown or said."""
    answers: list[str] = field(default_factory=list)
    tool_words: list[Piece] = field(default_factory=list)
    """The arguments of tools that models asked for: they come back to them."""
    vectors: list[Direction] = field(default_factory=list)
    passages: dict[str, Piece] = field(default_factory=dict)
    """The beginnings of documents' texts that are long enough to be told again."""
    keys: set[str] = field(default_factory=set)
    """By which its documents are known again."""
    has_texts: bool = False
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
    characters: int = 0

    def take(self, read: ReadCall, ties: Ties, fronts: frozenset[str]) -> None:
        """Add a call, and what it says, to the thread."""
        reading = read.reading
        assert reading is not None  # noqa: S101  irrelevant calls are in no thread
        if isinstance(reading, LlmReading):
            self._take_llm(reading, ties)
        for text in () if is_indexing(reading) else ties.asked:
            self.asked.setdefault(text, piece_of(text))
            self.words.update(text.split(" "))
        self.vectors.extend(map(direction_of, ties.made_vectors))
        for document in (*ties.found, *ties.given):
            self._know(document)
        self.searched = self.searched or isinstance(reading, RetrieverReading)
        self.ranked = self.ranked or isinstance(reading, RerankerReading)
        self.fronts = self.fronts & fronts if self.calls else fronts
        trace = trace_id_of(read.call)
        if trace:
            self.traces.add(trace)
        self.calls.append(read)
        self.characters += len(read.call.request_body) + len(read.call.response_body)
        self.last_ended_ns = max(self.last_ended_ns, read.call.ended_ns)
        self.last_started_ns = max(self.last_started_ns, read.call.started_ns)

    def _take_llm(self, reading: LlmReading, ties: Ties) -> None:
        shows_passages = self.passages_in(ties.shown) > 0
        if self.answered and not shows_passages:
            self.conclusion = reading.answer or self.conclusion
        self.answered = self.answered or self._is_answer(reading, ties)
        if not self.answered:
            parts = ties.said_parts if shows_passages else ties.parts | ties.said_parts
            self.parts.update((part, piece_of(part)) for part in parts if part not in self.parts)
        self.words |= ties.shown.words
        self.words.update(ties.said.split(" "))
        self.last_seen.append(ties.last_seen)
        if ties.said:
            self.said.append(ties.said)
            if tells(ties.said):
                self.said_pieces.append(piece_of(beginning(ties.said)))
        arguments = (plain(call.arguments) for call in reading.tool_calls)
        self.tool_words += [piece_of(text) for text in arguments if tells(text)]
        if reading.answer and not reading.tool_calls:
            self.answers.append(reading.answer)

    def _know(self, document: Document) -> None:
        self.keys.update(keys_of(document))
        if not document.text:
            return
        self.has_texts = True
        begun = beginning(document.text)
        if is_long(begun):
            self.passages.setdefault(begun, piece_of(begun))

    def passages_in(self, shown: Shown) -> int:
        """Return how many of its documents a prompt shows."""
        return sum(map(shown.holds, self.passages.values()))

    def repeats(self, call: Call) -> bool:
        """Whether ``call`` says word for word what one of the thread's did that did not fail."""
        return bool(call.request_body) and any(
            read.call.request_body == call.request_body
            and read.call.url == call.url
            and read.exchange.ok
            for read in self.calls
        )

    def comments_on(self, other: Thread) -> bool:
        """Whether the thread is models alone that were at once shown what ``other`` is about.

        So are titles, follow-up questions, moderation: nothing was searched, and no user could
        have asked on so soon.
        """
        if self.searched or self.ranked or self.vectors or not other.answered:
            return False
        if not 0 <= self.calls[0].call.started_ns - other.last_ended_ns <= _AT_ONCE_NS:
            return False
        known = [*other.answers, *other.asked]
        return any(
            is_in(ties_of(read.reading).seen, text)
            for read in self.calls
            if read.reading is not None
            for text in known
        )

    def _is_answer(self, reading: LlmReading, ties: Ties) -> bool:
        """Whether a model answered in words from what was found before.

        Where nothing was searched or ranked, what was embedded was looked for in the pipeline's
        own process, and a model that is then shown it answers from what that found.
        """
        if not reading.answer or reading.tool_calls:
            return False
        if reading.retrieved or reading.documents or self.passages_in(ties.shown):
            return True
        if self.searched or self.ranked:
            return not self.has_texts
        return bool(self.vectors) and any(map(ties.shown.holds, self.asked.values()))
