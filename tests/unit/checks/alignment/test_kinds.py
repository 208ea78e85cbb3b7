"""Spans of the form that a question asks for."""

import pytest

from otel_raglog.checks.alignment.kinds import has_form, spans_of
from otel_raglog.checks.text.questions import AnswerKind


@pytest.mark.parametrize(
    ("kind", "text", "spans"),
    [
        (AnswerKind.TIME, "It opened in May 1998.", {"5", "1998"}),
        (AnswerKind.TIME, "It opens on Monday.", {"monday"}),
        (AnswerKind.COUNT, "It has 25 rooms and twelve doors.", {"25", "12"}),
        (AnswerKind.PERSON, "The book is by Anna Schmidt.", {"schmidt"}),
        (AnswerKind.PLACE, "He lives in New York.", {"york"}),
        (AnswerKind.REASON, "It closed because of rain.", {"because"}),
        (AnswerKind.REASON, "It closed.", set()),
        (AnswerKind.YES_NO, "Yes, in 1998.", set()),
    ],
)
def test_spans_have_the_asked_form(kind: AnswerKind, text: str, spans: set[str]) -> None:
    """Equal things are written equally."""
    assert spans_of(text, kind) == spans


def test_ways_and_yes_or_no_have_no_form() -> None:
    """Nothing tells them from other text."""
    assert not has_form(AnswerKind.MANNER)
    assert not has_form(AnswerKind.YES_NO)
    assert not has_form(None)
    assert has_form(AnswerKind.THING)
