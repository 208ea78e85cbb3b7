"""The values that flow through the service, in the order in which they appear.

Everything here is frozen and depends on the standard library alone::

    bytes -> WireSpan -> HeldTrace -> Span -> Trace -> SpanFacts -> Run
          -> Measurement -> Verdict -> Report

A thing that is missing is a value with a reason, never ``None`` alone: see
:class:`Field` and :class:`Measurement`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, NamedTuple, Never, TypeAlias, TypeVar, Union

# --------------------------------------------------------------------------- words


class Stage(StrEnum):
    """A stage of a RAG pipeline, in the order in which data passes through them."""

    REWRITER = "rewriter"
    EMBEDDER = "embedder"
    RETRIEVER = "retriever"
    RERANKER = "reranker"
    ASSEMBLY = "assembly"
    GENERATOR = "generator"


class StageVerdict(StrEnum):
    """What the detector says of one stage of one run."""

    FAULTY = "faulty"
    OK = "ok"
    ABSENT = "absent"
    UNKNOWN = "unknown"


class UnknownReason(StrEnum):
    """Why a stage's verdict is ``unknown``."""

    NOT_CAPTURED = "not_captured"
    INCOMPLETE = "incomplete"
    REDACTED = "redacted"
    ERROR = "error"
    ABSTAINED = "abstained"
    SKIPPED = "skipped"


class RunVerdict(StrEnum):
    """Faulty when a stage is; ok when none is and retriever and generator were judged."""

    FAULTY = "faulty"
    OK = "ok"
    UNKNOWN = "unknown"


class FaultType(StrEnum):
    """What is wrong with a faulty stage."""

    DROPS_CONSTRAINT = "drops_constraint"
    ADDS_CONSTRAINT = "adds_constraint"
    CHANGES_ENTITY = "changes_entity"
    CHANGES_INTENT = "changes_intent"
    TRUNCATED_INPUT = "truncated_input"
    MISSPELLED_INPUT = "misspelled_input"
    ALTERED_INPUT = "altered_input"
    CORRUPTED_INPUT = "corrupted_input"
    EMPTY_RESULT = "empty_result"
    NO_RELEVANT_CHUNK = "no_relevant_chunk"
    EVIDENCE_EXCLUDED = "evidence_excluded"
    EVIDENCE_DROPPED = "evidence_dropped"
    EVIDENCE_TRUNCATED = "evidence_truncated"
    BLANK_CONTEXT = "blank_context"
    UNSUPPORTED_CLAIM = "unsupported_claim"
    MISSTATED_NUMBER = "misstated_number"
    INCOMPLETE = "incomplete"
    OFF_QUESTION = "off_question"
    SHOULD_ABSTAIN = "should_abstain"
    WRONG_REFUSAL = "wrong_refusal"
    OUTPUT_TRUNCATED = "output_truncated"


class WarningType(StrEnum):
    """What is worth knowing about a stage, whatever its verdict."""

    PARTIAL_COVERAGE = "partial_coverage"
    MOSTLY_IRRELEVANT = "mostly_irrelevant"
    DUPLICATE_CHUNKS = "duplicate_chunks"
    WEAK_CHUNKS_PASSED = "weak_chunks_passed"
    CHUNK_DROPPED = "chunk_dropped"
    CHUNK_TRUNCATED = "chunk_truncated"
    PROMPT_NEAR_BUDGET = "prompt_near_budget"
    EVIDENCE_IN_MIDDLE = "evidence_in_middle"
    UNSUPPORTED_DETAIL = "unsupported_detail"
    GARBLED_CHUNK = "garbled_chunk"
    TABLE_CUT = "table_cut"
    SENTENCE_CUT = "sentence_cut"


FAULT_TYPES: Mapping[Stage, tuple[FaultType, ...]] = {
    Stage.REWRITER: (
        FaultType.DROPS_CONSTRAINT,
        FaultType.ADDS_CONSTRAINT,
        FaultType.CHANGES_ENTITY,
        FaultType.CHANGES_INTENT,
    ),
    Stage.EMBEDDER: (
        FaultType.TRUNCATED_INPUT,
        FaultType.MISSPELLED_INPUT,
        FaultType.ALTERED_INPUT,
        FaultType.CORRUPTED_INPUT,
    ),
    Stage.RETRIEVER: (FaultType.EMPTY_RESULT, FaultType.NO_RELEVANT_CHUNK),
    Stage.RERANKER: (FaultType.EVIDENCE_EXCLUDED,),
    Stage.ASSEMBLY: (
        FaultType.EVIDENCE_DROPPED,
        FaultType.EVIDENCE_TRUNCATED,
        FaultType.BLANK_CONTEXT,
    ),
    Stage.GENERATOR: (
        FaultType.UNSUPPORTED_CLAIM,
        FaultType.MISSTATED_NUMBER,
        FaultType.INCOMPLETE,
        FaultType.OFF_QUESTION,
        FaultType.SHOULD_ABSTAIN,
        FaultType.WRONG_REFUSAL,
        FaultType.OUTPUT_TRUNCATED,
    ),
}
"""The fault types that each stage can have."""


