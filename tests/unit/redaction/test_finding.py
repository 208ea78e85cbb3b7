"""What looks like personal data, and what only looks a little like it."""

import pytest

from otel_raglog.redaction.finding import FINDERS, find_cards, find_emails, find_ibans, find_phones


def found(finder, text):
    """Return the texts that a finder finds."""
    return [text[start:end] for start, end in finder(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("write to ann.o'neil+x@mail.example.org, please", ["ann.o'neil+x@mail.example.org"]),
        ("<a@b.co>;c@d.de", ["a@b.co", "c@d.de"]),
        ("jürgen@bücher.example", ["jürgen@bücher.example"]),
        ("{'from': 'a@b.co'}", ["a@b.co"]),
        ("ann\uff20mail.example", ["ann\uff20mail.example"]),
        ("?to=ann%40mail.example&x", ["ann%40mail.example"]),
        ("mailto:ann@mail.example.", ["ann@mail.example"]),
        ("@handle, a@localhost, a @ b.co, user@", []),
    ],
)
def test_emails(text, expected):
    """An address has a name, a sign and a domain with a dot."""
    assert found(find_emails, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("call +49 (0)30 901820-14 now", ["+49 (0)30 901820-14"]),
        ("+4930901820", ["+4930901820"]),
        ("0049309018201", ["0049309018201"]),
        ("030 / 901 820 14", ["030 / 901 820 14"]),
        ("(555) 123-4567 or 555.123.4567", ["(555) 123-4567", "555.123.4567"]),
        ("on 01-02-2024 at 05.30", []),
        ("2026-11-29T05:00:00+00:00, +0000 2026", []),
        ("score 0.0123456789, 192.168.100.100, 22:15, 18 euros", []),
        ("version 1.2.3-4567, order 12345678", []),
        ("0.0123 4567 8901 and 0.123 456 7890", []),
        ("raglog 0001 1234", []),
    ],
)
def test_phones(text, expected):
    """A country code, or groups of digits; no dates, addresses, scores or counts."""
    assert found(find_phones, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("4539148803436467", ["4539148803436467"]),
        ("paid with 4539 1488 0343 6467 12/27", ["4539 1488 0343 6467"]),
        ("no 77 4539-1488-0343-6467 124", ["4539-1488-0343-6467"]),
        ("378282246310005 6011111111111117", ["378282246310005", "6011111111111117"]),
        ("x4539148803436467y", ["4539148803436467"]),
        ("4539148803436468", []),
        ("1764565200000000000 1764565200000000016", []),
        ("0.4539148803436467 is a score", ["4539148803436467"]),
        ("1234567890123456", []),
    ],
)
def test_cards(text, expected):
    """By issuer, length and checksum, beside other digits as well; no times of the clock."""
    assert found(find_cards, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("to DE89370400440532013000.", ["DE89370400440532013000"]),
        ("to DE89 3704 0044 0532 0130 00 and more", ["DE89 3704 0044 0532 0130 00"]),
        (
            "DE89370400440532013000 GB82WEST12345698765432",
            ["DE89370400440532013000", "GB82WEST12345698765432"],
        ),
        ("de89370400440532013000", ["de89370400440532013000"]),
        ("DE88370400440532013000", []),
        ("ZZ89370400440532013000", []),
        ("at12 is the shed where we keep the boats", []),
    ],
)
def test_ibans(text, expected):
    """By country, its length and checksum, whatever words follow."""
    assert found(find_ibans, text) == expected


@pytest.mark.parametrize("name", FINDERS)
@pytest.mark.parametrize(
    "piece", ["a", "a@", "a.", "4 ", "45", "+4", "DE89 ", "0 1", "%40", "(", "é"]
)
def test_finders_end_on_any_text(name, piece):
    """Also on a hundred thousand characters of the beginnings of what they look for."""
    assert isinstance(list(FINDERS[name](piece * 100_000)), list)
