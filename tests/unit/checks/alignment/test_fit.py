"""How sentences fit a question."""

from handbook_runs import FakeEncoder

from otel_raglog.checks.alignment.fit import asked_of, fit_of
from otel_raglog.checks.alignment.tokens import sentences_of

PIECES = ("Dogs pay 5 euros on the ferry. Bikes are free.", "The museum is closed.")


def test_the_sentence_with_the_questions_words_fits_best() -> None:
    """In mean, least and weight."""
    found = sentences_of(PIECES, FakeEncoder())
    assert found is not None
    fit = fit_of(("How much do dogs pay on the ferry?",), found, FakeEncoder())
    assert fit.best == 0
    assert fit.top[0] == 0
    assert fit.mean[0] > 0.9 > 0.5 > fit.mean[2]
    assert fit.least[0] > 0.9 > 0.5 > fit.least[2]
    assert fit.weighted[0] > 0.9


def test_of_several_forms_the_best_fitting_one_counts() -> None:
    """A follow-up fits together with the turn before it."""
    found = sentences_of(PIECES, FakeEncoder())
    assert found is not None
    forms = ("And elephants?", "Is the museum closed?")
    assert fit_of(forms, found, FakeEncoder()).question == "Is the museum closed?"


def test_a_question_without_words_fits_nothing() -> None:
    """And harms nothing."""
    found = sentences_of(PIECES, FakeEncoder())
    assert found is not None
    assert fit_of(("??",), found, FakeEncoder()).mean.tolist() == [0.0, 0.0, 0.0]


def test_sentences_that_hold_the_asked_kind() -> None:
    """What the question itself says is none."""
    found = sentences_of(PIECES, FakeEncoder())
    assert found is not None
    asked = asked_of("How many euros do dogs pay?", found)
    assert asked is not None
    assert asked.holding == (0,)
    same = asked_of("How many dogs pay 5 euros?", found)
    assert same is not None
    assert same.holding == ()
    assert asked_of("How do dogs pay?", found) is None
