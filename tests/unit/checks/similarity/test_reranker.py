"""Relevance of excluded chunks, on a good and a bad run."""

from handbook_runs import HANDBOOK, by_name, make_run, number

from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.checks.similarity.reranker import RerankerSimilarity

LEAVE = "How long is parental leave in Germany?"
ALL = ("vacation", "parental", "laptops")


def test_excluded_evidence_opens_a_gap(encoder: MiniLmEncoder) -> None:
    """The excluded chunk is named, and quoted apart."""
    check = RerankerSimilarity(encoder)
    good = by_name(check, make_run(LEAVE, retrieved=ALL, selected=["parental", "vacation"]))
    bad = by_name(check, make_run(LEAVE, retrieved=ALL, selected=["vacation", "laptops"]))
    name = "reranker.relevance_gap"
    assert number(good, name) < 0 < 0.2 < number(bad, name)
    assert "chunk 2 (parental)" in bad[name].evidence
    assert HANDBOOK["parental"][:20] not in bad[name].evidence
    assert bad[name].quotes
