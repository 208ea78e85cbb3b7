"""Names that providers give to models, and what they are versions of."""

import pytest

from otel_raglog.judge.model_names import is_version_of, undated


@pytest.mark.parametrize(
    ("told", "is_one"),
    [
        ("gpt-5", True),
        ("gpt-5-2025-08-07", True),
        ("gpt-5-20250807", True),
        ("gpt-5-mini", False),
        ("gpt-5-mini-2025-08-07", False),
        ("gpt-5-1", False),
        ("gpt-5-202508", False),
        ("gpt-5-2025-08-07-20250807", False),
        ("gpt-5-", False),
        ("gpt-51", False),
        ("gpt", False),
    ],
)
def test_versions_of_a_model_have_a_date(told, is_one):
    """And nothing else after its name."""
    assert is_version_of(told, "gpt-5") is is_one


def test_digits_are_no_date():
    """A later model of a family is another one, and so is another version than the one named."""
    assert not is_version_of("claude-opus-4-8", "claude-opus-4")
    assert not is_version_of("claude-opus-4-20250514", "claude-opus-4-20250601")
    assert not is_version_of("claude-opus-4", "claude-opus-4-20250514")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5"),
        ("gpt-5-2025-08-07", "gpt-5"),
        ("claude-opus-4-8", "claude-opus-4-8"),
        ("qwen3:1.7b", "qwen3:1.7b"),
    ],
)
def test_a_date_at_the_end_is_no_part_of_a_name(name, expected):
    """Only a whole date is one."""
    assert undated(name) == expected
