"""What was retrieved against the question, on a good and a bad run."""

from handbook_runs import FakeEncoder, by_name, make_run, number

from otel_raglog.checks.alignment.retriever import RetrieverAlignment

CHECK = RetrieverAlignment(FakeEncoder())


def test_a_sentence_fits_the_question_when_the_evidence_is_there() -> None:
    """By every token; without it hardly any."""
    good = by_name(CHECK, make_run())
    bad = by_name(CHECK, make_run(retrieved=["laptops", "expenses"]))
    for name in ("token_fit", "token_fit_least", "token_fit_weighted", "sentence_similarity"):
        assert number(good, f"retriever.{name}") > number(bad, f"retriever.{name}") + 0.1
    assert "chunk 1 (vacation)" in good["retriever.token_fit"].evidence


def test_what_is_asked_for_must_stand_near() -> None:
    """A number, when one was asked for."""
    asked = "How many managers approve requests?"
    good = by_name(CHECK, make_run("How many days of paid vacation?"))
    bad = by_name(CHECK, make_run(asked, retrieved=["remote"], prompt="x"))
    assert number(good, "retriever.asked_kind_near") == 1
    assert number(bad, "retriever.asked_kind_fit") > 0  # three days a week
    none = by_name(CHECK, make_run("When do managers approve?", retrieved=["remote"]))
    assert number(none, "retriever.asked_kind_gap") >= 0
    assert by_name(CHECK, make_run("Is it so?"))["retriever.asked_kind_fit"].value is None
