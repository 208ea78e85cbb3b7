"""Each rule that makes a label of findings."""

import pytest
from judged_records import HELD, OTHER, findings, run_record

from otel_raglog.lab.judges.case import case_of
from otel_raglog.lab.judges.findings import Findings
from otel_raglog.lab.judges.rules import labels_from
from otel_raglog.model import FAULT_TYPES, Stage

CHANGE = {"asked": "Alvar", "became": "Brunhill"}


def label(stage, record=None, **changes):
    found = labels_from(
        Findings.model_validate(findings(**changes)), case_of(record or run_record())
    )
    return found[Stage(stage)]


def test_sound_findings_make_no_fault():
    """Of any stage, with a reason for each."""
    found = labels_from(Findings.model_validate(findings()), case_of(run_record()))
    assert list(found) == list(Stage)
    assert not any(each.faulty for each in found.values())
    assert all(each.why for each in found.values())


@pytest.mark.parametrize(
    ("stage", "changes", "types"),
    [
        ("rewriter", {"rewriter__dropped_constraints": ["1931"]}, ["drops_constraint"]),
        ("rewriter", {"rewriter__added_constraints": ["in Orvik"]}, ["adds_constraint"]),
        ("rewriter", {"rewriter__changed_entities": [CHANGE]}, ["changes_entity"]),
        ("rewriter", {"rewriter__intent_changed": True}, ["changes_intent"]),
        (
            "rewriter",
            {"rewriter__changed_entities": [CHANGE], "rewriter__dropped_constraints": ["1931"]},
            ["changes_entity", "drops_constraint"],
        ),
        ("embedder", {"embedder__altered": [{"how": "missing", "text": "Alvar"}]}, ["altered_input"]),
        ("embedder", {"embedder__altered": [{"how": "cut_off", "text": "x"}]}, ["truncated_input"]),
        ("embedder", {"embedder__altered": [{"how": "misspelled", "text": "x"}]}, ["misspelled_input"]),
        ("embedder", {"embedder__altered": [{"how": "corrupted", "text": "x"}]}, ["corrupted_input"]),
        ("embedder", {"embedder__altered": [{"how": "unrelated_added", "text": "x"}]}, ["altered_input"]),
        ("retriever", {"retriever__needed_chunks": []}, ["no_relevant_chunk"]),
        ("reranker", {"reranker__needed_excluded": ["c2"]}, ["evidence_excluded"]),
        ("assembly", {"assembly__needed_lost": [{"chunk": "c1", "cut": False}]}, ["evidence_dropped"]),
        ("assembly", {"assembly__needed_lost": [{"chunk": "c1", "cut": True}]}, ["evidence_truncated"]),
        ("assembly", {"assembly__blank_slots": 2}, ["blank_context"]),
        ("generator", {"generator__omitted_items": ["who opened it"]}, ["incomplete"]),
        ("generator", {"generator__refuses": True}, ["wrong_refusal"]),
        ("generator", {"generator__prompt_holds_answer": "no"}, ["should_abstain"]),
        ("generator", {"generator__other_question": True}, ["off_question"]),
        ("generator", {"generator__cut_off": True}, ["output_truncated"]),
    ],
)  # fmt: skip
def test_a_finding_makes_its_fault(stage, changes, types):
    """With the fault types of its stage, and what was found in words."""
    found = label(stage, **changes)
    assert (found.faulty, list(found.types)) == (True, types)
    assert found.why
    assert set(types) <= {each.value for each in FAULT_TYPES[Stage(stage)]}


@pytest.mark.parametrize(
    ("kind", "types"),
    [
        ("contradiction", ["unsupported_claim"]),
        ("unsupported_answer", ["unsupported_claim"]),
        ("added_name", ["unsupported_claim"]),
        ("added_number", ["unsupported_claim"]),
        ("added_date", ["unsupported_claim"]),
        ("added_place", ["unsupported_claim"]),
        ("misstated_number", ["misstated_number"]),
        ("harmless", []),
        ("hedged", []),
    ],
)
def test_which_unstated_claims_are_faults(kind, types):
    """Harmless elaboration and hedged remarks are none."""
    found = label("generator", generator__unstated=[{"statement": "It is red.", "kind": kind}])
    assert list(found.types) == types
    assert found.faulty is bool(types)


