"""Options and registries to the parts that every command shares: analyser and markers."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from otel_raglog.analysis import Analyser
from otel_raglog.checks.crossencoder.reader import (
    BUNDLED_READER,
    BundledReader,
    CrossEncoder,
    NamedCrossEncoder,
)
from otel_raglog.checks.judge.view import Ranker
from otel_raglog.checks.registry import build_checks, groups_with
from otel_raglog.checks.runner import FailureObserver
from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.clock import SystemClock
from otel_raglog.config import read_judge_key
from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.custom import Custom
from otel_raglog.conventions.registry import BUILT_IN, marker_prefixes
from otel_raglog.detect.choosing import build_detector, build_llm_detector
from otel_raglog.detect.detector import Detector
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.escalation import Band
from otel_raglog.detect.policies import Policy
from otel_raglog.detect.tiers import LlmDetector
from otel_raglog.errors import ConfigError
from otel_raglog.judge.asking import Asker, AskerConfig
from otel_raglog.judge.breaker import Breaker
from otel_raglog.judge.budget import Budget, BudgetLimits
from otel_raglog.judge.calling import Pricing
from otel_raglog.judge.client import Usage
from otel_raglog.judge.clients import WITHOUT_LOGPROBS, build_client
from otel_raglog.judge.parts import Mode, new_nonce
from otel_raglog.judge.prices import Prices
from otel_raglog.judge.redacting import Redactor
from otel_raglog.judge.retrying import RetryConfig
from otel_raglog.judge.schedule import Schedule, ScheduleConfig, When
from otel_raglog.llm_tier import LlmTier
from otel_raglog.options import BUNDLED, Analysis, Conventions, Judge
from otel_raglog.receive.markers import Markers
from otel_raglog.redaction.redaction import Redaction

_log = structlog.get_logger()
_MOST_THREADS = 4
TRAINING_CHECKS = ("rules", "similarity", "alignment", "crossencoder")
"""The groups of checks on which detectors are trained unless analysis.checks says otherwise."""


def build_conventions(options: Conventions) -> ConventionSet:
    """Return the user's own rules before everything that is built in."""
    if not options.custom:
        return BUILT_IN
    return ConventionSet((Custom(options.custom), *BUILT_IN.conventions))


def build_analyser(
    options: Analysis,
    *,
    quote_text: bool,
    failures: FailureObserver,
    conventions: ConventionSet = BUILT_IN,
    detector: Detector | None = None,
    llm: LlmOptions | None = None,
    redaction: Redaction | None = None,
) -> Analyser:
    """Return the local detector: that of the options, or ``detector``; with ``llm``, an LLM beside it.

    ``redaction`` is left out of all that is shown of runs.

    Raises:
        ConfigError: the model file is damaged, there is no such detector, or the LLM cannot be asked.
    """
    judge = detector or build_detector(options.detector, Policy(options.policy), options.thresholds)
    second = None if llm is None else _llm_detector(llm.options, judge, Policy(options.policy))
    reads = judge.reads | (second.reads if second is not None else frozenset())
    groups = groups_with(reads) if options.checks is None else options.checks
    uses_reader = not {"crossencoder", "support"}.isdisjoint(groups)
    if uses_reader:
        for each in (judge, second.trained if second is not None else None):
            if isinstance(each, Ensemble):
                _refuse_other_reader(each, reader_of(options))
    encodes = not {"similarity", "alignment"}.isdisjoint(groups)
    encoder = _build_encoder(options, tokens="alignment" in groups) if encodes else None
    reader = build_cross_encoder(options) if uses_reader else None
    every = build_checks(encoder, reader)
    checks = tuple(check for check in every if check.name.partition(".")[0] in groups)
    without = tuple(group for group in groups_with(judge.reads) if group not in groups)
    if without:
        _log.warning(
            "analysis.checks leaves out checks that the detector reads: fewer stages are judged, "
            "and by less",
            detector=judge.version,
            left_out=", ".join(without),
        )
    tier = None
    if llm is not None and second is not None:
        redact = Redactor(llm.options.redact, redaction)
        tier = _build_llm_tier(llm, second, reader, redact, quote_text=quote_text)
    return Analyser(
        checks, judge, SystemClock(), quote_text, failures, conventions, without, tier, redaction
    )


@dataclass(frozen=True, slots=True)
class LlmOptions:
    """How an LLM is asked. ``when`` is what ``judge.when`` comes to; ``patient``: wait for a turn."""

    options: Judge
    when: When
    sample: float
    key: str | None
    patient: bool = False


def llm_options(
    options: Judge, *, when: When | None = None, sample: float | None = None, patient: bool = False
) -> LlmOptions | None:
    """Return how an LLM is asked; ``None`` where none is. ``when`` wins over the options.

    Raises:
        ConfigError: the key cannot be read.
    """
    chosen = when
    if chosen is None and options.when is not None:
        chosen = When(options.when)
    if chosen is When.NEVER:
        return None
    key = read_judge_key(options)
    if chosen is None and not (key or options.endpoint):
        return None
    chosen = chosen or When.ESCALATE
    return LlmOptions(options, chosen, options.sample if sample is None else sample, key, patient)


def _llm_detector(options: Judge, local: Detector, policy: Policy) -> LlmDetector:
    return build_llm_detector(
        local,
        model=options.model,
        name=options.detector,
        policy=policy,
        bands={stage: Band(*ends) for stage, ends in options.bands.items()},
    )


