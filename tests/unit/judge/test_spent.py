"""The books on what was spent: their windows, and the file that keeps them."""

import stat

import pytest

from otel_raglog.errors import BadInput
from otel_raglog.judge.spent import Books, BooksFile

NOON = 1_800_014_400
"""Noon (UTC) of some day, in Unix seconds."""
HOUR, DAY = 3_600, 86_400


def books(now=NOON, tokens=100, usd=0.5):
    """Return books in which so much was spent at ``now``."""
    found = Books()
    found.turn_to(now)
    found.add(tokens, usd, found.hour, found.day, now)
    return found


def amounts(found):
    return found.hour_usd, found.day_usd, found.minute_tokens


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (60, (0.5, 0.5, 100)),
        (61, (0.5, 0.5, 0)),
        (HOUR - 1, (0.5, 0.5, 0)),
        (HOUR, (0.0, 0.5, 0)),
        (12 * HOUR - 1, (0.0, 0.5, 0)),
        (12 * HOUR, (0.0, 0.0, 0)),
    ],
)
def test_minutes_hours_and_days_end(later, expected):
    """Hours and days by the clock, the minute a minute after."""
    found = books()
    found.turn_to(NOON + later)
    assert amounts(found) == expected


@pytest.mark.parametrize("back", [1, 30, HOUR, DAY, 400 * DAY])
def test_a_clock_that_is_set_back_opens_nothing_again(back):
    """By however much, also when it comes forward to where it was."""
    found = books()
    found.turn_to(NOON - back)
    assert amounts(found)[:2] == (0.5, 0.5)
    if back <= HOUR:
        found.turn_to(NOON + 1)
        assert amounts(found)[:2] == (0.5, 0.5)


def test_a_clock_that_was_far_ahead_does_not_close_the_budget_for_years():
    """What was spent then counts for the present hour and day, and ends with them."""
    found = books(NOON + 10_000 * DAY)
    found.turn_to(NOON)
    assert amounts(found) == (0.5, 0.5, 0)
    found.turn_to(NOON + DAY)
    assert amounts(found) == (0.0, 0.0, 0)


def test_what_is_given_back_after_its_hour_is_not_taken_from_the_next():
    """Nor from the next day or minute."""
    found = books()
    hour, day = found.hour, found.day
    found.turn_to(NOON + DAY)
    found.add(50, 0.25, found.hour, found.day, NOON + DAY)
    found.add(-100, -0.5, hour, day, NOON)
    assert amounts(found) == (0.25, 0.25, 50)


def test_what_is_written_is_read_again(tmp_path):
    """By another process too."""
    BooksFile(tmp_path / "spent.json").write(books())
    assert BooksFile(tmp_path / "spent.json").read() == books()


def test_without_a_file_nothing_was_spent(tmp_path):
    """Whoever deletes it begins anew."""
    assert BooksFile(tmp_path / "spent.json").read() == Books()


def test_its_files_and_a_folder_that_it_makes_are_private(tmp_path):
    """What a company spends is nobody's business."""
    file = BooksFile(tmp_path / "new" / "spent.json")
    file.write(books())
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "new").iterdir()]
    assert modes == [0o600, 0o600]
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"\xff\x00", b"[]", b'{"hour": -1}', b'{"hour_usd": "x"}', b'{"more": 1}',
        b'{"hour_usd": NaN}', b'{"tokens": {"x": 1}}', b" " * 100_000,
    ],
)  # fmt: skip
def test_a_damaged_file_is_told_and_can_be_put_aside(tmp_path, content):
    """Its content stays for whoever wants to see it."""
    path = tmp_path / "spent.json"
    path.write_bytes(content)
    file = BooksFile(path)
    with pytest.raises(BadInput):
        file.read()
    assert file.put_aside().read_bytes() == content
    assert not path.exists()


def test_a_write_that_fails_leaves_what_was_there(tmp_path):
    """The file is replaced, never written into."""
    file = BooksFile(tmp_path / "spent.json")
    file.write(books(usd=0.5))
    (tmp_path / "spent.json.new").mkdir()
    with pytest.raises(OSError, match="directory"):
        file.write(books(usd=0.75))
    assert file.read().hour_usd == 0.5
