"""What a judge is shown of a run, and which findings can be."""

import pytest
from judged_records import HELD, QUESTION, findings, run_record

from otel_raglog.errors import BadInput
from otel_raglog.judge.redacting import Redactor
from otel_raglog.lab.judges.case import case_of, parts_of
from otel_raglog.lab.judges.findings import Findings
from otel_raglog.model import Stage


def shown(record):
    return dict(parts_of(case_of(record)))


def test_the_whole_run_is_shown_with_its_references():
    """Chunks by alias, so that no id can be mistaken or mislead."""
    parts = shown(run_record())
    assert parts["question"] == QUESTION
    assert parts["reference_answers"] == "- 1931"
    assert parts["evidence"] == "retrieved chunks that are known to hold evidence: c1"
    assert parts["stages"] == "rewriter, embedder, retriever, reranker, assembly, generator"
    assert parts["rewrites"] == "- opening year of the Alvar Bridge"
    assert parts["embedded_texts"] == "- opening year of the Alvar Bridge"
    assert parts["retrieved_chunks"].startswith(f"[c1]\n{HELD}\n\n[c2]\n")
    assert (parts["passed_by_the_reranker"], parts["excluded_by_the_reranker"]) == ("c1", "c2")
    assert HELD in parts["prompt"]
    assert parts["answer"] == "It was opened in 1931."


def test_labels_and_injections_are_not_shown():
    """Whatever is known of faults stays with the record."""
    hidden = {"labels": {"retriever": {"faulty": True}}, "injected": {"stage": "retriever", "type": "wrong_index"}}  # fmt: skip
    assert shown(run_record(**hidden)) == shown(run_record())


def test_what_is_known_of_evidence_is_said():
    """Pieces that were not retrieved are counted, texts shown, nothing known is said."""
    reference = {"evidence_ids": ["d1", "d9"], "evidence_texts": ["opened in 1931"]}
    parts = shown(run_record(reference=reference))
    assert "not retrieved: 1" in parts["evidence"]
    assert "known evidence: opened in 1931" in parts["evidence"]
    bare = shown(run_record(reference=None))
    assert (bare["reference_answers"], bare["evidence"]) == ("(unknown)", "(unknown)")


def test_absent_stages_are_marked():
    """And what they would have made is not asked for."""
    record = run_record(rewrites=None, embedder_input=None, reranked=None, passed=None)
    parts = shown(record)
    assert parts["stages"] == "retriever, assembly, generator"
    assert parts["rewrites"] == parts["embedded_texts"] == "(this pipeline has no such stage)"
    assert parts["selected_for_the_prompt"] == "c1, c2"
    assert case_of(record).excluded == ()


def test_conversations_and_broken_off_answers_are_shown():
    """With the question by itself where the record has it."""
    record = run_record(
        history=[["user", "Tell me about bridges."]],
        finish_reason="length",
        reference={"standalone": "When was it?"},
    )
    parts = shown(record)
    assert parts["conversation_before"] == "user: Tell me about bridges."
    assert parts["question_by_itself"] == "When was it?"
    assert parts["finish_reason"] == "length"
    assert shown(run_record(answer=""))["answer"] == "(empty)"


def test_chunks_without_ids_are_told_apart_by_their_texts():
    """An alias stands for an id that there is none of."""
    texts = [{"text": "one"}, {"text": "two"}]
    case = case_of(run_record(retrieved=texts, reranked=texts[1:], passed=None))
    assert (case.selected, case.excluded) == (("c2",), ("c1",))
    assert case.ids_of(["c1"]) == ("c1",)
    assert case_of(run_record()).ids_of(["c2"]) == ("d2",)


def test_findings_that_can_be_are_taken():
    """Those about stages that the run lacks, or that have no label, are not used."""
    case_of(run_record()).check(Findings.model_validate(findings()))
    case = case_of(run_record(reranked=None, embedder_input="[redacted]"))
    odd = Findings.model_validate(findings(reranker__needed_excluded=["c9"]))
    case.check(odd)
    used = case.about_its_stages(odd)
    assert (used.reranker, used.embedder) == (None, None)
    assert used.retriever == odd.retriever


def test_long_texts_are_shown_whole():
    """What a cut takes away would look like a fault."""
    long = "begin " + "word " * 10_000 + "MIDDLE " + "word " * 10_000
    parts = shown(run_record(question=long, rewrites=[long]))
    assert "MIDDLE" in parts["question"]
    assert "MIDDLE" in parts["rewrites"]


def test_what_is_redacted_is_shown_nowhere():
    """Neither of the run nor of its references; aliases still stand for the same chunks."""
    reference = {"answers": ["SECRET"], "evidence_texts": ["SECRET"], "standalone": "SECRET?",
                 "evidence_ids": ["d1"]}  # fmt: skip
    record = run_record(
        question="What is SECRET?", rewrites=["SECRET"], embedder_input="SECRET", prompt="a SECRET",
        answer="It is SECRET.", history=[["user", "SECRET"]], reference=reference,
        retrieved=[{"id": "d1", "text": "a SECRET", "title": "SECRET"}, {"id": "d2", "text": "b"}],
    )  # fmt: skip
    case = case_of(record, Redactor(["SECRET"]))
    parts = dict(parts_of(case))
    assert "SECRET" not in str(parts)
    assert parts["question"] == "What is [redacted]?"
    assert "evidence: c1" in parts["evidence"]
    assert set(case.unlabelled) == {Stage.REWRITER, Stage.EMBEDDER}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"generator": None}, "generator is null, but the run has this stage"),
        ({"retriever__needed_chunks": ["c7", "d1"]}, "retriever.needed_chunks has 2 names"),
        ({"reranker__needed_excluded": ["c1"]}, "none of: c2"),
        ({"assembly__needed_lost": [{"chunk": "c2", "cut": True}]}, "none of: c1"),
    ],
)
def test_findings_that_cannot_be_are_refused(changes, told):
    """With the field, and the names that there are, but none that the judge made up."""
    with pytest.raises(BadInput, match=told) as error:
        case_of(run_record()).check(Findings.model_validate(findings(**changes)))
    assert "c7" not in str(error.value)


def test_malformed_records_are_named():
    """With their id."""
    with pytest.raises(BadInput, match="'r1': reference"):
        case_of(run_record(reference="x"))


def test_stages_are_those_with_steps():
    """In the order of the pipeline."""
    assert case_of(run_record()).stages == tuple(Stage)
