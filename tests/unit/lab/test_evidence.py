"""Evidence: known answers and documents to which passages hold what is needed."""

import pytest

from otel_raglog.lab.corpus import Document, Question
from otel_raglog.lab.evidence import Evidence, Holds, states

TEXT = "The bridge over the Senn was opened in 1931. Queen Ida cut the ribbon."
DOCUMENTS = {
    "d1": Document("d1", "Alvar Bridge", TEXT),
    "d2": Document("d2", "", "Both towns lie in Orvik county."),
}


def _evidence(text="When was the bridge over the Senn opened?", answers=("1931",), gold=("d1",)):
    return Evidence(Question("q", text, answers, gold), DOCUMENTS)


def test_an_answer_is_looked_for_as_whole_words():
    """Case and marks never matter; a part of a word is none."""
    assert states("It was opened in MAY, 1931!", ["May 1931"])
    assert not states("Room 19312", ["1931"])
    assert not states("anything", ["", "?"])


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("The bridge over the Senn was opened in 1931.", Holds.YES),
        (TEXT, Holds.YES),
        ("Queen Ida cut the ribbon.", Holds.NO),
        ("In 1931 wheat was cheap.", Holds.NO),
        ("Sources say the Senn bridge was opened in 1931 or so.", Holds.MAYBE),
        ("The bridge over the Senn was opened late.", Holds.NO),
    ],
)
def test_a_passage_holds_evidence_when_it_is_of_a_gold_document_and_states_the_answer(text, holds):
    """Another document that states it about the same thing might; one that only states it not."""
    assert _evidence().holds(text) is holds


def test_without_words_to_look_for_the_gold_documents_hold_it():
    """Yes and no stand nowhere; other passages on the point might answer too."""
    evidence = _evidence("Are both towns in Orvik county?", ("yes",), ("d2",))
    assert not evidence.stated
    assert evidence.holds("Both towns lie in Orvik county.") is Holds.YES
    assert evidence.holds("Two towns of Orvik county are large.") is Holds.MAYBE
    assert evidence.holds("Bees feed on heather.") is Holds.NO


def test_a_question_without_gold_documents_cannot_be_answered():
    """What speaks of it all the same stays in doubt."""
    evidence = _evidence("Who painted the bridge over the Senn?", (), ())
    assert not evidence.answerable
    assert evidence.holds("Bees feed on heather.") is Holds.NO
    assert evidence.holds("Anna painted the bridge over the Senn.") is Holds.MAYBE
