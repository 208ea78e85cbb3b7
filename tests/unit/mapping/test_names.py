"""Patterns of names."""

from otel_raglog.mapping.names import NamePattern


def test_a_pattern_is_found_anywhere_in_a_name():
    """In large and small letters."""
    pattern = NamePattern(r"re.?rank")
    assert pattern.search("CohereReRank.run") is not None
    assert pattern.search("CohereReRank.run") is not None
    assert pattern.search("retrieve") is None
