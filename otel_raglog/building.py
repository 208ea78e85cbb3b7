"""Options and registries to the parts that every command shares: analyser and markers."""

from __future__ import annotations

import os

import structlog

from otel_raglog.analysis import Analyser
from otel_raglog.checks.crossencoder.reader import (
    BUNDLED_READER,
    BundledReader,
    CrossEncoder,
    NamedCrossEncoder,
)
from otel_raglog.checks.registry import build_checks, groups_with
from otel_raglog.checks.runner import FailureObserver
from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.clock import SystemClock
from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.custom import Custom
from otel_raglog.conventions.registry import BUILT_IN, marker_prefixes
from otel_raglog.detect.choosing import build_detector
from otel_raglog.detect.detector import Detector
from otel_raglog.detect.ensemble import Ensemble
from otel_raglog.detect.policies import Policy
from otel_raglog.errors import ConfigError
from otel_raglog.options import BUNDLED, Analysis, Conventions
from otel_raglog.receive.markers import Markers

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
) -> Analyser:
    """Return the local detector: that of the options, or ``detector``.

    Raises:
        ConfigError: the model file is damaged, or there is no such detector.
    """
    judge = detector or build_detector(options.detector, Policy(options.policy), options.thresholds)
    groups = groups_with(judge.reads) if options.checks is None else options.checks
    reads = not {"crossencoder", "support"}.isdisjoint(groups)
    if isinstance(judge, Ensemble) and reads:
        _refuse_other_reader(judge, reader_of(options))
    encodes = not {"similarity", "alignment"}.isdisjoint(groups)
    encoder = _build_encoder(options, tokens="alignment" in groups) if encodes else None
    reader = _build_cross_encoder(options) if reads else None
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
    return Analyser(checks, judge, SystemClock(), quote_text, failures, conventions, without)


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


def _build_cross_encoder(options: Analysis) -> CrossEncoder:
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
