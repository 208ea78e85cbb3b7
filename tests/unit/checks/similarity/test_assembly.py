"""Relevance of lost text, on a good and a bad run."""

from handbook_runs import HANDBOOK, by_name, make_run, number

from otel_raglog.checks.similarity.assembly import AssemblySimilarity
from otel_raglog.checks.similarity.encoder import MiniLmEncoder

LEAVE = "How long is parental leave in Germany?"
ALL = ("vacation", "parental", "laptops")


def test_dropped_and_cut_evidence_open_gaps(encoder: MiniLmEncoder) -> None:
    """Dropping another chunk does not."""
    check = AssemblySimilarity(encoder)
    good = by_name(check, make_run(LEAVE, retrieved=ALL, in_prompt=["vacation", "parental"]))
    bad = by_name(check, make_run(LEAVE, retrieved=ALL, in_prompt=["vacation", "laptops"]))
    assert number(good, "assembly.dropped_gap") < 0 < number(bad, "assembly.dropped_gap")
    start = "Anna Schmidt works in Finance and likes her colleagues there a lot. "
    prompt = f"Context:\n{HANDBOOK['expenses'][:70]}\n\n{start}"
    cut = by_name(
        check,
        make_run("Who answers questions in Finance?", retrieved=["expenses"], prompt=prompt),
    )
    assert number(cut, "assembly.cut_gap") > 0


def test_evidence_in_the_middle_of_many_chunks_is_told(encoder: MiniLmEncoder) -> None:
    """Models overlook the middle."""
    check = AssemblySimilarity(encoder)
    middle = ("vacation", "remote", "parental", "laptops", "expenses")
    first = ("parental", "vacation", "remote", "laptops", "expenses")
    name = "assembly.evidence_in_middle"
    assert number(by_name(check, make_run(LEAVE, retrieved=middle)), name) == 1
    assert number(by_name(check, make_run(LEAVE, retrieved=first)), name) == 0
