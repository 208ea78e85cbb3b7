"""Every option of the service: its name, type, default and meaning."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from otel_raglog.custom_rules import CustomRule, idle_rule
from otel_raglog.errors import RaglogError
from otel_raglog.model import Signal, Stage
from otel_raglog.patterns import compile_pattern

Port = Annotated[int, Field(ge=0, le=65535)]
BUNDLED = "bundled"
"""The value that stands for what comes with the package."""

_LONGEST_SECONDS = 7 * 24 * 3600
KeyName = Annotated[str, Field(min_length=1)]
HTTP_PORT = ":4318"
"""Where OTLP/HTTP is listened for, by its specification."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def _compiling(patterns: tuple[str, ...]) -> tuple[str, ...]:
    for pattern in patterns:
        try:
            compile_pattern(pattern)
        except RaglogError as error:
            raise ValueError(str(error)) from None
    return patterns


class Listen(_Section):
    """An address to listen on."""

    host: str = Field(
        "127.0.0.1", description="Address to bind. Loopback unless you say otherwise."
    )
    port: Port = Field(0, description="TCP port; 0 lets the system choose.")


class Auth(_Section):
    """Who may send, and read the JSON API: those that know a token. Without one, anybody."""

    token_file: Path | None = Field(
        None,
        description="File with the bearer token that every request to the doors and to the JSON API "
        "must carry; of several lines, each is a token, so that one can be replaced. Read at the start.",
    )
    token_from: str | None = Field(
        None, min_length=1, description="Environment variable that holds the token, instead."
    )


class Receive(_Section):
    """OTLP in."""

    grpc: Listen = Field(Listen(port=4317), description="OTLP/gRPC door.")
    http: Listen = Field(Listen(port=4318), description="OTLP/HTTP door (protobuf and JSON).")
    max_request_mib: float = Field(
        64, gt=0, description="Largest request after decompression, MiB."
    )
    max_spans_per_request: int = Field(
        100_000, gt=0, description="Most spans, log records or data points in one request."
    )
    request_timeout_seconds: float = Field(
        30,
        gt=0,
        le=_LONGEST_SECONDS,
        description="Longest time that a client may take to send one request.",
    )
    max_connections: int = Field(
        1_000,
        gt=0,
        description="Most open HTTP connections; a further one takes the place of the longest idle.",
    )
    auth: Auth = Auth()
    forward_headers: tuple[str, ...] = Field(
        (),
        description="Request headers that travel on to the destinations, such as x-scope-orgid. "
        "They are kept in the journal: no secrets.",
    )


class Journal(_Section):
    """What is accepted stays on disk until every destination has it."""

    enabled: bool = Field(
        default=True,
        description="false: keep all in memory; what is undelivered is lost with the process.",
    )
    path: Path | None = Field(
        None,
        description="Private folder of this process alone. Default: otel-raglog in "
        "$XDG_STATE_HOME, else in ~/.local/state.",
    )
    max_mib: float = Field(
        1024, gt=0, description="Most MiB on disk; then the newest requests are refused."
    )
    max_age_hours: float = Field(
        24,
        gt=0,
        le=24 * 365,
        description="What a destination did not take for so long is dropped for it, counted.",
    )
    reserve_mib: float = Field(
        64,
        ge=0,
        description="Free space that is left to others, at most a tenth of the file system.",
    )
    fsync: Literal["none", "group"] = Field(
        "none",
        description="none survives a kill of the process; group a power loss as well: requests "
        "are acknowledged after an fsync that they share.",
    )


class DeadLetters(_Section):
    """What a destination refuses for good."""

    path: Path | None = Field(
        None, description="Folder of the files. Default: dead-letters in the journal's folder."
    )
    max_mib: float = Field(
        64, gt=0, description="Largest file of one destination; one older file is kept beside it."
    )


class Memory(_Section):
    """What may be in memory at once."""

    budget_mib: float = Field(
        512,
        gt=0,
        description="Spans and requests in memory; beyond it requests are refused. Half of it is "
        "for held spans at most, a quarter each for traces to be judged and for the way out.",
    )


