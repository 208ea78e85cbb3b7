"""Lists every check: the place where a new one is registered."""

from __future__ import annotations

from otel_raglog.checks.alignment.generator import GeneratorAlignment
from otel_raglog.checks.alignment.reranker import RerankerAlignment
from otel_raglog.checks.alignment.retriever import RetrieverAlignment
from otel_raglog.checks.alignment.rewriter import RewriterAlignment
from otel_raglog.checks.check import Check
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

__all__ = ["Check", "build_checks"]


def build_checks(encoder: TokenEncoder | None) -> tuple[Check, ...]:
    """Return all checks, each kind in pipeline order; without an encoder, those of rules alone."""
    rules: tuple[Check, ...] = (
        RewriterRules(),
        EmbedderRules(),
        RetrieverRules(),
        RerankerRules(),
        AssemblyRules(),
        GeneratorRules(),
    )
    if encoder is None:
        return rules
    return (
        *rules,
        RewriterSimilarity(encoder),
        EmbedderSimilarity(encoder),
        RetrieverSimilarity(encoder),
        RerankerSimilarity(encoder),
        AssemblySimilarity(encoder),
        GeneratorSimilarity(encoder),
        # After similarity, which has encoded the same texts already.
        RewriterAlignment(encoder),
        RetrieverAlignment(encoder),
        RerankerAlignment(encoder),
        GeneratorAlignment(encoder),
    )
