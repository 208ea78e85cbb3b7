"""Which values hide what was there."""

import pytest

from otel_raglog.conventions.masking import is_redacted


@pytest.mark.parametrize(
    "text",
    [
        "__REDACTED__",
        "[REDACTED]",
        "<REDACTED by policy>",
        "[[masked: pii]]",
        "<fully masked due to failed mask function>",
        "***",
        " redacted ",
        '"(Hidden)"',
        "'{filtered}'",
        "Redacted",
    ],
)
def test_placeholders(text):
    """A whole value that is a placeholder is redacted."""
    assert is_redacted(text)


@pytest.mark.parametrize(
    "text",
    ["", "The file was [REDACTED] last year.", "[1] see the handbook", "**bold**", "<b>x</b>"],
)
def test_texts(text):
    """A text with a placeholder in it, or with brackets, is still a text."""
    assert not is_redacted(text)
