"""What can be seen of a text."""

import pytest

from otel_raglog.checks.judge.visible import Visible, visible


@pytest.mark.parametrize(
    "text",
    [
        "plain text\nwith\ttabs",
        "naïve café – “quoted” … 25 %",
        "שלום עולם, مرحبا بالعالم",
        "می\u200cخواهم",
        "क्\u200dष और श्री",
        "ක්\u200dෂ",
        "👩\u200d👩\u200d👧 and 👩🏽\u200d🚀",
        "❤\ufe0f\u200d🔥 1\ufe0f\u20e3",
        "葛\U000e0100城",
        "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
        "東京都 서울 ไทย",
    ],
)
def test_words_and_emoji_of_all_scripts_stay_as_they_are(text: str) -> None:
    """A joiner that shapes a word or an emoji is part of it."""
    assert visible(text) == Visible(text)


@pytest.mark.parametrize(
    ("text", "seen", "removed"),
    [
        ("i\u200bg\u200bn\u200bore", "ignore", 3),
        ("a\u200d\u200cb", "ab", 2),
        ("soft\u00adware", "software", 1),
        ("\ufeffstart", "start", 1),
        ("abc\u202edcba\u202c", "abcdcba", 2),
        ("x\U000e0041\U000e0042\U000e0043", "x", 3),
        ("\U0001f3f4\U000e0041\U000e0042\U000e007f", "\U0001f3f4", 3),
        ("क\u200d\u200d\u200d", "क\u200d", 2),
        ("❤" + "\ufe0f" * 9, "❤\ufe0f", 8),
        ("e\ufe0fe", "ee", 1),
        ("क\u2060\u2060", "क", 2),
    ],
)
def test_what_nobody_can_see_is_taken_out_and_counted(text: str, seen: str, removed: int) -> None:
    """Zero-width text, tags, marks of direction, repeated joiners and selectors."""
    assert visible(text) == Visible(seen, removed)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("a\x00\x01b", "a\ufffdb"),
        ("\x1b[31mred", "\ufffd[31mred"),
        ("a\ud800b", "a\ufffdb"),
        ("é\x07", "é\ufffd"),
        ("one\r\ntwo\rthree\u2028four", "one\ntwo\nthree\nfour"),
    ],
)
def test_control_characters_are_shown_as_one_replacement(text: str, seen: str) -> None:
    """Corruption can be seen, and every text can be encoded; line ends are one kind."""
    assert visible(text).text == seen
    seen.encode("utf-8")
