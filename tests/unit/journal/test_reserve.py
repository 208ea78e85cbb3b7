"""What the reserve promises: space that is really there, and really given back."""

import errno
import os

import pytest

from otel_raglog.journal.reserve import NoReserve, ReserveFile


def test_it_takes_real_space_and_gives_it_back(tmp_path):
    """Blocks, not a promise of the file system."""
    path = tmp_path / "reserve"
    reserve = ReserveFile(path, 1_000_000)
    assert not reserve.release()
    reserve.hold()
    reserve.hold()
    assert path.stat().st_blocks * 512 >= 1_000_000
    assert path.stat().st_mode & 0o077 == 0
    assert reserve.release()
    assert not path.exists()
    assert not reserve.release()
    reserve.hold()
    assert path.exists()


def test_what_an_earlier_process_left_is_used(tmp_path):
    """A kill does not shrink the disk for good."""
    path = tmp_path / "reserve"
    ReserveFile(path, 1000).hold()
    reserve = ReserveFile(path, 1000)
    reserve.hold()
    assert reserve.release()
    assert not path.exists()


def test_on_a_full_disk_nothing_is_taken(tmp_path, monkeypatch):
    """Half a reserve would be space that nobody can use."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    reserve = ReserveFile(tmp_path / "reserve", 1000)
    reserve.hold()
    assert list(tmp_path.iterdir()) == []
    assert not reserve.release()


@pytest.mark.parametrize("reserve", [NoReserve(), ReserveFile, None])
def test_no_reserve_is_a_valid_one(tmp_path, reserve):
    """In memory, or with a size of 0, there is nothing to give up."""
    if not isinstance(reserve, NoReserve):
        reserve = ReserveFile(tmp_path / "reserve", 0)
    reserve.hold()
    assert not reserve.release()
