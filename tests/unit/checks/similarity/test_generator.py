"""The answer against context and question, on a good and a bad run."""

from handbook_runs import ANSWER, by_name, make_run, number

from otel_raglog.checks.similarity.encoder import MiniLmEncoder
from otel_raglog.checks.similarity.generator import GeneratorSimilarity


def test_refusals_and_answers_are_set_against_the_evidence(encoder: MiniLmEncoder) -> None:
    """A refusal in front of evidence is suspicious, an answer in front of none too."""
    check = GeneratorSimilarity(encoder)
    wrong = by_name(check, make_run(answer="I could not find this in the context."))
    right = by_name(check, make_run(answer="I could not find this.", in_prompt=["laptops"]))
    name = "generator.refusal_despite_evidence"
    assert number(wrong, name) > 0.6 > 0.4 > number(right, name)
    due = by_name(check, make_run(answer=ANSWER))
    undue = by_name(check, make_run(answer=ANSWER, in_prompt=["laptops"]))
    name = "generator.answer_without_evidence"
    assert number(due, name) < 0.4 < 0.6 < number(undue, name)


def test_an_answer_about_another_matter_is_far_from_the_context(encoder: MiniLmEncoder) -> None:
    """Sentence by sentence."""
    check = GeneratorSimilarity(encoder)
    good = by_name(check, make_run(answer=ANSWER))
    bad = by_name(check, make_run(answer="The moon orbits the earth in about a month."))
    name = "generator.weakest_sentence"
    assert number(good, name) > 0.6 > 0.3 > number(bad, name)


def test_an_answer_to_another_question_drifts(encoder: MiniLmEncoder) -> None:
    """Though the prompt supports it; short answers are not compared."""
    check = GeneratorSimilarity(encoder)
    name = "generator.answer_drift"
    good = by_name(check, make_run(answer=ANSWER))
    bad = by_name(check, make_run(answer="Managers approve requests in the HR portal."))
    assert number(good, name) < 0.5 < 0.7 < number(bad, name)
    assert by_name(check, make_run(answer="25 days"))[name].value is None


def test_a_follow_up_asks_about_what_it_newly_names(encoder: MiniLmEncoder) -> None:
    """What a chunk says of the former is no reason to blame a refusal."""
    check = GeneratorSimilarity(encoder)
    history = (("user", "How much vacation do employees get?"), ("assistant", ANSWER))
    name = "generator.refusal_despite_evidence"
    refusal = "The context does not say."
    other = by_name(check, make_run("And at Tarrow?", refusal, history=history))
    same = by_name(check, make_run("And how much is it in a year?", refusal, history=history))
    assert number(other, name) == 0.0
    assert number(same, name) > 0.5