class Tier(StrEnum):
    """Which kind of detector judged: ``local`` calls no LLM."""

    LOCAL = "local"
    LLM = "llm"


# --------------------------------------------------------------- requests on the wire


class Signal(StrEnum):
    """What an OTLP request carries. The value is the last part of its HTTP path."""

    TRACES = "traces"
    METRICS = "metrics"
    LOGS = "logs"


Headers: TypeAlias = tuple[tuple[str, str], ...]
"""Request headers that travel on: lower-case names and values, in order."""


@dataclass(frozen=True, slots=True)
class Payload:
    """What goes out in one request.

    ``body`` is a serialized ``Export{Trace,Metrics,Logs}ServiceRequest``. Bodies of one signal can
    be concatenated: protobuf reads the result as one request with the content of all. ``items``
    are its spans, data points or log records.
    """

    signal: Signal
    body: bytes
    items: int
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """Spans of one journalled request: its record's number and their positions in it.

    ``ordinals`` count all spans of the request in the order of its bytes, refused ones included;
    none means the whole request as it is. ``additions`` are bytes to append: one for each
    ordinal, or none at all.
    """

    request: int
    ordinals: tuple[int, ...] = ()
    additions: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """What leaves in one payload, and in which form, so that it can be made again.

    All pieces are of requests with the same signal and headers. With a ``trace_id`` it releases
    that trace: spans that come later get ``late_addition`` appended.
    """

    signal: Signal
    items: int
    pieces: tuple[Piece, ...]
    trace_id: bytes = b""
    late_addition: bytes = b""


# ----------------------------------------------------------------- spans on the wire


@dataclass(frozen=True, slots=True)
class Origin:
    """Where spans came from: the envelopes that OTLP wraps around them, byte for byte.

    ``resource`` is a serialized OTLP ``ResourceSpans`` without its ``scope_spans``;
    ``scope`` is a serialized ``ScopeSpans`` without its ``spans``. Both keep schema
    URLs and unknown fields, so spans can be regrouped into new requests by
    concatenation. Equal origins belong into one group.
    """

    resource: bytes
    scope: bytes


class RawSpan(NamedTuple):
    """A span's own bytes and the envelopes it came in."""

    origin: Origin
    raw: bytes


SPAN_OVERHEAD_BYTES = 512
"""What the Python objects around a span's bytes take, rounded up."""


@dataclass(frozen=True, slots=True)
class WireSpan:
    """One span as it arrived: its header, and its own bytes untouched.

    ``raw`` is the serialized OTLP ``Span``. ``parent_id`` is ``b""`` for a root.
    ``remote_parent`` tells that the OTLP flags mark the parent as remote. ``held`` tells
    that the span may belong to a run (it bears a GenAI, OpenInference or vector-database
    marker, or has no parent) and so waits for its trace. ``finishes_run`` tells that the
    application marked the run as finished explicitly (attribute ``raglog.run.finished``).
    ``spoofed`` tells that attributes or events of our own namespace came in from outside.
    ``request``, ``ordinal`` and ``headers`` say where it is journalled (see :class:`Piece`) and
    what it came with; spans read from files have none.
    """

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    remote_parent: bool
    held: bool
    finishes_run: bool
    spoofed: bool
    origin: Origin
    raw: bytes
    request: int = 0
    ordinal: int = 0
    headers: Headers = ()

    @property
    def size_bytes(self) -> int:
        """Upper bound of the bytes that the span keeps in memory.

        Spans of one request share their origin; each is charged for it nevertheless, since one
        span that stays alone keeps the whole of it alive.
        """
        origin = self.origin
        return len(self.raw) + len(origin.resource) + len(origin.scope) + SPAN_OVERHEAD_BYTES


