"""Bodies as they came over the wire to text: encodings undone, within a size."""

from __future__ import annotations

import codecs
import importlib
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from typing import Any

from otel_raglog_proxy_bridge import eventstream
from otel_raglog_proxy_bridge.secret_formats import MASK
from otel_raglog_proxy_bridge.secret_names import is_secret_parameter

MAX_BYTES = 8 * 1024 * 1024
_MOST_ENCODINGS = 4
_MOST_MEMBERS = 256  # gzip and zstd allow several streams in a row
_ZSTD_WINDOW_LOG = 23  # RFC 9659 allows servers no larger window than 8 MiB
_BROTLI_PIECE = 64

_EVENTSTREAM = "application/vnd.amazon.eventstream"
_MULTIPART = "multipart/form-data"
_LONGEST_HEADERS = 4096
_BINARY_KINDS = frozenset({"image", "audio", "video", "font"})
_BINARY_TYPES = frozenset(
    {
        "application/grpc",
        "application/pdf",
        "application/protobuf",
        "application/x-protobuf",
        "application/vnd.google.protobuf",
        "application/x-thrift",
        "application/msgpack",
        "application/x-msgpack",
        "application/wasm",
        "application/zip",
        "application/x-tar",
    }
)
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream"})
"""Types that say nothing of what the body is."""

_CHARSETS = ("utf", "ascii", "iso", "cp", "koi8", "gb", "big5", "euc", "shift")
"""How the names of charsets begin: Python knows other codecs too, such as ``zip``."""


_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_ZEROS = {".000": "utf-32-le", "000.": "utf-32-be", ".0": "utf-16-le", "0.": "utf-16-be"}
"""Where the zero bytes stand when a text begins with an ASCII character, as JSON does."""


class UndecodableBody(ValueError):
    """A body that its headers describe wrongly, or that needs a package that is not there."""


@dataclass(frozen=True, slots=True)
class Body:
    """A body's text; ``cut`` where the body went on."""

    text: str
    cut: bool = False


def body_text(
    content: bytes,
    content_type: str = "",
    content_encoding: str = "",
    max_bytes: int = MAX_BYTES,
) -> Body:
    """Return the text of a body, of at most ``max_bytes`` bytes before they become text.

    Encodings are undone from the last to the first without ever holding much more than
    ``max_bytes``. A body that is text already, although it is said to be encoded, is taken as it
    is: recorded calls often keep the header. Bytes that do not fit the charset (UTF-8 where none
    is told) become U+FFFD. AWS event streams become JSON lines (``eventstream.json_lines``), whole
    events alone; forms in parts become a JSON object of their fields without files, whole fields
    alone, those masked whose name tells a secret. Images, audio, protobuf, gRPC and other bytes
    give no text.

    Raises:
        UndecodableBody: An encoding or an event stream cannot be undone.
    """
    media_type, charset = _typed(content_type)
    if not content or _is_binary(media_type):
        return Body("")
    data, cut = _undone(content, content_encoding, max_bytes)
    if media_type == _EVENTSTREAM:
        return _events(data, cut=cut)
    if media_type == _MULTIPART:
        return Body(_fields(data, content_type), cut)
    if media_type in _UNSAID and not _is_text(data):
        return Body("")
    text = data.decode(_real_charset(data, charset), "replace")
    if "\0" in text:
        raise UndecodableBody("zero bytes in a text")
    if cut and text.endswith("\ufffd"):  # the limit fell into a character
        text = text[:-1]
    return Body(text.removeprefix("\ufeff"), cut)


# -------------------------------------------------------------------------------- types


def _typed(content_type: str) -> tuple[str, str]:
    header = _header("content-type", content_type)
    media_type = content_type.split(";", 1)[0].strip().lower()
    try:
        charset = codecs.lookup(header.get_content_charset("utf-8")).name
    except (LookupError, ValueError):
        charset = "utf-8"
    return media_type, charset if charset.startswith(_CHARSETS) else "utf-8"


def _real_charset(data: bytes, told: str) -> str:
    """Return the charset that ``data`` shows: what is said of UTF-16 and UTF-32 is often wrong."""
    for mark, charset in _MARKS:
        if data.startswith(mark):
            return charset
    if b"\0" not in data:
        return "utf-8" if told.startswith(("utf-16", "utf-32")) and _is_text(data) else told
    zeros = "".join("." if byte else "0" for byte in data[:4])
    return _ZEROS.get(zeros) or _ZEROS.get(zeros[:2], told)


def _is_binary(media_type: str) -> bool:
    kind = media_type.split("/", 1)[0]
    return (
        kind in _BINARY_KINDS
        or media_type in _BINARY_TYPES
        or media_type.startswith("application/grpc")
    )


def _is_text(data: bytes) -> bool:
    if b"\0" in data:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data, final=False)
    except UnicodeDecodeError:
        return False
    return True


def _events(data: bytes, *, cut: bool) -> Body:
    if data.lstrip().startswith(b"{"):  # decoded where it was recorded
        return Body(data.decode("utf-8", "replace"), cut)
    try:
        return Body(eventstream.json_lines(data), cut)
    except ValueError as error:
        raise UndecodableBody(f"no event stream: {error}") from error


