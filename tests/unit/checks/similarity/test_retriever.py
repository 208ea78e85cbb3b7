"""Relevance of retrieved chunks, on a good and a bad run."""

from handbook_runs import by_name, make_run, number

from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.checks.similarity.retriever import RetrieverSimilarity

LEAVE = "How long is parental leave in Germany?"


def test_retrieval_without_evidence_has_low_relevance(encoder: MiniLmEncoder) -> None:
    """And the evidence's rank and gap are told when it is there."""
    check = RetrieverSimilarity(encoder)
    good = by_name(check, make_run(LEAVE, retrieved=("vacation", "parental", "laptops")))
    bad = by_name(check, make_run(LEAVE, retrieved=("vacation", "laptops", "remote")))
    name = "retriever.best_relevance"
    assert number(good, name) > 0.6 > 0.4 > number(bad, name)
    assert number(good, "retriever.best_rank") == 2
    assert number(good, "retriever.top_gap") > 0.2
    assert number(bad, "retriever.irrelevant_share") > number(good, "retriever.irrelevant_share")
