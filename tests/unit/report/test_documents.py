"""What became of each document."""

from handbook_runs import HANDBOOK, make_run

from otel_raglog.checks.text.survival import Fate
from otel_raglog.report.documents import documents_of, way_of


def test_each_documents_way_to_the_answer_is_told() -> None:
    """Retrieved, reranked, in the prompt, used."""
    run = make_run(selected=["remote", "vacation"], in_prompt=["vacation"])
    vacation, remote, expenses = documents_of(run)
    assert (vacation.id, vacation.retrieved, vacation.reranked) == ("vacation", 1, 2)
    assert (vacation.fate, vacation.used) == (Fate.INTACT, True)
    assert (remote.reranked, remote.fate, remote.used) == (1, Fate.DROPPED, False)
    assert (expenses.retrieved, expenses.reranked) == (3, 0)
    assert way_of(vacation).startswith("retrieved 1 → reranked 2 → in the prompt → used (100%")
    assert "excluded → not in the prompt → not used" in way_of(expenses)


def test_without_a_reranker_there_is_no_place_in_its_order() -> None:
    """And a chunk that is cut says how much is left."""
    half = " ".join(HANDBOOK["vacation"].split()[:9])
    run = make_run(prompt=f"Context: {half}\nQuestion: x")
    first = documents_of(run)[0]
    assert first.reranked is None
    assert first.fate is Fate.TRUNCATED
    assert "cut in the prompt" in way_of(first)


def test_of_a_refusal_nothing_was_used_or_not() -> None:
    """It claims nothing."""
    assert {d.used for d in documents_of(make_run(answer="I do not know."))} == {None}


def test_no_text_of_a_document_is_told() -> None:
    """Ids, ranks and shares alone."""
    told = " ".join(way_of(document) for document in documents_of(make_run()))
    assert "employees" not in told
