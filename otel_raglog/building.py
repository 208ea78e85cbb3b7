"""Options and registries to the parts that every command shares: analyser and markers."""

from __future__ import annotations

import os

from otel_raglog.analysis import Analyser
from otel_raglog.checks.registry import build_checks
from otel_raglog.checks.runner import FailureObserver
from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.clock import SystemClock
from otel_raglog.conventions.registry import marker_names, marker_prefixes
from otel_raglog.detect.rules1 import Rules1
from otel_raglog.options import Analysis
from otel_raglog.receive.markers import Markers

_MOST_THREADS = 4


def build_analyser(options: Analysis, *, quote_text: bool, failures: FailureObserver) -> Analyser:
    """Return the local detector. Raises :class:`ConfigError` when the model file is damaged."""
    encoder = _build_encoder(options) if "similarity" in options.checks else None
    groups = tuple(f"{group}." for group in options.checks)
    checks = tuple(check for check in build_checks(encoder) if check.name.startswith(groups))
    return Analyser(checks, Rules1(), SystemClock(), quote_text, failures)


def _build_encoder(options: Analysis) -> MiniLmEncoder:
    threads = options.encoder_threads or min(_MOST_THREADS, os.cpu_count() or 1)
    encoder = MiniLmEncoder(workers=threads, max_cached_vectors=options.encoder_cache_vectors)
    encoder.load()
    return encoder


def build_markers() -> Markers:
    """Return what makes a span worth holding, by the registered conventions."""
    return Markers(
        tuple(prefix.encode() for prefix in marker_prefixes()),
        tuple(name.encode() for name in marker_names()),
    )