def _fields(data: bytes, content_type: str) -> str:
    header = _header("content-type", content_type)
    boundary = header.get_param("boundary")
    if not isinstance(boundary, str) or not boundary:
        return ""
    found: dict[str, str] = {}
    between = b"\r\n--" + boundary.encode("utf-8", "replace")
    # What follows the last boundary is the end of the form, or a part that was cut.
    for part in (b"\r\n" + data).split(between)[1:-1]:
        lines, gap, value = part.partition(b"\r\n\r\n")
        if not gap or len(lines) > _LONGEST_HEADERS:
            continue
        told = [line.decode("utf-8", "replace").partition(":") for line in lines.split(b"\r\n")]
        said = {name.strip().lower(): text.strip() for name, _, text in told}
        disposition = _header("content-disposition", said.get("content-disposition", ""))
        name = disposition.get_param("name", header="content-disposition")
        if isinstance(name, str) and disposition.get_filename() is None:
            text = MASK if is_secret_parameter(name) else value.decode("utf-8", "replace")
            found.setdefault(name, text)
    return json.dumps(found, ensure_ascii=False) if found else ""


def _header(name: str, value: str) -> Message:
    header = Message()
    header[name] = value.replace("\r", " ").replace("\n", " ")
    return header


# ---------------------------------------------------------------------------- encodings


def _undone(content: bytes, content_encoding: str, max_bytes: int) -> tuple[bytes, bool]:
    names = [name.strip().lower() for name in content_encoding.split(",")]
    names = [name for name in names if name not in {"", "identity"}]
    if len(names) > _MOST_ENCODINGS:
        raise UndecodableBody(f"more than {_MOST_ENCODINGS} content encodings")
    data, cut = content, False
    for name in reversed(names):
        try:
            found, whole = _decoded(name, data, max_bytes + 1)
        except UndecodableBody:
            if not _is_text(data):
                raise
            continue
        data, cut = found, cut or not whole
    return data[:max_bytes], cut or len(data) > max_bytes


def _decoded(name: str, data: bytes, most: int) -> tuple[bytes, bool]:
    """Return what ``data`` decodes to, at most ``most`` bytes, and whether that is all of it."""
    decode = _DECODERS.get(name)
    if decode is None:
        raise UndecodableBody(f"unknown content encoding {name!r}")
    found, whole = decode(data, most)
    if not found and not whole:
        raise UndecodableBody(f"no {name}, or cut at its very start")
    return found, whole


def _gzip(data: bytes, most: int) -> tuple[bytes, bool]:
    return _inflated(data, most, 16 + zlib.MAX_WBITS)


def _deflate(data: bytes, most: int) -> tuple[bytes, bool]:
    """Undo zlib's format, or the bare one that some servers send by mistake."""
    try:
        return _inflated(data, most, zlib.MAX_WBITS)
    except UndecodableBody:
        return _inflated(data, most, -zlib.MAX_WBITS)


def _inflated(data: bytes, most: int, window_bits: int) -> tuple[bytes, bool]:
    found = b""
    for _ in range(_MOST_MEMBERS):
        stream = zlib.decompressobj(window_bits)
        try:
            found += stream.decompress(data, most - len(found))
        except zlib.error as error:
            if found:  # what follows a whole gzip member may be padding
                return found, True
            raise UndecodableBody(f"gzip or deflate: {error}") from error
        if not stream.eof or len(found) >= most:
            return found, False
        data = stream.unused_data if window_bits > zlib.MAX_WBITS else b""
        if not data:
            return found, True
    return found, False


def _brotli(data: bytes, most: int) -> tuple[bytes, bool]:
    """Undo brotli bit by bit: older packages cannot bound what a call gives."""
    module = _module("brotli", "brotlicffi")
    stream = module.Decompressor()
    found = bytearray()
    try:
        for start in range(0, len(data), _BROTLI_PIECE):
            found += stream.process(data[start : start + _BROTLI_PIECE])
            if len(found) >= most:
                return bytes(found[:most]), False
    except module.error as error:
        raise UndecodableBody(f"brotli: {error}") from error
    return bytes(found), bool(stream.is_finished())


def _zstd(data: bytes, most: int) -> tuple[bytes, bool]:
    module = _module("compression.zstd", "backports.zstd", "zstandard")
    if hasattr(module, "DecompressionParameter"):
        return _frames(module, data, most)
    decompressor = module.ZstdDecompressor(max_window_size=1 << _ZSTD_WINDOW_LOG)
    try:
        found = decompressor.stream_reader(data, read_across_frames=True).read(most)
    except module.ZstdError as error:
        raise UndecodableBody(f"zstd: {error}") from error
    return found, len(found) < most


def _frames(module: Any, data: bytes, most: int) -> tuple[bytes, bool]:
    limits = {module.DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG}
    found = b""
    for _ in range(_MOST_MEMBERS):
        stream = module.ZstdDecompressor(options=limits)
        try:
            found += stream.decompress(data, most - len(found))
        except module.ZstdError as error:
            raise UndecodableBody(f"zstd: {error}") from error
        if not stream.eof or len(found) >= most:
            return found, False
        data = stream.unused_data
        if not data:
            return found, True
    return found, False


def _module(*names: str) -> Any:
    for name in names:
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    raise UndecodableBody(f"undoing this content encoding needs the package {names[0]}")


_DECODERS: dict[str, Callable[[bytes, int], tuple[bytes, bool]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
