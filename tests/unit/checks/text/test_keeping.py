"""What is kept of texts seen last."""

from otel_raglog.checks.text.keeping import kept


def test_what_was_made_of_a_short_text_is_kept_and_of_a_long_one_made_anew() -> None:
    """Of the texts seen last alone, so that memory stays bounded."""
    made: list[str] = []

    @kept(texts=2, longest=3)
    def shout(text: str) -> str:
        """Shout."""
        made.append(text)
        return text.upper()

    assert [shout(text) for text in ("a", "a", "long", "long")] == ["A", "A", "LONG", "LONG"]
    assert made == ["a", "long", "long"]
    for text in ("b", "c", "a"):
        shout(text)
    assert made == ["a", "long", "long", "b", "c", "a"]
    assert shout.__doc__ == "Shout."
