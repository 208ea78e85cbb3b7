"""Compressed bodies, honest and hostile."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zlib

import pytest

from otel_raglog.errors import BadInput, TooLarge
from otel_raglog.receive.inflate import inflate

MIB = 1024 * 1024


@pytest.mark.parametrize("plain", [b"", b"hello", bytes(3 * MIB), bytes(range(256)) * 1000])
def test_gzip_is_inflated(plain: bytes) -> None:
    """The plain bytes come back, whatever their length."""
    assert inflate(gzip.compress(plain, mtime=0), "gzip", 4 * MIB) == plain


def test_gzip_may_have_several_members() -> None:
    """Concatenated gzip data is gzip data."""
    assert inflate(
        gzip.compress(b"a" * 100_000, mtime=0) + gzip.compress(b"b", mtime=0), "gzip", MIB
    ) == (b"a" * 100_000 + b"b")


def test_deflate_is_zlib() -> None:
    """As RFC 9110 has it."""
    assert inflate(zlib.compress(b"hello"), "deflate", MIB) == b"hello"


def test_identity_is_bounded_too() -> None:
    """The limit holds for plain bodies."""
    assert inflate(b"abc", "identity", 3) == b"abc"
    with pytest.raises(TooLarge):
        inflate(b"abcd", "identity", 3)


def test_the_limit_is_inclusive() -> None:
    """Exactly the limit is allowed."""
    assert len(inflate(gzip.compress(bytes(1000), mtime=0), "gzip", 1000)) == 1000
    with pytest.raises(TooLarge, match="more than 999 bytes"):
        inflate(gzip.compress(bytes(1000), mtime=0), "gzip", 999)


def test_a_bomb_of_many_members_is_too_large() -> None:
    """The limit counts over members."""
    with pytest.raises(TooLarge):
        inflate(gzip.compress(bytes(MIB), mtime=0) * 100, "gzip", 10 * MIB)


def test_a_million_empty_members_are_refused() -> None:
    """They inflate to nothing but cost time each."""
    with pytest.raises(BadInput, match="unexpected data"):
        inflate(gzip.compress(b"", mtime=0) * 1_000_000, "gzip", MIB)


def damaged(position: int) -> bytes:
    data = bytearray(gzip.compress(b"hello" * 100, mtime=0))
    data[position] ^= 1
    return bytes(data)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"garbage",
        gzip.compress(b"hello", mtime=0)[:-1],
        gzip.compress(b"hello" * 1000, mtime=0)[:12],
        gzip.compress(b"hello", mtime=0) + b"more",
        damaged(-6),
        zlib.compress(b"hello"),
    ],
)
def test_broken_gzip_is_bad_input(body: bytes) -> None:
    """Cut, damaged and foreign data are refused, never half read."""
    with pytest.raises(BadInput):
        inflate(body, "gzip", MIB)


def test_an_unknown_encoding_is_bad_input() -> None:
    """The message tells which are known."""
    with pytest.raises(BadInput, match="'br' is not one of identity, gzip, deflate"):
        inflate(b"", "br", MIB)


BOMB_IN_A_PROCESS_OF_ITS_OWN = """
import resource, zlib
from otel_raglog.errors import TooLarge
from otel_raglog.receive.inflate import inflate
packer = zlib.compressobj(9, wbits=31)
zeros = bytes(1 << 20)
bomb = b"".join([packer.compress(zeros) for _ in range(512)] + [packer.flush()])
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
try:
    inflate(bomb, "gzip", 64 << 20)
except TooLarge:
    print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
def test_a_bomb_costs_no_more_memory_than_the_limit() -> None:
    """512 MiB in half a megabyte: refused while it inflates, at 64 MiB plus little."""
    done = subprocess.run(
        [sys.executable, "-c", BOMB_IN_A_PROCESS_OF_ITS_OWN],
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(done.stdout) < 64 + 50