def test_embedded_passages_are_exempt():
    """HyDE embeds what no question says."""
    altered = [{"how": "unrelated_added", "text": "a whole passage"}]
    found = label("embedder", embedder__altered=altered, embedder__passage_like=True)
    assert found.faulty is False


def test_a_retriever_that_found_what_others_lost_is_sound():
    """Evidence that the reranker excluded or the prompt lost was retrieved."""
    empty = {"retriever__needed_chunks": []}
    assert not label("retriever", reranker__needed_excluded=["c2"], **empty).faulty
    lost = [{"chunk": "c1", "cut": False}]
    assert not label("retriever", assembly__needed_lost=lost, **empty).faulty


def test_findings_about_absent_stages_bear_on_no_label():
    """A judge that fills them in all the same flips nothing."""
    empty = {"retriever__needed_chunks": []}
    record = run_record(reranked=None, passed=None)
    found = label("retriever", record, reranker__needed_excluded=["c9"], **empty)
    assert found.types == ("no_relevant_chunk",)
    lost = [{"chunk": "c9", "cut": False}]
    found = label("retriever", run_record(prompt=None), assembly__needed_lost=lost, **empty)
    assert found.types == ("no_relevant_chunk",)


BY_ID = [{"id": "d1", "text": HELD}, {"id": "d2"}]


def test_what_was_not_recorded_makes_no_fault():
    """Nor its absence: a label that hangs on it is left open."""
    some = run_record(retrieved=BY_ID)
    assert label("retriever", some, retriever__needed_chunks=[]).faulty is None
    assert label("retriever", some).faulty is False
    assert label("reranker", some).faulty is None
    assert label("reranker", some, reranker__needed_excluded=["c2"]).faulty is True
    more = [*BY_ID, {"id": "d3", "text": OTHER}]
    both = run_record(retrieved=more, reranked=more, passed=["d2", "d3"])
    assert label("reranker", both, reranker__needed_excluded=["c1"]).faulty is None
    assert label("assembly", both).faulty is None
    lost = [{"chunk": "c2", "cut": False}]
    assert label("assembly", both, assembly__needed_lost=lost).faulty is True


@pytest.mark.parametrize("chunks", [[], [{"text": OTHER}]])
def test_a_retrieval_that_was_not_recorded_may_have_found_it(chunks):
    """Where another one was."""
    steps = [{"stage": "retriever", "chunks": chunks}, {"stage": "retriever", "query": "more"}]
    record = run_record(retrieved=None, reranked=None, passed=None, steps=steps)
    found = label("retriever", record, retriever__needed_chunks=[])
    assert found.faulty is None


def test_an_empty_result_is_a_fault_of_its_own():
    """Whatever the judge says of it."""
    record = run_record(retrieved=[], reranked=None, passed=None)
    found = label("retriever", record, retriever__needed_chunks=[])
    assert found.types == ("empty_result",)


def test_refusing_is_right_where_the_prompt_holds_no_answer():
    """And where it holds a part of it; what a refusal leaves out is not omitted."""
    for held in ("no", "partly"):
        found = label(
            "generator",
            generator__refuses=True,
            generator__prompt_holds_answer=held,
            generator__omitted_items=["the year"],
        )
        assert found.faulty is False


def test_an_answer_that_is_cut_off_by_its_finish_reason_is_so():
    """The judge need not see it."""
    found = label("generator", run_record(finish_reason="length"))
    assert found.types == ("output_truncated",)


def test_an_empty_answer_is_incomplete():
    """And does not answer without evidence."""
    found = label("generator", run_record(answer=" "), generator__prompt_holds_answer="no")
    assert found.types == ("incomplete",)


def test_chunks_are_named_by_their_ids():
    """In the reasons, which people read beside the record."""
    assert "d2" in label("reranker", reranker__needed_excluded=["c2"]).why
    assert "d1" in label("retriever").why


def test_absent_stages_have_no_label():
    """Even where a judge has findings about them."""
    record = run_record(reranked=None, rewrites=None)
    found = labels_from(Findings.model_validate(findings()), case_of(record))
    assert Stage.RERANKER not in found
    assert Stage.REWRITER not in found
