"""Cohere's rerank as OpenLLMetry writes it: as messages."""

from otel_raglog.conventions.flattened import ListAttribute
from otel_raglog.conventions.traceloop_rerank import reranked_by_message
from otel_raglog.model import FieldStatus, ScoreKind


def listed(*messages):
    return ListAttribute("x", tuple({"role": role, "content": text} for role, text in messages))


GIVEN = listed(("system", "Cars wait."), ("system", "Dogs stay."), ("user", "dogs?"))


def test_documents_are_system_messages_and_the_query_is_the_users():
    """Results name a place and a score; the text is that of the document there."""
    found = reranked_by_message(GIVEN, listed(("assistant", "Doc 1, Score: 0.9")))
    assert found.query == "dogs?"
    assert [chunk.text for chunk in found.given] == ["Cars wait.", "Dogs stay."]
    (kept,) = found.selected
    assert (kept.text, kept.score, kept.score_kind) == ("Dogs stay.", 0.9, ScoreKind.SIMILARITY)


def test_texts_in_results_are_taken():
    """They were asked for; a place that is not there has no text."""
    found = reranked_by_message(
        GIVEN,
        listed(("assistant", "Doc 0, Score: 1e-3\nCars wait\nhere."), ("a", "Doc 7, Score: -")),
    )
    first, second = found.selected
    assert (first.text, first.score) == ("Cars wait\nhere.", 0.001)
    assert (second.text_status, second.score) == (FieldStatus.NOT_CAPTURED, None)


def test_documents_with_fields():
    """Documents may be given as objects."""
    given = listed(("system", "{'id': 'a', 'text': 'Dogs stay.'}"), ("user", "dogs?"))
    found = reranked_by_message(given, None)
    assert [(chunk.id, chunk.text) for chunk in found.given] == [("a", "Dogs stay.")]
    assert found.selected == ()


def test_other_messages_are_no_reranking():
    """A conversation, and a list with holes."""
    talk = listed(("system", "s"), ("assistant", "a"), ("user", "q"))
    holes = ListAttribute("x", GIVEN.items, gaps=True)
    for prompt in (None, listed(), listed(("system", "s")), talk, holes):
        assert reranked_by_message(prompt, None) is None
