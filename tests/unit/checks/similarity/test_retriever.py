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


def test_the_words_tell_when_only_the_first_chunks_were_read(encoder: MiniLmEncoder) -> None:
    """Of a hundred chunks sixty are compared, and no count is of more."""
    check = RetrieverSimilarity(encoder)
    many = by_name(check, make_run(LEAVE, retrieved=("laptops",) * 61))
    few = by_name(check, make_run(LEAVE, retrieved=("laptops",) * 2))
    name = "retriever.irrelevant_share"
    assert many[name].evidence.startswith("60 of the first 60 chunks have little")
    assert few[name].evidence.startswith("2 of 2 chunks have little")
