"""Bodies that pass by in chunks to the beginning of them, kept within a size."""

from __future__ import annotations

from dataclasses import dataclass

from otel_raglog_proxy_bridge.model import Side


class PassingBody:
    """Passes chunks on unchanged, and at once, and keeps a copy of the first ``limit`` bytes."""

    __slots__ = ("_chunks", "_left", "cut")

    def __init__(self, limit: int) -> None:
        self._chunks: list[bytes] = []
        self._left = limit
        self.cut = False

    def __call__(self, chunk: bytes) -> bytes:
        """Return ``chunk``."""
        if len(chunk) <= self._left:
            if chunk:
                self._chunks.append(bytes(chunk))
                self._left -= len(chunk)
        else:
            if self._left:
                self._chunks.append(bytes(chunk[: self._left]))
                self._left = 0
            self.cut = True
        return chunk

    @property
    def content(self) -> bytes:
        """What was kept."""
        return b"".join(self._chunks)


@dataclass(slots=True)
class OpenCall:
    """A call that began and has not ended, with those of its bodies that pass by."""

    started_ns: int
    side: Side
    request: PassingBody | None = None
    response: PassingBody | None = None


def cut_to(content: bytes | None, limit: int) -> tuple[bytes, bool]:
    """Return the first ``limit`` bytes of ``content``, and whether there are more."""
    if content is None:
        return b"", False
    return content[:limit], len(content) > limit


def passes_by(content_type: str, content_length: str | None, largest: int) -> bool:
    """Return whether a body is to be passed on in chunks instead of being waited for.

    So it is when its length is unknown (chunked, event streams, gRPC) or more than ``largest``.
    """
    kind = content_type.lower()
    if "stream" in kind.replace("octet-stream", "") or "ndjson" in kind or "grpc" in kind:
        return True
    if content_length is None:
        return True
    try:
        return int(content_length) > largest
    except ValueError:
        return True