class Hold(_Section):
    """How long the spans of a run wait for each other, and how many may wait."""

    quiet_seconds: float = Field(
        5,
        ge=0,
        le=_LONGEST_SECONDS,
        description="Quiet time after which a trace with a root is whole.",
    )
    orphan_quiet_seconds: float = Field(
        15,
        ge=0,
        le=_LONGEST_SECONDS,
        description="Quiet time after which a trace without a root is released.",
    )
    max_wait_seconds: float = Field(
        120, gt=0, le=_LONGEST_SECONDS, description="Longest hold of any span, seconds."
    )
    max_spans_per_trace: int = Field(10_000, gt=0, description="Most held spans of one trace.")
    max_open_traces: int = Field(
        20_000, gt=0, description="Most traces held at once; then the oldest leave."
    )
    max_held_mib: float = Field(
        256,
        gt=0,
        description="Most MiB held at once, and at most half of memory.budget_mib; then the "
        "oldest leave.",
    )
    remember_traces: int = Field(
        100_000, gt=0, description="Released traces remembered for late spans."
    )
    escalated_seconds: float = Field(
        10,
        ge=0,
        le=_LONGEST_SECONDS,
        description="Longest further hold of a run that an LLM is asked about; if its answers come "
        "later, the spans carry the local verdict, and the LLM's follows in a span of its own.",
    )


class Analysis(_Section):
    """The detector."""

    checks: (
        tuple[Literal["rules", "similarity", "alignment", "crossencoder", "support"], ...] | None
    ) = Field(
        None,
        description="Groups of checks that run: rules, similarity, alignment, crossencoder, support. "
        "Default: those that the detector reads. Similarity and alignment load the sentence model, "
        "crossencoder and support the reader; with none, runs are mapped and marked, and every verdict is unknown.",
    )
    cross_encoder: str = Field(
        BUNDLED,
        min_length=1,
        description="The model of the crossencoder checks: bundled, or the name or folder of one of "
        "sentence-transformers (pip install sentence-transformers), which tells whether a chunk "
        "answers and nothing else.",
    )
    detector: str = Field(
        "local",
        min_length=1,
        description="local or light, the trained detectors that come with this version (light reads "
        "no cross-encoder, for half of the CPU), rules-1, or the folder of one that otel-raglog train "
        "wrote.",
    )
    policy: Literal["monitoring", "paper"] = Field(
        "monitoring",
        description="Whose thresholds a trained detector takes: monitoring flags at most 5 % of "
        "the sound runs and of each stage's, paper has the best F1 with at most 10 % of the sound stages flagged.",
    )
    thresholds: dict[Stage, Annotated[float, Field(ge=0, le=1)]] = Field(
        default_factory=dict,
        description="Thresholds of your own for stages of a trained detector; see otel-raglog "
        "thresholds.",
    )
    backlog_traces: int = Field(
        2_000,
        gt=0,
        description="Traces waiting to be judged; beyond it traces pass unjudged, counted.",
    )
    max_trace_spans: int = Field(
        1_000, gt=0, description="Traces with more held spans pass unjudged, counted."
    )
    max_trace_text_mib: float = Field(
        4, gt=0, description="Traces with more text than this pass unjudged, counted."
    )
    encoder_threads: int = Field(
        0, ge=0, description="Texts encoded side by side; 0 takes the number of cores, 4 at most."
    )
    encoder_cache_vectors: int = Field(
        50_000, gt=0, description="Sentence vectors kept by text hash (1.5 kB each)."
    )
    encoder_cache_token_mib: int = Field(
        64,
        ge=0,
        description="Most MiB of token vectors kept by text hash (0.15 MiB for a chunk of 200 "
        "tokens); 0 keeps none.",
    )


class JudgeBudget(_Section):
    """What the LLM may cost. Kept over restarts."""

    usd_per_hour: float = Field(
        1,
        ge=0,
        description="Most USD in any clock hour (UTC); a model without a price is not limited by it.",
    )
    usd_per_day: float = Field(10, ge=0, description="Most USD in any day (UTC).")
    tokens_per_minute: int = Field(
        1_000_000, ge=0, description="Most tokens in any minute, prompt and answers; 0: no limit."
    )
    path: Path | None = Field(
        None,
        description="File that remembers what was spent. Default: judge-spent.json in the journal's "
        "folder; without a journal, in memory.",
    )


