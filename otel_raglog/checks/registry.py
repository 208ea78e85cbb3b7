"""Lists every check: the place where a new one is registered."""

from __future__ import annotations

from collections.abc import Iterable

from otel_raglog.checks.alignment.generator import GeneratorAlignment
from otel_raglog.checks.alignment.reranker import RerankerAlignment
from otel_raglog.checks.alignment.retriever import RetrieverAlignment
from otel_raglog.checks.alignment.rewriter import RewriterAlignment
from otel_raglog.checks.check import Check, Declaration, Suspect, Unit
from otel_raglog.checks.crossencoder.assembly import AssemblyReading
from otel_raglog.checks.crossencoder.embedder import EmbedderReading
from otel_raglog.checks.crossencoder.generator import GeneratorReading
from otel_raglog.checks.crossencoder.reader import CrossEncoder
from otel_raglog.checks.crossencoder.reranker import RerankerReading
from otel_raglog.checks.crossencoder.retriever import RetrieverReading
from otel_raglog.checks.crossencoder.rewriter import RewriterReading
from otel_raglog.checks.crossencoder.support import SupportReading
from otel_raglog.checks.judge.registry import JUDGE_CHECKS
from otel_raglog.checks.rules.assembly import AssemblyRules
from otel_raglog.checks.rules.embedder import EmbedderRules
from otel_raglog.checks.rules.generator import GeneratorRules
from otel_raglog.checks.rules.reranker import RerankerRules
from otel_raglog.checks.rules.retriever import RetrieverRules
from otel_raglog.checks.rules.rewriter import RewriterRules
from otel_raglog.checks.similarity.assembly import AssemblySimilarity
from otel_raglog.checks.similarity.embedder import EmbedderSimilarity
from otel_raglog.checks.similarity.encoder import TokenEncoder
from otel_raglog.checks.similarity.generator import GeneratorSimilarity
from otel_raglog.checks.similarity.reranker import RerankerSimilarity
from otel_raglog.checks.similarity.retriever import RetrieverSimilarity
from otel_raglog.checks.similarity.rewriter import RewriterSimilarity

__all__ = [
    "GROUPS",
    "READING_CHECKS",
    "Check",
    "build_checks",
    "groups_with",
    "measurement_names",
    "sizes",
]


GROUPS = ("rules", "similarity", "alignment", "crossencoder", "support")
"""The kinds of local checks: the part of a check's name before the dot."""

_RULES = (
    RewriterRules,
    EmbedderRules,
    RetrieverRules,
    RerankerRules,
    AssemblyRules,
    GeneratorRules,
)
_SIMILARITY = (
    RewriterSimilarity,
    EmbedderSimilarity,
    RetrieverSimilarity,
    RerankerSimilarity,
    AssemblySimilarity,
    GeneratorSimilarity,
)
_ALIGNMENT = (RewriterAlignment, RetrieverAlignment, RerankerAlignment, GeneratorAlignment)
READING_CHECKS = (
    RewriterReading,
    EmbedderReading,
    RetrieverReading,
    RerankerReading,
    AssemblyReading,
    GeneratorReading,
    SupportReading,
)
_EVERY = (*_RULES, *_SIMILARITY, *_ALIGNMENT, *READING_CHECKS)
_DECLARATIONS: tuple[Declaration, ...] = tuple(
    item
    for declarations in (
        *(check.declarations for check in _EVERY),
        *(check.declarations for check in JUDGE_CHECKS),
    )
    for item in declarations
)


def build_checks(
    encoder: TokenEncoder | None, cross_encoder: CrossEncoder | None = None
) -> tuple[Check, ...]:
    """Return all checks, each kind in pipeline order.

    Without an encoder those of similarity and alignment are left out, without a cross-encoder its
    own.
    """
    found: list[Check] = [check() for check in _RULES]
    if encoder is not None:
        found += [check(encoder) for check in _SIMILARITY]
        # After similarity, which has encoded the same texts already.
        found += [check(encoder) for check in _ALIGNMENT]
    if cross_encoder is not None:
        found += [check(cross_encoder) for check in READING_CHECKS]
    return tuple(found)


def measurement_names() -> frozenset[str]:
    """Return the names of all measurements that any check makes, those by an LLM included."""
    return frozenset(item.name for item in _DECLARATIONS)


def sizes() -> frozenset[str]:
    """Return the measurements that count something without bound, of which neither end is suspect.

    How many chunks were retrieved, for example: it describes a pipeline, and no fault.
    """
    return frozenset(
        item.name
        for item in _DECLARATIONS
        if item.suspect is Suspect.NEITHER and item.unit in {Unit.COUNT, Unit.RANK, Unit.RATIO}
    )


def groups_with(measurements: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds of local checks that make any of ``measurements``, in the order of ``GROUPS``."""
    wanted = frozenset(measurements)
    found = {
        check.name.partition(".")[0] for check in _EVERY if not wanted.isdisjoint(check.measures)
    }
    return tuple(group for group in GROUPS if group in found)
