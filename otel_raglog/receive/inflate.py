"""Compressed request bodies to plain ones, bounded while inflating."""

from __future__ import annotations

from isal import isal_zlib

from otel_raglog.errors import BadInput, TooLarge

_WINDOW_BITS = {"gzip": 31, "deflate": 15}
_CHUNK_BYTES = 64 * 1024
_MAX_MEMBERS = 1000
"""gzip allows any number of members; each costs time even when it is empty."""

_BROKEN: type[Exception] = isal_zlib.IsalError  # type: ignore[assignment]  # its stub is wrong

ENCODINGS = ("identity", *_WINDOW_BITS)
"""The content encodings that :func:`inflate` knows."""


def inflate(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """Return ``body`` without its content encoding (``identity``, ``gzip`` or ``deflate``).

    Never holds more than ``max_bytes`` (plus one chunk) of output: a bomb is refused while it
    inflates. gzip may have several members. ``deflate`` is the zlib format (RFC 1950).

    Raises:
        TooLarge: the plain body is longer than ``max_bytes``.
        BadInput: unknown encoding, or broken or cut data.
    """
    if encoding == "identity":
        if len(body) > max_bytes:
            raise TooLarge(f"body of more than {max_bytes} bytes")
        return body
    if encoding not in _WINDOW_BITS:
        raise BadInput(f"content encoding {encoding!r} is not one of {', '.join(ENCODINGS)}")
    try:
        return _inflate(body, encoding, max_bytes)
    except _BROKEN as error:
        raise BadInput(f"broken {encoding} data: {error}") from error


def _inflate(body: bytes, encoding: str, max_bytes: int) -> bytes:
    plain: list[bytes] = []
    size = 0
    members = 1
    stream = isal_zlib.decompressobj(wbits=_WINDOW_BITS[encoding])
    for start in range(0, len(body), _CHUNK_BYTES):
        data = body[start : start + _CHUNK_BYTES]
        while data:
            if stream.eof:
                members += 1
                if encoding != "gzip" or members > _MAX_MEMBERS:
                    raise BadInput(f"unexpected data after the end of the {encoding} data")
                stream = isal_zlib.decompressobj(wbits=_WINDOW_BITS[encoding])
            piece = stream.decompress(data, max_bytes - size + 1)
            size += len(piece)
            if size > max_bytes:
                raise TooLarge(f"{encoding} data of more than {max_bytes} bytes when inflated")
            plain.append(piece)
            data = stream.unused_data if stream.eof else stream.unconsumed_tail
    if not stream.eof:
        raise BadInput(f"{encoding} data is cut off")
    return b"".join(plain)
