"""Cursors: the last place written is read back, and damage is noticed."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from otel_raglog.errors import ConfigError, Unavailable
from otel_raglog.journal.cursors import CursorFolder, Cursors, Mark, MemoryCursors


@pytest.fixture(params=["folder", "synced", "memory"])
def cursors(request: pytest.FixtureRequest, tmp_path: Path) -> Cursors:
    """Each kind of cursor."""
    if request.param == "memory":
        return MemoryCursors()
    return CursorFolder(tmp_path / "cursors", "group" if request.param == "synced" else "none")


def test_the_last_mark_is_read_back(cursors: Cursors) -> None:
    """Also by another who opens it."""
    cursor = cursors.open("one.traces")
    assert cursor.read() is None
    cursor.write(Mark(5, 0))
    cursor.write(Mark(1 << 60, 7))
    cursor.sync()
    assert cursor.read() == cursors.open("one.traces").read() == Mark(1 << 60, 7)
    assert cursors.open("two.traces").read() is None
    cursor.close()


def test_forgotten_cursors_are_gone(cursors: Cursors) -> None:
    """The others stay."""
    for name in ("one.traces", "two.traces"):
        cursors.open(name).write(Mark(3, 0))
    cursors.open("three.logs")
    assert cursors.keep_only({"one.traces"}) == {"two.traces": Mark(3, 0), "three.logs": None}
    assert cursors.open("one.traces").read() == Mark(3, 0)
    assert cursors.open("two.traces").read() is None


def test_any_name_of_a_destination_is_a_file_in_the_private_folder(tmp_path: Path) -> None:
    """Names are the user's; nobody else may read the files."""
    folder = CursorFolder(tmp_path / "cursors")
    folder.open("../a b/c").write(Mark(1, 0))
    [file] = (tmp_path / "cursors").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert folder.open("../a b/c").read() == Mark(1, 0)


@pytest.mark.parametrize("place", range(24))
def test_a_flipped_byte_is_noticed(tmp_path: Path, place: int) -> None:
    """A cursor that is wrong would lose or repeat anything."""
    folder = CursorFolder(tmp_path)
    folder.open("one").write(Mark(300, 2))
    [file] = tmp_path.iterdir()
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)
    assert folder.open("one").read() is None


def test_a_cursor_that_was_cut_off_is_none(tmp_path: Path) -> None:
    """As after a full disk."""
    folder = CursorFolder(tmp_path)
    folder.open("one").write(Mark(300, 2))
    [file] = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert folder.open("one").read() is None


def test_a_closed_cursor_takes_nothing(tmp_path: Path) -> None:
    """Closing twice is fine."""
    cursor = CursorFolder(tmp_path).open("one")
    cursor.close()
    cursor.close()
    with pytest.raises(Unavailable):
        cursor.write(Mark(1, 0))


def test_a_folder_that_cannot_be_used_is_an_error_of_the_configuration(tmp_path: Path) -> None:
    """The message names the option."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"journal\.path"):
        CursorFolder(tmp_path / "file")
    folder = CursorFolder(tmp_path / "cursors")
    (tmp_path / "cursors" / "one.cursor").mkdir()
    with pytest.raises(ConfigError, match=r"journal\.path"):
        folder.open("one")
