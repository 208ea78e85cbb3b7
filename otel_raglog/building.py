"""Options and registries to the parts that every command shares: analyser and markers."""

from __future__ import annotations

import os

from otel_raglog.analysis import Analyser
from otel_raglog.checks.registry import build_checks
from otel_raglog.checks.runner import FailureObserver
from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.clock import SystemClock
from otel_raglog.conventions.choosing import ConventionSet
from otel_raglog.conventions.custom import Custom
from otel_raglog.conventions.registry import BUILT_IN, marker_prefixes
from otel_raglog.detect.choosing import build_detector
from otel_raglog.detect.detector import Detector
from otel_raglog.detect.policies import Policy
from otel_raglog.options import Analysis, Conventions
from otel_raglog.receive.markers import Markers

_MOST_THREADS = 4


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
    wanted = {"similarity", "alignment"} & set(options.checks)
    encoder = _build_encoder(options, tokens="alignment" in wanted) if wanted else None
    groups = tuple(f"{group}." for group in options.checks)
    checks = tuple(check for check in build_checks(encoder) if check.name.startswith(groups))
    return Analyser(checks, judge, SystemClock(), quote_text, failures, conventions)


def _build_encoder(options: Analysis, *, tokens: bool) -> MiniLmEncoder:
    threads = options.encoder_threads or min(_MOST_THREADS, os.cpu_count() or 1)
    encoder = MiniLmEncoder(
        workers=threads,
        max_cached_vectors=options.encoder_cache_vectors,
        max_cached_token_bytes=(options.encoder_cache_token_mib << 20) if tokens else 0,
    )
    encoder.load()
    return encoder


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
