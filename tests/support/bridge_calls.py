"""Calls of a pipeline, already read, as the grouping of the bridge gets them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from otel_raglog_proxy_bridge.model import (
    Call,
    CallStage,
    ChatMessage,
    Decider,
    Decision,
    Document,
    EmbedderReading,
    Exchange,
    LlmReading,
    Ranked,
    ReadCall,
    Reading,
    RerankerReading,
    RetrieverReading,
    Search,
    ToolCall,
)

SECOND = 1_000_000_000
_STAGES = {
    EmbedderReading: CallStage.EMBEDDER,
    RetrieverReading: CallStage.RETRIEVER,
    RerankerReading: CallStage.RERANKER,
    LlmReading: CallStage.LLM,
}


class Pipeline:
    """Makes calls one second after another; ``at`` moves the clock."""

    def __init__(self) -> None:
        self.now = 1_000 * SECOND
        self.numbers = count(1)

    def at(self, seconds: float) -> Pipeline:
        """Go to a time in seconds."""
        self.now = int((1_000 + seconds) * SECOND)
        return self

    def call(self, reading: Reading, *, trace: str = "", took: float = 0.5) -> ReadCall:
        """Return a call with ``reading`` that starts now; the clock goes on by a second."""
        started, self.now = self.now, self.now + SECOND
        headers = {"traceparent": f"00-{trace}-{'1' * 16}-01"} if trace else {}
        call = Call(
            f"c{next(self.numbers)}",
            "POST",
            "http://api.test/x",
            200,
            headers,
            request_body=_said_in(reading),
            started_ns=started,
            ended_ns=started + int(took * SECOND),
        )
        stage = _STAGES[type(reading)]
        exchange = Exchange(call, "api.test", None, "/x", ("x",), {}, None, None)
        return ReadCall(exchange, Decision(stage, Decider.RULE, "test.rule", "a test"), reading)

    def embed(self, *texts: str, **more: str) -> ReadCall:
        """Return an embedding of texts: the vector of a text is :func:`vector_of` it."""
        return self.call(EmbedderReading("m", texts, tuple(map(vector_of, texts))), **more)

    def search(self, text: str, *found: str, by_text: bool = False, **more: str) -> ReadCall:
        """Return a search for the vector of a text (or for itself) that found documents."""
        documents = tuple(document(each) for each in found)
        query, vector = (text, None) if by_text else (None, vector_of(text))
        return self.call(RetrieverReading((Search(query, vector, documents),), 4), **more)

    def rerank(
        self, query: str, texts: Sequence[str], order: Sequence[int], **more: str
    ) -> ReadCall:
        """Return a rerank of texts to ``order``."""
        given = tuple(Document(None, each) for each in texts)
        ranked = tuple(Ranked(index, None, 1 - place / 10) for place, index in enumerate(order))
        return self.call(RerankerReading("r", query, given, ranked), **more)

    def chat(
        self, prompt: str, answer: str | None, *, tool: str = "", system: str = "", **more: str
    ) -> ReadCall:
        """Return a chat with one user message."""
        messages = [ChatMessage("user", prompt)]
        if system:
            messages.insert(0, ChatMessage("system", system))
        calls = (ToolCall("search", tool),) if tool else ()
        return self.call(LlmReading("l", tuple(messages), answer, calls, "stop", 10, 2), **more)


def _said_in(reading: Reading) -> str:
    """Return what a request asks, without what is answered."""
    match reading:
        case EmbedderReading():
            return repr(reading.inputs)
        case RetrieverReading():
            return repr([(search.query, search.vector) for search in reading.searches])
        case RerankerReading():
            return repr((reading.query, reading.documents))
        case LlmReading():
            return repr(reading.messages)


def document(text: str) -> Document:
    """Return a document whose id is its first words."""
    return Document("-".join(text.lower().split()[:3]), text, 0.5)


def vector_of(text: str) -> tuple[float, ...]:
    """Return a vector that only the same text has."""
    values = [0] * 24
    for place, letter in enumerate(text.ljust(24)):
        values[place % 24] += ord(letter) * (place + 3)
    return tuple(float(value % 101) - 50 for value in values)


def ids_of(run: object) -> list[str]:
    """Return the ids of a run's calls."""
    return [read.call.id for read in run.calls]  # type: ignore[attr-defined]