def build_asker(options: Judge, key: str | None) -> Asker:
    """Return what asks the LLM of the options.

    Raises:
        ConfigError: it cannot be asked: no key, a bad address or price list, a missing SDK.
    """
    if Mode(options.mode) is Mode.FIRST_TOKEN and options.provider in WITHOUT_LOGPROBS:
        raise ConfigError(
            f"judge.mode: {options.mode} needs log-probabilities, which the API of "
            f"judge.provider {options.provider} does not return"
        )
    clock = SystemClock()
    client = build_client(
        options.provider,
        options.model,
        endpoint=options.endpoint,
        key=key,
        max_reply_bytes=options.max_reply_kib * 1024,
        connections=options.concurrency,
    )
    budget, pricing = build_budget(options)
    return Asker(
        client,
        AskerConfig(
            mode=Mode(options.mode),
            economy=options.economy,
            concurrency=options.concurrency,
            max_prompt_tokens=options.max_prompt_tokens,
            max_excluded_chunks=options.max_excluded_chunks,
            retries=RetryConfig(options.tries, options.timeout_seconds),
        ),
        budget,
        Breaker(clock),
        clock,
        random.Random(),  # noqa: S311  jitter
        new_nonce,
        pricing,
    )


def build_budget(options: Judge) -> tuple[Budget, Pricing]:
    """Return what limits the cost of asking the LLM of the options, and what a call costs.

    Raises:
        ConfigError: the file of what was spent, or the price list, cannot be read.
    """
    prices = Prices.load(options.prices)
    limits = BudgetLimits(
        options.budget.usd_per_hour, options.budget.usd_per_day, options.budget.tokens_per_minute
    )
    budget = Budget(limits, options.budget.path, SystemClock())
    if prices.cost(options.model, Usage()) is None:
        _log.warning(
            "the price of the model is not known (judge.prices): its cost is not limited by USD",
            model=options.model,
        )
    return budget, lambda usage: prices.cost(options.model, usage)


def ranker_of(reader: CrossEncoder | None) -> Ranker | None:
    """Return what chooses the excluded chunks that an LLM is shown, by how well they answer."""
    if reader is None:
        return None

    def rank(question: str, texts: Sequence[str]) -> Sequence[float]:
        return [reading.answers or 0.0 for reading in reader.read([(question, t) for t in texts])]

    return rank


def _build_llm_tier(
    llm: LlmOptions,
    detector: LlmDetector,
    reader: CrossEncoder | None,
    redact: Redactor,
    *,
    quote_text: bool,
) -> LlmTier:
    options = llm.options
    asker = build_asker(options, llm.key)
    _log.info(
        "an LLM is asked",
        provider=options.provider,
        model=options.model,
        endpoint=options.endpoint or "the provider's own",
        when=llm.when.value,
        detector=detector.version,
    )
    schedule = ScheduleConfig(
        when=llm.when,
        sample=llm.sample,
        every_runs=options.every_runs,
        every_minutes=options.every_minutes,
        feedback=options.feedback,
    )
    return LlmTier(
        asker,
        options.model,
        detector,
        Schedule(schedule, SystemClock()),
        waiting_runs=options.waiting_runs,
        rank=ranker_of(reader),
        redact=redact,
        quote_text=quote_text,
        patient=llm.patient,
    )


def with_training_checks(options: Analysis) -> Analysis:
    """Return options with the checks on which detectors are trained, unless some are chosen."""
    if options.checks is not None:
        return options
    return options.model_copy(update={"checks": TRAINING_CHECKS})


def reader_of(options: Analysis) -> str:
    """Return the name of the cross-encoder whose readings are measured, empty without one."""
    if options.checks is not None and {"crossencoder", "support"}.isdisjoint(options.checks):
        return ""
    return BUNDLED_READER.name if options.cross_encoder == BUNDLED else options.cross_encoder


def _refuse_other_reader(detector: Ensemble, name: str) -> None:
    trained_on = detector.trained_on.cross_encoder
    if trained_on and trained_on != name:
        raise ConfigError(
            f"analysis.cross_encoder: {detector.version} was trained on what {trained_on} reads, "
            f"not {name}; train one on it (otel-raglog train)"
        )


def _build_encoder(options: Analysis, *, tokens: bool) -> MiniLmEncoder:
    encoder = MiniLmEncoder(
        workers=_threads(options),
        max_cached_vectors=options.encoder_cache_vectors,
        max_cached_token_bytes=(options.encoder_cache_token_mib << 20) if tokens else 0,
    )
    encoder.load()
    return encoder


def build_cross_encoder(options: Analysis) -> CrossEncoder:
    """Return the model of the crossencoder checks, loaded.

    Raises:
        ConfigError: a file of it is damaged, or there is no such model.
    """
    if options.cross_encoder != BUNDLED:
        named = NamedCrossEncoder(options.cross_encoder)
        named.load()
        return named
    reader = BundledReader(workers=_threads(options))
    reader.load()
    return reader


def _threads(options: Analysis) -> int:
    return options.encoder_threads or min(_MOST_THREADS, os.cpu_count() or 1)


def build_markers(conventions: ConventionSet = BUILT_IN) -> Markers:
    """Return what makes a span worth holding, by the conventions that read it."""
    return Markers(
        tuple(prefix.encode() for prefix in marker_prefixes(conventions)),
        tuple(name.encode() for name in conventions.marker_names()),
        tuple(key.encode() for key in conventions.value_keys()),
        tuple(part.encode() for part in conventions.value_parts()),
        tuple(scope.encode() for scope in conventions.marker_scopes()),
        tuple(word.encode() for word in conventions.value_exclusions()),
    )