@dataclass(frozen=True, slots=True)
class Batch:
    """What one export request held, and what of it was refused, by reason."""

    spans: tuple[WireSpan, ...]
    rejected: Mapping[str, int] = field(default_factory=dict)

    @property
    def rejected_count(self) -> int:
        """Spans refused, over all reasons."""
        return sum(self.rejected.values())


class Completion(StrEnum):
    """Why a trace was released; it travels on to the report (``raglog.run.completion``)."""

    ROOT_QUIET = "root_quiet"
    ORPHAN_QUIET = "orphan_quiet"
    EXPLICIT = "explicit"
    MAX_WAIT = "max_wait"
    EVICTED = "evicted"
    SPAN_LIMIT = "span_limit"
    SHUTDOWN = "shutdown"
    FILE_END = "file_end"

    @property
    def complete(self) -> bool:
        """Whether the trace is held to be whole."""
        return self in {Completion.ROOT_QUIET, Completion.EXPLICIT, Completion.FILE_END}


@dataclass(frozen=True, slots=True)
class HeldTrace:
    """The held spans of one trace, released together; spans in order of arrival."""

    trace_id: bytes
    spans: tuple[WireSpan, ...]
    completion: Completion
    waited_seconds: float

    @property
    def size_bytes(self) -> int:
        """Upper bound of the bytes that its spans keep in memory."""
        return sum(span.size_bytes for span in self.spans)


# -------------------------------------------------------------------- decoded spans

AttributeValue: TypeAlias = Union[  # noqa: UP007  a recursive alias needs strings inside
    str,
    bool,
    int,
    float,
    bytes,
    tuple["AttributeValue", ...],
    Mapping[str, "AttributeValue"],
    None,
]
"""A decoded OTLP ``AnyValue``."""


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """A timed event on a span."""

    name: str
    time_unix_nano: int
    attributes: Mapping[str, AttributeValue]


@dataclass(frozen=True, slots=True)
class SpanLink:
    """A link from a span to another one."""

    trace_id: bytes
    span_id: bytes
    attributes: Mapping[str, AttributeValue]


@dataclass(frozen=True, slots=True)
class Span:
    """A decoded span. Invalid UTF-8 has been replaced; very long values have been cut.

    ``truncated_keys`` names attributes whose values we cut for analysis (the forwarded
    bytes are whole).
    """

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    kind: int
    start_unix_nano: int
    end_unix_nano: int
    attributes: Mapping[str, AttributeValue]
    events: tuple[SpanEvent, ...]
    links: tuple[SpanLink, ...]
    status_code: int
    status_message: str
    dropped_attributes_count: int
    dropped_events_count: int
    scope_name: str
    resource: Mapping[str, AttributeValue]
    truncated_keys: frozenset[str] = frozenset()
    scope_version: str = ""


@dataclass(frozen=True, slots=True)
class Trace:
    """All analysed spans of one trace, duplicates removed, and why it was released."""

    trace_id: bytes
    spans: tuple[Span, ...]
    completion: Completion
    waited_seconds: float = 0.0
    shown: tuple[Span, ...] | None = None
    """The spans as they leave, where something in them is redacted; never what is judged."""


# ------------------------------------------------------------------ facts and fields


