"""What a reranker excluded, by words."""

from dataclasses import replace

from handbook_runs import chunk, make_run

from otel_raglog.checks.rules.reranker import RerankerRules, excluded_of, with_texts
from otel_raglog.model import Chunk, Measurement, Run, present

QUESTION = "How long is parental leave in Germany?"
ALL = ("vacation", "parental", "laptops")


def found(run: Run) -> dict[str, Measurement]:
    return {m.name.removeprefix("reranker."): m for m in RerankerRules().measure(run)}


def test_minimal_pair_of_excluded_evidence() -> None:
    """Excluding the chunk with the question's words opens a gap; excluding another does not."""
    good = found(make_run(QUESTION, retrieved=ALL, selected=["parental", "vacation"]))
    bad = found(make_run(QUESTION, retrieved=ALL, selected=["vacation", "laptops"]))
    for name in ("coverage_gap", "words_only_in_excluded"):
        low, high = good[name].value, bad[name].value
        assert low is not None
        assert high is not None
        assert low <= 0 < high, name
    assert "chunk 2 (parental)" in bad["coverage_gap"].evidence


def test_passing_on_nothing_is_measured() -> None:
    """Candidates went in, none came out."""
    assert found(make_run(QUESTION, retrieved=ALL, selected=[]))["empty"].value == 1
    assert found(make_run(QUESTION, retrieved=ALL, selected=["vacation"]))["empty"].value == 0


def test_chunks_without_ids_are_the_same_by_their_text() -> None:
    """Some rerankers pass on texts alone."""
    bare = Chunk(chunk("parental").text.replace(" ", "  "))
    assert excluded_of([chunk("parental"), chunk("laptops")], [bare]) == (chunk("laptops"),)


def test_a_selection_by_id_alone_takes_its_text_from_the_candidates() -> None:
    """Rerank spans often hold ids and scores only."""
    run = make_run(QUESTION, retrieved=ALL, selected=["parental"])
    by_id = replace(run.rerankers[0], selected=present((Chunk("", id="parental"),)))
    gap = found(replace(run, rerankers=(by_id,)))["coverage_gap"].value
    assert gap is not None
    assert gap < 0


def test_ids_that_the_reranker_gives_anew_prove_nothing() -> None:
    """With positions for ids, a chunk is kept when its text is."""
    candidates = [replace(chunk(name), id=str(i)) for i, name in enumerate(ALL)]
    kept = [replace(chunk("laptops"), id="0"), replace(chunk("vacation"), id="1")]
    assert excluded_of(candidates, kept) == (candidates[1],)
    twice = [*candidates, replace(chunk("remote"), id="0")]
    assert with_texts([Chunk("", id="0")], twice) == (Chunk("", id="0"),)
