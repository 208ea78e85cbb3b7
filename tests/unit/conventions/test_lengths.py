"""When equal lengths tell that a limit cut values."""

from otel_raglog.conventions.lengths import keys_cut_at_limit


def test_two_values_at_a_round_length():
    """Two different longest values of a round length were cut."""
    assert keys_cut_at_limit({"a": "x" * 1000, "b": "y" * 1000, "c": "z"}) == {"a", "b"}


def test_chance():
    """One such value, equal ones, or others that are longer are chance."""
    assert not keys_cut_at_limit({"a": "x" * 1000, "c": "z"})
    assert not keys_cut_at_limit({"a": "x" * 1000, "b": "x" * 1000})
    assert not keys_cut_at_limit({"a": "x" * 1000, "b": "y" * 1000, "c": "z" * 1001})
    assert not keys_cut_at_limit({"a": "x" * 999, "b": "y" * 999})