T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class FieldStatus(StrEnum):
    """Whether a field's value is there, and if not, why."""

    PRESENT = "present"
    REDACTED = "redacted"
    NOT_CAPTURED = "not_captured"
    TRUNCATED = "truncated"
    EVICTED = "evicted"
    EXTERNAL = "external"
    EMPTY = "empty"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a value was read: span id, attribute (or event) key, convention."""

    span_id: bytes
    key: str
    convention: str


_USABLE = (FieldStatus.PRESENT, FieldStatus.TRUNCATED, FieldStatus.EMPTY)


@dataclass(frozen=True, slots=True)
class Field(Generic[T_co]):
    """A value, or the reason why there is none, with the place where it was read.

    ``value`` is set when ``status`` is ``present`` or ``truncated`` (a cut value), and
    may be an empty container when it is ``empty``; otherwise it is ``None``.
    """

    value: T_co | None
    status: FieldStatus
    source: Provenance | None = None

    @property
    def usable(self) -> bool:
        """Whether a check may read ``value``."""
        return self.value is not None and self.status in _USABLE


def present(value: T, source: Provenance | None = None) -> Field[T]:
    """Return a field that holds ``value``."""
    return Field(value, FieldStatus.PRESENT, source)


NOT_CAPTURED: Field[Never] = Field(None, FieldStatus.NOT_CAPTURED)
"""The field of which nothing was recorded."""


def missing(status: FieldStatus, source: Provenance | None = None) -> Field[Never]:
    """Return a field without a value, for the reason ``status``."""
    return Field(None, status, source)


class Role(StrEnum):
    """What kind of work a span says it did; stages are inferred from roles by the mapping.

    ``rewriter`` and ``ignored`` stand in no vocabulary: a user's rules say them, and a framework
    whose components are known by name.
    """

    LLM = "llm"
    REWRITER = "rewriter"
    EMBEDDER = "embedder"
    RETRIEVER = "retriever"
    RERANKER = "reranker"
    TOOL = "tool"
    PROMPT = "prompt"
    CHAIN = "chain"
    AGENT = "agent"
    EVALUATOR = "evaluator"
    GUARDRAIL = "guardrail"
    IGNORED = "ignored"
    UNKNOWN = "unknown"


class ScoreKind(StrEnum):
    """Which way a retrieval score points."""

    SIMILARITY = "similarity"
    DISTANCE = "distance"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document. A score is never invented: ``None`` when none was recorded.

    ``text_status`` tells why ``text`` is empty when it is.
    """

    text: str
    id: str | None = None
    score: float | None = None
    score_kind: ScoreKind = ScoreKind.UNKNOWN
    title: str | None = None
    metadata: Mapping[str, AttributeValue] = field(default_factory=dict)
    text_status: FieldStatus = FieldStatus.PRESENT


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. ``key`` is where it was read, where that is not the others' place."""

    role: str
    content: str
    key: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of LLM calls."""

    prompt: int | None = None
    completion: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Loss:
    """Signs that a span lost content on its way to us."""

    dropped_attributes: int = 0
    dropped_events: int = 0
    gaps: tuple[str, ...] = ()
    """Key prefixes whose indices have holes (evicted attributes)."""
    redacted: tuple[str, ...] = ()
    """Keys that held a placeholder such as ``__REDACTED__``."""
    truncated: tuple[str, ...] = ()
    """Keys whose value is cut."""


@dataclass(frozen=True, slots=True)
class SpanFacts:
    """What one convention reads from one span. Fields that do not apply are not captured.

    ``input_data`` / ``output_data`` are the parsed JSON of ``input`` / ``output`` when these
    are JSON, else ``None``. ``documents`` are a retriever's or reranker's results;
    ``input_documents`` are what a reranker was given. ``structured_documents`` tells that
    the documents came from the convention's own structured keys. ``component`` names what did
    the work where all spans of a framework have the same name. ``settled`` tells that a user
    said what the role is: no name makes it another one.
    """

    span_id: bytes
    convention: str
    role: Role
    input: Field[str] = NOT_CAPTURED
    output: Field[str] = NOT_CAPTURED
    input_data: object | None = None
    output_data: object | None = None
    query: Field[str] = NOT_CAPTURED
    documents: Field[tuple[Chunk, ...]] = NOT_CAPTURED
    input_documents: Field[tuple[Chunk, ...]] = NOT_CAPTURED
    structured_documents: bool = False
    embedding_texts: Field[tuple[str, ...]] = NOT_CAPTURED
    messages: Field[tuple[Message, ...]] = NOT_CAPTURED
    output_messages: Field[tuple[Message, ...]] = NOT_CAPTURED
    prompt_template: Field[str] = NOT_CAPTURED
    prompt_variables: Mapping[str, str] = field(default_factory=dict)
    top_k: int | None = None
    model: str | None = None
    finish_reason: str | None = None
    tokens: TokenUsage = TokenUsage()
    tool_name: str | None = None
    component: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    loss: Loss = Loss()
    settled: bool = False


# ------------------------------------------------------------------------------- runs


class RewriteKind(StrEnum):
    """How a rewriter changed the question."""

    REWRITE = "rewrite"
    CONDENSE = "condense"
    MULTI_QUERY = "multi_query"
    HYDE = "hyde"


@dataclass(frozen=True, slots=True)
class StepOrigin:
    """Which spans became a step, and why.

    ``span_id`` is the span that carries the verdict; ``span_ids`` are all spans that were
    collapsed into the step, that one included. A step of a run record has no spans
    (``span_id`` is ``b""``). ``why`` is one sentence for ``otel-raglog explain``.
    ``error`` is the span's error status message, when it has one.
    """

    span_id: bytes = b""
    span_ids: tuple[bytes, ...] = ()
    name: str = ""
    why: str = ""
    start_unix_nano: int = 0
    end_unix_nano: int = 0
    error: str | None = None

    @property
    def seconds(self) -> float:
        """Duration, 0.0 when unknown or negative."""
        return max(0, self.end_unix_nano - self.start_unix_nano) / 1e9


@dataclass(frozen=True, slots=True)
class RewriteStep:
    """One rewrite of the question into search text."""

    origin: StepOrigin
    kind: RewriteKind
    input: Field[str]
    rewrites: Field[tuple[str, ...]]
    model: str | None = None
    filters: str | None = None
    """The filter of the search, where the rewriter wrote one beside the query (self-query)."""


@dataclass(frozen=True, slots=True)
class EmbedStep:
    """One embedding of query text. ``passage`` marks HyDE or passage text, which is exempt."""

    origin: StepOrigin
    texts: Field[tuple[str, ...]]
    model: str | None = None
    passage: bool = False


@dataclass(frozen=True, slots=True)
class RetrieveStep:
    """One retrieval. ``chunks`` in rank order. ``fused`` marks the union of other steps."""

    origin: StepOrigin
    query: Field[str]
    chunks: Field[tuple[Chunk, ...]]
    top_k: int | None = None
    filters: str | None = None
    fused: bool = False
    reconstructed: bool = False
    """No span of its own: rebuilt from the reranker's input or from the prompt."""


