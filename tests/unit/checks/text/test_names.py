"""Names: runs of capitalised words."""

import pytest

from otel_raglog.checks.text.names import names


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ask Tom Brady of the Bank of England", ["Tom Brady", "Bank of England"]),
        ("According to the context, Anna Schmidt did.", ["Anna Schmidt"]),
        ("Employees in Germany work for NASA.", ["Germany", "NASA"]),
        ("It was given to J. K. Rowling.", ["J. K. Rowling"]),
        ("On Monday in May he left.", []),
        ("who is bob dylan", []),
        ("Who Plays Jack Skellington In That Film Today", []),
        ("From which University did he graduate", []),
        ("", []),
    ],
)
def test_names_of_a_text(text: str, expected: list[str]) -> None:
    """Sentence openings, dates, generic nouns and title case are no names."""
    assert [name.text for name in names(text)] == expected
