"""Chunks to a file, whatever the system takes at a time."""

from __future__ import annotations

import os

import pytest

from otel_raglog.journal.writing import MOST_CHUNKS, SystemFiles, write_all


class Counting(SystemFiles):
    """The system's calls, with a limit on the bytes that each takes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.calls = 0

    def writev(self, descriptor, chunks):
        self.calls += 1
        return os.write(descriptor, b"".join(chunks)[: self.limit])


@pytest.mark.parametrize("limit", [1, 3, 4, 5, 1000])
def test_all_is_written_in_order(tmp_path, limit):
    """Short writes within and at the ends of chunks are continued."""
    with (tmp_path / "file").open("wb") as file:
        write_all(Counting(limit), file.fileno(), [b"abc", b"", b"defg", b"h", b"ijklmnop"])
    assert (tmp_path / "file").read_bytes() == b"abcdefghijklmnop"


def test_one_call_for_as_many_as_the_system_takes(tmp_path):
    """A record is one call; more chunks than the system takes are several."""
    files = Counting(10**6)
    with (tmp_path / "file").open("wb") as file:
        write_all(files, file.fileno(), [b"head", b"body"])
        assert files.calls == 1
        write_all(files, file.fileno(), [b"x"] * (MOST_CHUNKS + 1))
        assert files.calls == 3


def test_the_systems_calls(tmp_path):
    """They write, sync and cut."""
    files = SystemFiles()
    with (tmp_path / "file").open("wb") as file:
        write_all(files, file.fileno(), [b"abc", b"def"])
        files.sync(file.fileno())
        files.truncate(file.fileno(), 4)
    assert (tmp_path / "file").read_bytes() == b"abcd"
