"""Bodies are compressed as any gzip reader takes them."""

from __future__ import annotations

import gzip

import pytest

from otel_raglog_exporters.compressing import gzip_body


@pytest.mark.parametrize("body", [b"", b"x", bytes(range(256)) * 5_000])
def test_gzip_reads_it(body):
    """What comes out is what went in."""
    assert gzip.decompress(gzip_body(body)) == body


def test_the_same_body_gives_the_same_bytes():
    """No time and no name are in it."""
    assert gzip_body(b"abc") == gzip_body(b"abc")


def test_text_gets_smaller():
    """It is worth its time."""
    text = b"".join(b"SELECT * FROM orders WHERE id = %d; " % number for number in range(2_000))
    assert len(gzip_body(text)) < len(text) / 4
