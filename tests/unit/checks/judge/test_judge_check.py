"""How the numbers of an LLM become measurements."""

from handbook_runs import make_run

from otel_raglog.checks.check import Declaration, Suspect, Unit
from otel_raglog.checks.judge.judge_check import (
    Claim,
    confidence,
    declarations_of,
    measurements_of,
    questions_of,
)
from otel_raglog.model import Stage

LEAVES_OUT = confidence(
    "generator.graded_incomplete", "the answer leaves out what was asked", "Is something missing?"
)


def test_a_likely_fault_is_told_in_words() -> None:
    """From one half on a confidence is evidence."""
    assert LEAVES_OUT.evidence(0.78) == (
        "a model judged it 78% likely that the answer leaves out what was asked"
    )
    assert LEAVES_OUT.evidence(0.5)
    assert not LEAVES_OUT.evidence(0.49)


def test_one_faulty_statement_is_evidence_and_none_is_not() -> None:
    """A count speaks from one on."""
    declaration = Declaration("generator.x", Unit.COUNT, Suspect.HIGH, "")
    count = Claim(declaration, "a model counted {count}", least=0.0)
    assert count.evidence(1.0) == "a model counted 1 statement"
    assert count.evidence(2.0) == "a model counted 2 statements"
    assert not count.evidence(0.0)


def test_a_number_of_which_no_high_value_is_suspect_is_no_evidence() -> None:
    """What is well is not told as a fault."""
    for suspect in (Suspect.LOW, Suspect.NEITHER):
        declaration = Declaration("retriever.x", Unit.SHARE, suspect, "")
        assert not Claim(declaration, "{share} found").evidence(1.0)


def test_only_claims_with_a_question_are_asked_with_yes_or_no() -> None:
    """A question names its measurement and the stage that must be there."""
    claims = (LEAVES_OUT, Claim(Declaration("retriever.x", Unit.SHARE, Suspect.LOW, "")))
    (question,) = questions_of(claims)
    assert (question.measurement, question.text) == (
        "generator.graded_incomplete",
        "Is something missing?",
    )
    assert question.stage is Stage.GENERATOR
    assert len(declarations_of(claims)) == 2


def test_what_is_said_of_a_stage_is_said_of_each_of_its_steps() -> None:
    """Rewriter, embedder and reranker are judged step by step, the others as a whole."""
    run = make_run(rewrites=["a"], selected=["vacation"])
    values = {"rewriter.graded_drops_constraint": 0.1, "retriever.graded_no_chunk_answers": 0.2}
    assert [(m.name, m.step) for m in measurements_of(values, run)] == [
        ("rewriter.graded_drops_constraint", 0),
        ("retriever.graded_no_chunk_answers", None),
    ]


def test_a_stage_that_the_run_lacks_is_not_measured() -> None:
    """An absent stage has no measurements."""
    assert not [*measurements_of({"rewriter.graded_drops_constraint": 0.9}, make_run())]


def test_texts_by_the_llm_go_with_evidence_and_stay_out_of_it() -> None:
    """They are shown only where quotes are."""
    quotes = {"generator.graded_incomplete": ("the year",)}
    high, low = (
        next(measurements_of({"generator.graded_incomplete": v}, make_run(), [LEAVES_OUT], quotes))
        for v in (0.9, 0.1)
    )
    assert high.quotes == ("the year",)
    assert "year" not in high.evidence
    assert low.quotes == ()
