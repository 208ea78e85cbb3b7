"""Bodies as they came over the wire to text."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from importlib.util import find_spec

import brotli
import pytest

from otel_raglog_proxy_bridge import bodies
from otel_raglog_proxy_bridge.bodies import Body, UndecodableBody, body_text

JSON = '{"text": "Ærø"}'
RAW = JSON.encode()


def zstd_of(data: bytes) -> bytes:
    name = "compression.zstd" if find_spec("compression") else "backports.zstd"
    return pytest.importorskip(name).compress(data)


def bare_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return stream.compress(data) + stream.flush()


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("", RAW),
        ("identity", RAW),
        ("gzip", gzip.compress(RAW, mtime=0)),
        ("X-GZip", gzip.compress(RAW, mtime=0)),
        ("gzip", gzip.compress(RAW[:5], mtime=0) + gzip.compress(RAW[5:], mtime=0)),
        ("gzip", gzip.compress(RAW, mtime=0) + b"\0\0"),
        ("deflate", zlib.compress(RAW)),
        ("deflate", bare_deflate(RAW)),
        ("br", brotli.compress(RAW)),
        ("deflate, gzip", gzip.compress(zlib.compress(RAW), mtime=0)),
        ("gzip, br", brotli.compress(gzip.compress(RAW, mtime=0))),
    ],
)
def test_encodings_are_undone(encoding, content):
    """Each encoding, its variants and several in a row give the text that was sent."""
    assert body_text(content, "application/json", encoding) == Body(JSON)


def test_zstd_is_undone():
    """One frame or several in a row."""
    content = zstd_of(RAW[:4]) + zstd_of(RAW[4:])
    assert body_text(content, "application/json", "zstd") == Body(JSON)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "aws-chunked"])
def test_a_text_said_to_be_encoded_is_taken_as_it_is(encoding):
    """Recorders undo encodings and keep the header."""
    assert body_text(RAW, "application/json", encoding) == Body(JSON)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "made-up", "gzip," * 9])
def test_what_cannot_be_undone_is_an_error(encoding):
    """Bytes that are neither encoded as said nor text raise."""
    with pytest.raises(UndecodableBody):
        body_text(b"\xff\xfe\x00\x80" * 9, "application/json", encoding)


def test_a_missing_package_is_an_error_that_names_it():
    """An encoding that needs a package which is not there cannot be undone."""
    with pytest.raises(UndecodableBody, match="no_such_package"):
        bodies._module("no_such_package")


def encoded_bomb(encoding: str, size: int) -> bytes:
    zeros = b" " * size
    if encoding == "zstd":
        return zstd_of(zeros)
    return {"gzip": gzip.compress, "deflate": zlib.compress, "br": brotli.compress}[encoding](zeros)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_a_bomb_does_not_fill_memory(encoding):
    """However much a body would become, about its limit is ever held."""
    content = encoded_bomb(encoding, 100_000_000)
    tracemalloc.start()
    try:
        found = body_text(content, "text/plain", encoding, max_bytes=1000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found == Body(" " * 1000, cut=True)
    assert peak < 80_000_000


def test_many_small_members_end():
    """Members in a row are not followed without end."""
    assert body_text(gzip.compress(b"a", mtime=0) * 2000, "text/plain", "gzip") == Body(
        "a" * 256, cut=True
    )


def test_a_body_is_cut_at_the_limit():
    """A body of the limit's length is whole; a longer one is cut between characters."""
    assert body_text(b"abcd", max_bytes=4) == Body("abcd")
    assert body_text("abcé".encode(), max_bytes=4) == Body("abc", cut=True)
    assert body_text(gzip.compress(b"abcd", mtime=0), "text/plain", "gzip", 4) == Body("abcd")
    assert body_text(gzip.compress(b"abcde", mtime=0), "text/plain", "gzip", 4) == Body(
        "abcd", cut=True
    )


