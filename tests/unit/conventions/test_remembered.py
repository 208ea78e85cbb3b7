"""What was found for a name is remembered, within bounds."""

from otel_raglog.conventions.remembered import Remembered


def test_a_name_is_looked_at_once():
    """The second time the answer is the first one's, ``None`` too."""
    asked = []
    known = Remembered(asked.append)
    assert (known["a"], known["a"], known["b"]) == (None, None, None)
    assert asked == ["a", "b"]


def test_names_without_end_do_not_fill_the_memory():
    """So many are held, and each is still answered."""
    known = Remembered(len)
    assert all(known[str(number)] == len(str(number)) for number in range(20_000))
    assert len(known) <= 8_192


def test_a_long_name_is_not_held():
    """It is a text rather than a name, and found anew."""
    asked = []
    known = Remembered(asked.append)
    for _ in range(2):
        assert known["x" * 10_000] is None
    assert len(asked) == 2
    assert not known