class Judge(_Section):
    """Checks by an LLM: who is asked, about which runs, and what it may cost."""

    when: Literal["always", "escalate", "sample", "never"] | None = Field(
        None,
        description="Which runs an LLM is asked about: always; escalate, where its answer may change "
        "a verdict; sample, judge.sample of them; never. Default: escalate when there is a key or an "
        "endpoint, else never.",
    )
    provider: Literal["anthropic", "openai"] = Field(
        "anthropic",
        description="API that is spoken: anthropic, or openai, which vLLM, Ollama, llama.cpp and "
        "Gemini's compatible endpoint speak too.",
    )
    model: str = Field("claude-haiku-5-5", min_length=1, description="The model's name there.")
    endpoint: str | None = Field(
        None,
        description="Address of the API, such as http://127.0.0.1:11434/v1. Default: the provider's own.",
    )
    key_from: str | None = Field(
        None,
        description="Environment variable that holds the key. Default: OTEL_RAGLOG_JUDGE_KEY, so that a "
        "key that is there for your application sends nothing.",
    )
    key_file: Path | None = Field(None, description="File that holds the key, instead.")
    mode: Literal["json", "first_token"] = Field(
        "json",
        description="json: five questions, answered in JSON. first_token: many questions of yes and "
        "no, scored by the probability of the first token, for small local models.",
    )
    economy: bool = Field(
        default=False, description="true: leave out the statement-level check, the costliest."
    )
    sample: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1, description="Share of the runs that are asked about with judge.when: sample."
    )
    every_runs: int = Field(
        1, ge=1, description="Ask about one run in so many of those that judge.when chooses."
    )
    every_minutes: float = Field(
        0, ge=0, le=7 * 24 * 60, description="Ask about one run in so many minutes at most; 0: any."
    )
    feedback: bool = Field(
        default=True,
        description="true: a run that its user marked as bad is asked about with judge.when: escalate "
        "or sample, whatever the schedule.",
    )
    bands: dict[
        Stage, tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=0, le=1)]]
    ] = Field(
        default_factory=dict,
        description="Per stage, the probabilities between which it is uncertain (escalate). Default: "
        "those that were learned for the model.",
    )
    detector: str | None = Field(
        None,
        description="Folder or name of the detector that reads the LLM's answers. Default: the one "
        "for the model that comes with this version, else a fixed combination, marked untrained.",
    )
    budget: JudgeBudget = JudgeBudget()
    prices: Path | None = Field(
        None, description="JSON file with prices of your own, of the form of judge/prices.json."
    )
    concurrency: int = Field(16, ge=1, le=256, description="Most calls at once.")
    waiting_runs: int = Field(
        24,
        ge=1,
        description="Most runs that wait for an LLM at once; others keep their local verdict.",
    )
    timeout_seconds: float = Field(
        30, gt=0, le=600, description="Longest time of a call, and of all tries of a check."
    )
    tries: int = Field(3, ge=1, le=10, description="Most tries of a call that may work later.")
    max_prompt_tokens: int = Field(
        8_000, ge=500, description="Most tokens of a run's texts in a prompt, roughly."
    )
    max_excluded_chunks: int = Field(
        8,
        ge=0,
        description="Most chunks shown that were retrieved and not passed on: the likeliest.",
    )
    max_reply_kib: int = Field(1_024, ge=16, description="Largest reply, KiB.")
    redact: tuple[str, ...] = Field(
        (),
        description="Regular expressions (of RE2: without look-around and back-references); what they "
        "match is replaced by [redacted] before anything is sent.",
    )

    @field_validator("endpoint")
    @classmethod
    def _holds_no_secret(cls, endpoint: str | None) -> str | None:
        parts = urlsplit(endpoint or "")
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError(
                "must not hold a password, a query or a fragment: keys come from judge.key_file or a "
                "variable"
            )
        return endpoint

    @field_validator("redact")
    @classmethod
    def _each_compiles(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return _compiling(patterns)

    @field_validator("bands")
    @classmethod
    def _bands_rise(
        cls, bands: dict[Stage, tuple[float, float]]
    ) -> dict[Stage, tuple[float, float]]:
        for stage, (low, high) in bands.items():
            if low > high:
                raise ValueError(f"{stage.value}: the lower end is above the upper one")
        return bands


class Redaction(_Section):
    """What no destination and no LLM may read: docs/redaction.md. Nothing unless you say so."""

    mask_keys: tuple[KeyName, ...] = Field(
        (),
        description="Attributes whose values become [redacted]: keys, paths into their JSON "
        "(input.value.user.name), or patterns with * and ?. Also span.name, event.name, "
        "status.message and log.body.",
    )
    hash_keys: tuple[KeyName, ...] = Field(
        (),
        description="Attributes whose values become a keyed hash, the same for the same value.",
    )
    hash_document_ids: bool = Field(
        default=False, description="true: ids of documents and chunks become keyed hashes."
    )
    patterns: tuple[Literal["email", "phone", "card", "iban", "key"], ...] = Field(
        (),
        description="What is looked for in every text: email, phone, card (with its checksum), "
        "iban, key (keys, tokens, passwords; always masked).",
    )
    expressions: tuple[str, ...] = Field(
        (),
        description="Regular expressions of your own (of RE2: without look-around and "
        "back-references) that are looked for in every text.",
    )
    pattern_action: Literal["mask", "hash"] = Field(
        "mask",
        description="What becomes of what patterns and expressions find: [redacted], or a keyed hash.",
    )
    key_from: str | None = Field(
        None,
        description="Environment variable that holds the key of the hashes. Default: "
        "OTEL_RAGLOG_REDACTION_KEY.",
    )
    key_file: Path | None = Field(
        None, description="File that holds the key of the hashes, instead."
    )

    @field_validator("expressions")
    @classmethod
    def _each_compiles(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return _compiling(patterns)

    @property
    def enabled(self) -> bool:
        """Whether anything is redacted."""
        return bool(
            self.mask_keys
            or self.hash_keys
            or self.hash_document_ids
            or self.patterns
            or self.expressions
        )

    @property
    def hashes(self) -> bool:
        """Whether anything is hashed, for which there must be a key."""
        found = self.pattern_action == "hash" and bool(self.patterns or self.expressions)
        return bool(self.hash_keys or self.hash_document_ids) or found


class Conventions(_Section):
    """Which attributes are read, and what they mean."""

    custom: tuple[CustomRule, ...] = Field(
        (),
        description="Rules for attributes and spans of your own, before everything that is built "
        "in: docs/custom-conventions.md.",
    )

    @field_validator("custom")
    @classmethod
    def _each_counts(cls, rules: tuple[CustomRule, ...]) -> tuple[CustomRule, ...]:
        names = [rule.name for rule in rules]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"several rules have the name {', '.join(twice)}")
        if idle := idle_rule(rules):
            raise ValueError(idle)
        return rules


class Join(_Section):
    """Several traces as one run: for applications without a span around each question."""

    enabled: bool = Field(
        default=False,
        description="true: a trace that only searches, or only calls an LLM, waits for the others "
        "of its run, and is judged with them.",
    )
    by: Literal["session", "service"] = Field(
        "session",
        description="What traces of one run have in common beside their texts: a session or "
        "conversation id, or service.name and service.instance.id.",
    )
    window_seconds: float = Field(
        10,
        gt=0,
        le=_LONGEST_SECONDS,
        description="Longest wait for other traces of a run, on top of hold.*, and longest time "
        "between the spans of two that are joined.",
    )
    max_fragments: int = Field(
        10_000, gt=0, description="Most traces that wait; then the oldest are judged alone."
    )
    max_mib: float = Field(
        64,
        gt=0,
        description="Most MiB that waiting traces take, and at most an eighth of "
        "memory.budget_mib; then the oldest are judged alone.",
    )


class Explanations(_Section):
    """The words beside a verdict."""

    quote_text: bool = Field(
        default=False, description="Let explanations quote text of documents and answers."
    )


class Annotations(_Section):
    """What is written on the spans."""

    openinference_evaluations: bool = Field(
        default=False, description="Also write OpenInference evaluations.N.evaluation.* attributes."
    )


class Metrics(_Section):
    """Prometheus metrics."""

    host: str = Field("127.0.0.1", description="Address of /metrics.")
    port: Port = Field(9464, description="Port of /metrics.")
    max_label_values: int = Field(
        20, gt=0, description="Distinct values of the label service; then _overflow."
    )
    exemplars_per_minute: int = Field(
        10,
        ge=0,
        description="Runs a minute that are marked raglog.exemplar and shown as exemplars.",
    )


class Api(_Section):
    """The JSON API: recent reports, counts of stages, set-up and sessions, from memory."""

    enabled: bool = Field(default=True, description="false: keep no reports, open no port.")
    host: str = Field(
        "127.0.0.1",
        description="Address of the JSON API. Beyond loopback only with a token (receive.auth).",
    )
    port: Port = Field(13134, description="Port of the JSON API.")
    content: bool = Field(
        default=False,
        description="true: keep and show texts too: questions, rewrites, chunks, prompts, answers.",
    )
    max_runs: int = Field(
        5_000, gt=0, le=1_000_000, description="Most runs that are kept; then the oldest go."
    )
    max_mib: float = Field(
        32,
        gt=0,
        description="Most MiB that they take, compressed, and as much again for those that wait to "
        "be; beside memory.budget_mib.",
    )
    max_age_hours: float = Field(24, gt=0, le=24 * 365, description="Older ones go.")


def otlp_kind(endpoint: str) -> str:
    """Return the exporter kind for an OTLP endpoint: HTTP with a path or at port 4318, else gRPC."""
    scheme, mark, rest = endpoint.strip().partition("://")
    host, _, path = rest.partition("/")
    by_path = bool(path.strip("/")) or host.endswith(HTTP_PORT)
    return "otlp_http" if mark and scheme and by_path else "otlp_grpc"


def _kind_first(value: object) -> object:
    if isinstance(value, str):
        return {"kind": otlp_kind(value), "endpoint": value}
    if not isinstance(value, Mapping | BaseModel):
        what = "must be an endpoint, or a mapping of kind, endpoint and further options"
        raise ValueError(what)  # noqa: TRY004  pydantic makes it the option's error
    if isinstance(value, Mapping) and "kind" not in value:
        endpoint = value.get("endpoint")
        return {**value, "kind": otlp_kind(endpoint)} if isinstance(endpoint, str) else value
    return value


class Destination(_Section):
    """A place that spans are sent to. Options beyond ``kind`` belong to the exporter."""

    model_config = ConfigDict(extra="allow", frozen=True)

    kind: str = Field(
        "otlp_grpc",
        description="otlp_grpc, otlp_http, file, console, phoenix, langfuse, mlflow, webhook or an "
        "entry point's name; unset, it is told by the endpoint: HTTP with a path or at port 4318, "
        "else gRPC.",
    )
    signals: tuple[Signal, ...] | None = Field(
        None, description="What it takes: traces, metrics, logs; unset: all that its kind takes."
    )

    @field_validator("signals")
    @classmethod
    def _takes_something(cls, signals: tuple[Signal, ...] | None) -> tuple[Signal, ...] | None:
        if signals is not None and not signals:
            raise ValueError("must not be empty: a destination that takes no signal is none")
        return signals

    @property
    def options(self) -> Mapping[str, Any]:
        """Return the exporter's own options."""
        return dict(self.model_extra or {})


class Sending(_Section):
    """Batches and retries: the same for every destination."""

    batch_items: int = Field(
        4_096, gt=0, description="Spans, data points or log records that fill a batch."
    )
    batch_seconds: float = Field(
        0.2, ge=0, le=_LONGEST_SECONDS, description="Longest wait for a batch to fill."
    )
    initial_backoff_seconds: float = Field(
        1, gt=0, le=_LONGEST_SECONDS, description="First wait after a failure."
    )
    max_backoff_seconds: float = Field(
        30, gt=0, le=_LONGEST_SECONDS, description="Longest wait between tries."
    )
    max_elapsed_seconds: float = Field(
        0,
        ge=0,
        le=_LONGEST_SECONDS,
        description="Give up a batch after this; 0 waits as long as the journal keeps it.",
    )


class Config(_Section):
    """All options of ``otel-raglog serve``."""

    receive: Receive = Receive()
    journal: Journal = Journal()
    dead_letters: DeadLetters = DeadLetters()
    memory: Memory = Memory()
    hold: Hold = Hold()
    conventions: Conventions = Conventions()
    analysis: Analysis = Analysis()
    judge: Judge = Judge()
    join: Join = Join()
    redaction: Redaction = Redaction()
    explanations: Explanations = Explanations()
    annotations: Annotations = Annotations()
    exporters: dict[str, Annotated[Destination, BeforeValidator(_kind_first)]] = Field(
        default_factory=dict, description="Destinations by a name of your choice."
    )
    sending: Sending = Sending()
    metrics: Metrics = Metrics()
    api: Api = Api()
    health: Listen = Field(Listen(port=13133), description="/live and /ready.")
    shutdown_grace_seconds: float = Field(
        10,
        ge=0,
        le=_LONGEST_SECONDS,
        description="Time to deliver at SIGTERM; the rest stays in the journal.",
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severe log lines that are written."
    )