@dataclass(frozen=True, slots=True)
class RerankStep:
    """One reranking: candidates in, selected chunks out, both in rank order."""

    origin: StepOrigin
    query: Field[str]
    candidates: Field[tuple[Chunk, ...]]
    selected: Field[tuple[Chunk, ...]]
    top_k: int | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class AssemblyStep:
    """The making of the prompt: ``selected`` chunks in, ``context`` seen by the model out.

    ``context`` is the part of the generator's prompt that is neither question nor
    instruction, as far as that can be told; the whole prompt otherwise. ``prompt`` is all
    message text. Where several calls made the answer (refine, map and reduce) both are of all
    of them, ``prompt`` without what these calls told one another.
    """

    origin: StepOrigin
    selected: Field[tuple[Chunk, ...]]
    context: Field[str]
    prompt: Field[str]


@dataclass(frozen=True, slots=True)
class GenerateStep:
    """The LLM call that answers; of several whose outputs are the answer together, all.

    ``draft`` is what it said where a later call, without the context, put that into other words
    (tone, format, language): ``answer`` is what the user got.
    """

    origin: StepOrigin
    messages: Field[tuple[Message, ...]]
    answer: Field[str]
    finish_reason: str | None = None
    tokens: TokenUsage = TokenUsage()
    model: str | None = None
    draft: Field[str] = NOT_CAPTURED


Step: TypeAlias = RewriteStep | EmbedStep | RetrieveStep | RerankStep | AssemblyStep | GenerateStep


@dataclass(frozen=True, slots=True)
class StageState:
    """Whether a run has a stage: with ``steps`` > 0 it was seen; else ``absent`` or unknown.

    ``reason`` is set when the stage cannot be judged although the pipeline has, or may
    have, it. ``why`` is one sentence for people.
    """

    steps: int
    absent: bool = False
    reason: UnknownReason | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """One question answered: all that the checks may read.

    ``run_id`` is the trace id in hex, with ``-n`` appended from the second run of a trace
    on; a run record's ``id`` for a run record. ``top_span_id`` is the topmost held span of
    the run (``b""`` for a run record). ``stages`` has a key for every :class:`Stage`.
    ``skip_reason`` is set when nothing can be judged (no question, no stage ...); it is a
    short snake_case word, and ``notes`` says it in sentences.
    """

    run_id: str
    trace_id: bytes
    top_span_id: bytes
    service: str
    question: Field[str]
    answer: Field[str]
    rewriters: tuple[RewriteStep, ...] = ()
    embedders: tuple[EmbedStep, ...] = ()
    retrievers: tuple[RetrieveStep, ...] = ()
    rerankers: tuple[RerankStep, ...] = ()
    assemblies: tuple[AssemblyStep, ...] = ()
    generators: tuple[GenerateStep, ...] = ()
    stages: Mapping[Stage, StageState] = field(default_factory=dict)
    history: Field[tuple[Message, ...]] = NOT_CAPTURED
    session_id: str | None = None
    turn: int | None = None
    completion: Completion = Completion.FILE_END
    conventions: tuple[str, ...] = ()
    loss: Loss = Loss()
    tokens: TokenUsage = TokenUsage()
    span_ids: tuple[bytes, ...] = ()
    skip_reason: str | None = None
    notes: tuple[str, ...] = ()
    joined_traces: tuple[bytes, ...] = ()
    """The traces that its spans are of, where these are several."""
    view: Run | None = None
    """The run as destinations and LLMs may see it, where something in it is redacted."""

    @property
    def shown(self) -> Run:
        """What may be shown of the run, outside of this process."""
        return self if self.view is None else self.view

    def steps(self, stage: Stage) -> tuple[Step, ...]:
        """Return the steps of ``stage``, in time order."""
        steps: tuple[Step, ...] = getattr(self, _STEPS[stage])
        return steps


