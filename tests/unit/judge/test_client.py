"""Tokens of calls, added up."""

from otel_raglog.judge.client import Usage


def test_usages_add_up_kind_by_kind():
    """Each kind has its own price."""
    assert Usage(1, 2, 3, 4) + Usage(10, 20, 30, 40) == Usage(11, 22, 33, 44)


def test_all_tokens_count_against_a_limit_per_minute():
    """Cached ones too."""
    assert Usage(1, 2, 3, 4).total == 10
