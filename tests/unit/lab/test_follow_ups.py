"""Follow-ups: a question to the second turn of a conversation."""

from random import Random

from otel_raglog.lab.corpus import Document, Question
from otel_raglog.lab.follow_ups import as_asked, follow_up

DOCUMENTS = {
    "d": Document("d", "Alvar Bridge", "The Alvar Bridge crosses the Senn. It was opened in 1931.")
}


def _follow_up(text, gold=("d",)):
    return follow_up(Question("q", text, ("1931",), gold), DOCUMENTS, Random(1))


def test_the_entity_moves_into_the_history():
    """The question says *it*; the turn before names what is meant, the reply gives nothing away."""
    asked = _follow_up("when was the alvar bridge opened")
    assert asked.text == "when was it opened"
    assert asked.standalone == "when was the alvar bridge opened"
    (_, opener), (_, reply) = asked.history
    assert "Alvar Bridge" in opener
    assert "1931" not in reply


def test_a_possessive_becomes_its():
    """As people write it."""
    assert _follow_up("What is Alvar Bridge's year of opening?").text.startswith("What is its year")


def test_a_question_that_names_nothing_has_no_follow_up():
    """Nor has one of which nothing would be left."""
    assert _follow_up("when was it opened") is None
    assert _follow_up("what is the Alvar Bridge") is None


def test_a_first_turn_is_standalone():
    """It has no history."""
    question = Question("q", "Who?", (), ())
    assert as_asked(question).history == ()
    assert as_asked(question).text == as_asked(question).standalone == "Who?"