_STEPS: Mapping[Stage, str] = {
    Stage.REWRITER: "rewriters",
    Stage.EMBEDDER: "embedders",
    Stage.RETRIEVER: "retrievers",
    Stage.RERANKER: "rerankers",
    Stage.ASSEMBLY: "assemblies",
    Stage.GENERATOR: "generators",
}
"""The field of :class:`Run` that holds a stage's steps."""


# ------------------------------------------------------------------ measurements


class MeasurementStatus(StrEnum):
    """Whether a measurement has a value, and if not, why."""

    MEASURED = "measured"
    NOT_APPLICABLE = "not_applicable"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One named number, or the reason why there is none.

    ``value`` is finite when ``status`` is ``measured``, else ``None``. ``step`` is the index
    of the step it belongs to among the run's steps of ``stage``; ``None`` when it is of the
    whole stage. ``evidence`` is what was found, as a phrase that completes an explanation,
    without document text unless it is in ``quotes``; ``quotes`` hold text from the run that is
    shown only when ``explanations.quote_text`` is on.
    """

    name: str
    stage: Stage
    value: float | None
    status: MeasurementStatus = MeasurementStatus.MEASURED
    step: int | None = None
    evidence: str = ""
    quotes: tuple[str, ...] = ()
    reason: str = ""


# ----------------------------------------------------------------- verdicts, reports


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one stage (or, inside it, on one step).

    ``probability`` and ``threshold`` are in [0, 1], ``None`` unless judged. ``fault_types`` are
    strongest first, and empty unless faulty. ``step`` is the index of the worst step.
    """

    stage: Stage
    verdict: StageVerdict
    reason: UnknownReason | None = None
    probability: float | None = None
    threshold: float | None = None
    fault_types: tuple[FaultType, ...] = ()
    warnings: tuple[WarningType, ...] = ()
    explanation: str = ""
    step: int | None = None
    steps: tuple[Verdict, ...] = ()
    """Per step, for stages judged step by step (rewriter, embedder, reranker)."""


@dataclass(frozen=True, slots=True)
class JudgeUse:
    """What came of asking an LLM about a run, or why it was not asked.

    ``skipped`` is a short snake_case word when no call was made, else empty. ``prompt_tokens`` are
    all that were sent, ``cached_tokens`` those of them that the provider had in its cache.
    ``cost_usd`` is ``None`` when the model's price is not known. ``abstained`` are the checks that
    gave no answer, each with the reason. ``suspected`` are the texts that tried to instruct
    the LLM, each with how and where; ``left_out`` says what of the run it was not shown.
    """

    model: str
    skipped: str = ""
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    abstained: tuple[tuple[str, str], ...] = ()
    suspected: tuple[tuple[str, str], ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """All verdicts of a run. ``verdicts`` has a key for every :class:`Stage`.

    ``judge`` is ``None`` where no LLM is configured.
    """

    run: Run
    verdict: RunVerdict
    verdicts: Mapping[Stage, Verdict]
    measurements: tuple[Measurement, ...]
    detector_version: str
    tier: Tier
    analysis_seconds: float
    skip_reason: str | None = None
    judge: JudgeUse | None = None

    @property
    def cost_usd(self) -> float | None:
        """What the LLM cost, ``None`` when its price is not known."""
        return self.judge.cost_usd if self.judge is not None else 0.0

    @property
    def faulty_stages(self) -> tuple[Stage, ...]:
        """Stages with a faulty verdict, in pipeline order."""
        return tuple(
            stage for stage in Stage if self.verdicts[stage].verdict is StageVerdict.FAULTY
        )

    @property
    def first_faulty_stage(self) -> Stage | None:
        """The first faulty stage in pipeline order."""
        return next(iter(self.faulty_stages), None)

    @property
    def complete(self) -> bool:
        """Whether the run's trace is held to be whole."""
        return self.run.completion.complete
