"""Texts that were written as JSON, and JSON that was cut."""

import pytest

from otel_raglog.conventions.quoted import beginning_of_text, unquoted


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ('"a \\"b\\""', 'a "b"'),
        ('""', ""),
        ('"\\ud800"', "?"),
        ("a", None),
        ('"', None),
        ('"a"b"', None),
    ],
)
def test_texts_in_quotes(text, plain):
    """A text alone is JSON, too."""
    assert unquoted(text) == plain


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"inputs": "what is", "tags": [', ("what is", True)),
        ('{"inputs": "what', ("what", False)),
        ('{"inputs": {"question": "what', ("what", False)),
        ('"an ans', ("an ans", False)),
        ('{"inputs": [1, 2', ("", False)),
        ('{"inputs": "', ("", False)),
        ('{"inputs": "a\\', ("a", False)),
        ("", ("", False)),
    ],
)
def test_the_text_at_the_beginning_of_cut_json(text, found):
    """Whole if the cut came after it."""
    assert beginning_of_text(text) == found


def test_a_cut_state_is_no_answer():
    """A cut output that begins with what was asked holds no answer before the cut."""
    state = '{"outputs": {"question": "When does it leave?", "documents": [{'
    assert beginning_of_text(state) == ("When does it leave?", True)
    assert beginning_of_text(state, spoken=False) == ("", False)
    assert beginning_of_text('{"outputs": "At 22', spoken=False) == ("At 22", False)