def test_what_a_broken_stream_holds_is_kept():
    """An encoded body that ends early gives its beginning, marked as cut."""
    words = " ".join(str(number) for number in range(5000))
    content = gzip.compress(words.encode())
    found = body_text(content[: len(content) // 2], "text/plain", "gzip")
    assert found.cut
    assert found.text
    assert words.startswith(found.text)


@pytest.mark.parametrize(
    ("content_type", "content"),
    [
        ("text/plain; charset=iso-8859-1", "Ærø".encode("latin-1")),
        ('text/plain; charset="UTF-16"', "Ærø".encode("utf-16")),
        ("text/plain; charset=nothing", "Ærø".encode()),
        ("text/plain; charset=zip", "Ærø".encode()),
        ("application/json", b"\xef\xbb\xbf" + "Ærø".encode()),
        ("", "Ærø".encode()),
        ("application/octet-stream", "Ærø".encode()),
    ],
)
def test_the_charset_is_the_header_s(content_type, content):
    """UTF-8 stands in for a charset that is unknown, or not told; a byte order mark goes."""
    assert body_text(content, content_type).text == "Ærø"


def test_bytes_outside_the_charset_are_replaced():
    """A text with wrong bytes stays a text."""
    assert body_text(b"a\xffb", "application/json").text == "a\ufffdb"


@pytest.mark.parametrize(
    "content_type",
    [
        "image/png",
        "audio/mpeg",
        "application/grpc+proto",
        "application/x-protobuf",
        "multipart/form-data; boundary=x",
        "application/octet-stream",
        "",
    ],
)
def test_what_is_no_text_gives_none(content_type):
    """Binary types give an empty text, and so do bytes that no type describes."""
    assert body_text(b"\x00\x01\xff", content_type) == Body("")


def test_a_form_in_parts_becomes_its_fields():
    """Files are left out, and so is a field that was cut; names that tell a secret hide theirs."""
    form = (
        b'--x\r\nContent-Disposition: form-data; name="question"\r\n\r\nLeave\r\n\r\nnow?\r\n'
        b'--x\r\nContent-Disposition: form-data; name="f"; filename="a.txt"\r\n'
        b"Content-Type: text/plain\r\n\r\ninside a file\r\n"
        b'--x\r\ncontent-disposition: form-data; name="code"\r\n\r\n1234\r\n'
        b"--x--\r\n"
    )
    kind = "multipart/form-data; boundary=x"
    fields = {"question": "Leave\r\n\r\nnow?", "code": "***"}
    assert json.loads(body_text(form, kind).text) == fields
    cut = body_text(form, kind, max_bytes=form.index(b"1234") + 2)
    assert (json.loads(cut.text), cut.cut) == ({"question": "Leave\r\n\r\nnow?"}, True)
    assert body_text(form, "multipart/form-data").text == ""


def test_an_event_stream_becomes_json_lines():
    """AWS's binary streams are decoded by their content type."""
    headers = b"\x0b:event-type\x07\x00\x07message"
    length = 12 + len(headers) + 2 + 4
    prelude = length.to_bytes(4, "big") + len(headers).to_bytes(4, "big")
    prelude += zlib.crc32(prelude).to_bytes(4, "big")
    message = prelude + headers + b"{}"
    message += zlib.crc32(message).to_bytes(4, "big")
    kind = "application/vnd.amazon.eventstream"
    assert json.loads(body_text(message, kind).text) == {"message": {}}
    assert body_text(message * 2, kind, max_bytes=length + 5) == Body('{"message": {}}\n', cut=True)
    assert body_text(b'{"message": {}}', kind).text == '{"message": {}}'
    with pytest.raises(UndecodableBody):
        body_text(b"event: message\ndata: {}\n\n", kind)


def test_texts_with_zero_bytes():
    """What cannot be read as text could hide a secret from those who look for one."""
    with pytest.raises(UndecodableBody, match="zero bytes"):
        body_text(b'{"a": "s\0k\0-"}', "application/json")


def test_utf_8_said_to_be_utf_16():
    """What the bytes show goes before what is said of them."""
    assert body_text(RAW, "application/json; charset=utf-16") == Body(JSON)
