"""The values that flow through the bridge, in the order in which they appear.

Everything here is frozen and depends on the standard library alone::

    bytes -> Call -> Exchange -> ReadCall (with a Reading) -> CapturedRun -> OTLP JSON
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias


class CallStage(StrEnum):
    """What a call is for: a stage of a RAG pipeline, or nothing that the bridge looks at."""

    EMBEDDER = "embedder"
    RETRIEVER = "retriever"
    RERANKER = "reranker"
    LLM = "llm"
    IRRELEVANT = "irrelevant"


class Side(StrEnum):
    """Where a call was captured: on its way out of the pipeline, or in front of its own API."""

    OUTBOUND = "outbound"
    FRONT = "front"


class Decider(StrEnum):
    """Who decided what a call is for. ``NONE``: nobody could, so it counts as irrelevant."""

    MAPPING = "mapping"
    RULE = "rule"
    LLM = "llm"
    NONE = "none"


Vector: TypeAlias = tuple[float, ...]
"""An embedding, as the call's JSON has it."""


# ------------------------------------------------------------------------ what is captured


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP exchange, made safe where it was captured.

    Header names are lower-case and only those of the allow-list are kept. Bodies are text: content
    encodings undone, secrets masked, cut at a limit (``cut`` then says which). ``url`` is absolute,
    without credentials. ``status`` is ``None`` when no answer came. Times are nanoseconds since the
    epoch; a file that does not tell them counts on from its order. ``client`` tells connections
    or processes apart where that is known.
    """

    id: str
    method: str
    url: str
    status: int | None = None
    request_headers: Mapping[str, str] = field(default_factory=dict)
    response_headers: Mapping[str, str] = field(default_factory=dict)
    request_body: str = ""
    response_body: str = ""
    started_ns: int = 0
    ended_ns: int = 0
    side: Side = Side.OUTBOUND
    client: str = ""
    cut: frozenset[str] = frozenset()
    """``request`` and ``response``: whose body was longer than the limit."""
    error: str = ""
    """What went wrong on the way, such as a connection that broke."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call with its URL taken apart and its bodies parsed.

    ``host`` has no port; ``path`` is decoded and has no query. ``request`` and ``response`` are
    JSON data, ``None`` where the body is none (a form is a mapping of its fields). ``events`` are
    the parsed data of a streamed answer, in order; then ``response`` is ``None``.
    """

    call: Call
    host: str
    port: int | None
    path: str
    segments: tuple[str, ...]
    query: Mapping[str, str]
    request: object
    response: object
    events: tuple[object, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether an answer came that reports no error."""
        return self.call.status is not None and self.call.status < 400  # noqa: PLR2004


# ------------------------------------------------------------------------- what is read off


@dataclass(frozen=True, slots=True)
class Document:
    """A document or a part of one; ``None`` where the call does not tell."""

    id: str | None = None
    text: str | None = None
    score: float | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EmbedderReading:
    """Texts turned into vectors: ``vectors`` has one for each text, or is empty."""

    model: str | None = None
    inputs: tuple[str, ...] = ()
    vectors: tuple[Vector, ...] = ()
    tokens: int | None = None
    purpose: str | None = None
    """``query`` or ``document`` where the API says which."""


@dataclass(frozen=True, slots=True)
class Search:
    """One query of a search call and its hits, best first. A vector search has no text."""

    query: str | None = None
    vector: Vector | None = None
    documents: tuple[Document, ...] = ()


@dataclass(frozen=True, slots=True)
class RetrieverReading:
    """The searches of one call; batch APIs make several at once."""

    searches: tuple[Search, ...] = ()
    top_k: int | None = None
    filters: object = None
    """The filter as JSON data, where there is one."""
    collection: str | None = None


@dataclass(frozen=True, slots=True)
class Ranked:
    """One result of a reranker: which document by position or by id, its text if given again."""

    index: int | None = None
    id: str | None = None
    score: float | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class RerankerReading:
    """Documents ordered against a query: ``results`` best first, as answered."""

    model: str | None = None
    query: str | None = None
    documents: tuple[Document, ...] = ()
    results: tuple[Ranked, ...] = ()
    top_n: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model asked for; ``arguments`` is JSON text."""

    name: str
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """A message; ``role`` is ``system``, ``user``, ``assistant`` or ``tool``."""

    role: str
    content: str
    tool_calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class LlmReading:
    """What a model was told and what it said; ``answer`` is ``None`` when it said no text.

    ``model`` is the one asked for. Completion APIs have one ``user`` message, the prompt. ``documents`` are those given beside
    the messages; ``retrieved`` those that the API found itself and answered with.
    """

    model: str | None = None
    messages: tuple[ChatMessage, ...] = ()
    answer: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    parameters: Mapping[str, object] = field(default_factory=dict)
    """Sampling parameters such as ``temperature`` and ``max_tokens``."""
    response_model: str | None = None
    """The model that the answer names, where the request left the choice to the server."""
    documents: tuple[Document, ...] = ()
    retrieved: tuple[Document, ...] = ()


Reading: TypeAlias = EmbedderReading | RetrieverReading | RerankerReading | LlmReading


@dataclass(frozen=True, slots=True)
class Api:
    """One operation of an API: how a call of it is told, and how it is read.

    ``recognises`` looks at method, path and the shape of the request; the answer may be an error,
    cut or missing. It never raises. ``read`` is ``None`` for an operation that is irrelevant; it
    returns what it finds, with ``None`` or nothing for what is not there. ``rule`` says in a few
    words what tells a call of it.
    """

    name: str
    stage: CallStage
    rule: str
    recognises: Callable[[Exchange], bool]
    read: Callable[[Exchange], Reading] | None = None


# --------------------------------------------------------------------------- what is decided


@dataclass(frozen=True, slots=True)
class Decision:
    """What a call is for, who said so, and by which rule."""

    stage: CallStage
    by: Decider
    rule: str
    """The API's or the mapping's name, such as ``openai.chat``."""
    reason: str
    """In words."""


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call that was classified and read. ``reading`` is ``None`` where it is irrelevant."""

    exchange: Exchange
    decision: Decision
    reading: Reading | None = None

    @property
    def call(self) -> Call:
        """The call itself."""
        return self.exchange.call
