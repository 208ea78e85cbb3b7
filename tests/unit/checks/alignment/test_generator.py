"""The answer against single sentences of the context: a good answer, and what goes wrong with it."""

from collections.abc import Sequence

import pytest
from handbook_runs import ANSWER, FakeEncoder, by_name, make_run, number

from otel_raglog.checks.alignment.generator import GeneratorAlignment
from otel_raglog.checks.alignment.tokens import Matrix, Sentences

CHECK = GeneratorAlignment(FakeEncoder())
GOOD = by_name(CHECK, make_run(answer=ANSWER))


@pytest.mark.parametrize(
    "name",
    [
        "best_sentence_coverage",
        "window_coverage",
        "rare_words_coverage",
        "verbatim_pairs",
        "token_best_mean",
        "token_window_least",
        "own_token_best_mean",
        "joint_words",
        "joint_tokens",
        "statement_token_best_mean",
    ],
)
def test_a_supported_answer_is_held_by_one_place(name: str) -> None:
    """An invented one is not, whatever it is measured by."""
    invented = make_run(answer="Directors receive 40 bonus vouchers each quarter.")
    bad = by_name(CHECK, invented)
    assert number(GOOD, f"generator.{name}") > number(bad, f"generator.{name}") + 0.2


def test_words_from_two_chunks_are_no_support() -> None:
    """All words are in the context, but no place says so."""
    mixed = "Full-time employees get 16 weeks of paid vacation in Germany."
    run = make_run(answer=mixed, retrieved=["vacation", "parental"])
    found = by_name(CHECK, run)
    assert number(found, "generator.window_coverage") < number(GOOD, "generator.window_coverage")
    assert number(found, "generator.numbers_missing_near") == 1
    assert '"16"' in found["generator.numbers_missing_near"].evidence


def test_a_name_from_elsewhere_is_missing_near() -> None:
    """It stands in the context, not beside the answer's other words."""
    found = by_name(CHECK, make_run(answer="Remote work is approved by Anna Schmidt."))
    assert number(found, "generator.names_missing_near") == 1


def test_the_worst_sentence_of_an_answer_counts() -> None:
    """One invented sentence among good ones."""
    found = by_name(CHECK, make_run(answer=f"{ANSWER} Directors obtain golden parachutes."))
    name = "generator.worst_sentence_tokens"
    assert number(found, name) < 0.5 < number(GOOD, name)
    assert "sentence 2" in found[name].evidence


def test_an_answer_from_a_place_about_something_else_is_far_from_the_question() -> None:
    """The best fitting sentence holds another number than the answer."""
    question = "How many vacation days do full-time employees receive?"
    right = by_name(CHECK, make_run(question, "They receive 25."))
    wrong = by_name(CHECK, make_run(question, "They receive 30."))
    assert number(right, "generator.asked_kind_gap") < 0 < number(wrong, "generator.asked_kind_gap")
    assert number(right, "generator.answer_place_gap") == 0
    assert number(wrong, "generator.answer_place_gap") > 0.1
    assert number(right, "generator.own_words_at_best_fit") == 1
    assert number(wrong, "generator.own_words_at_best_fit") == 0


def test_an_answer_that_stands_nowhere_has_no_place() -> None:
    """Its gap is the whole fit of the best sentence."""
    found = by_name(CHECK, make_run(answer="Full-time employees get 777."))
    assert number(found, "generator.answer_place_fit") == 0
    assert number(found, "generator.answer_place_rank") == 1
    assert number(found, "generator.answer_place_gap") > 0.5


def test_refusals_claim_nothing() -> None:
    """They are not measured, nor is a run without context."""
    for run in (
        make_run(answer="I could not find this in the context."),
        make_run(retrieved=[], prompt="Context:\n\nQuestion: x"),
    ):
        found = by_name(CHECK, run)
        assert all(item.value is None and item.reason for item in found.values())


def test_lead_ins_and_citations_are_no_words_of_the_answer() -> None:
    """They are in no document."""
    found = by_name(CHECK, make_run(answer=f"According to the context, {ANSWER[:-1]} [1]."))
    for name in ("best_sentence_coverage", "token_best_mean"):
        same = pytest.approx(number(GOOD, f"generator.{name}"), abs=0.01)
        assert number(found, f"generator.{name}") == same


def test_of_a_long_question_three_hundred_words_are_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In each sentence of the context."""
    most = 0
    real = Sentences.held

    def counting(self: Sentences, words: Sequence[str]) -> Matrix:
        nonlocal most
        most = max(most, len(words))
        return real(self, words)

    monkeypatch.setattr(Sentences, "held", counting)
    question = " ".join(f"item{number}" for number in range(1_000))
    assert number(by_name(CHECK, make_run(question, ANSWER)), "generator.joint_words") == 0
    assert 0 < most <= 300
