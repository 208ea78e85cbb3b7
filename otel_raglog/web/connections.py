"""The bytes of one HTTP connection to requests, for as long as its client deserves it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MAX_SILENT_BYTES = 64 * 1024
"""Bytes that may come without a byte of a body: headers, trailers, chunk extensions."""


_LEAST_BODY_SECONDS = 1.0
"""What a client is given for a body even when there are too many connections."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """What the connections of one server may cost, and those that keep others out for nothing.

    ``idle`` are between requests, longest idle first; ``reading`` are those whose body has not
    come yet, with the time since when, longest first.
    """

    max_connections: int
    header_timeout_seconds: float
    idle_timeout_seconds: float
    idle: dict[Connection, None] = field(default_factory=dict)
    reading: dict[Connection, float] = field(default_factory=dict)


class Connection(HttpToolsProtocol):
    """uvicorn's protocol, with the limits that it lacks: see :class:`~.server.HttpServer`."""

    def __init__(self, *args: Any, limits: ConnectionLimits, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.timeout_keep_alive = limits.idle_timeout_seconds  # type: ignore[assignment]  # any number will do
        self._limits = limits
        self._deadline: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._silent_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Make room for the connection, or refuse it."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that we hear of all that nobody reads
        if len(self.connections) > self._limits.max_connections and not self._evict_one():
            self.refuse_busy()
            return
        self._limits.idle[self] = None
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._limits.idle.pop(self, None)
        self._limits.reading.pop(self, None)
        self._stop_waiting()
        self._stop_hurrying()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse, unless too much comes that is nothing."""
        if self.transport.is_closing():
            return
        self._silent_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._silent_bytes > _MAX_SILENT_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self in self._limits.idle and self._deadline is None:
            # Line ends that begin no request have ended the wait for one.
            self._await_headers()

    def on_message_begin(self) -> None:
        """Expect headers soon."""
        super().on_message_begin()
        if self._deadline is None:
            self._await_headers()

    def on_headers_complete(self) -> None:
        """Leave the rest to the application."""
        self._stop_waiting()
        self._limits.idle.pop(self, None)
        self._limits.reading[self] = self.loop.time()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Note that something came."""
        self._silent_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Note that the request is whole."""
        self._silent_bytes = 0
        self._limits.reading.pop(self, None)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request; not for the rest of one that is answered already."""
        super().on_response_complete()
        if self.transport.is_closing() or not self.cycle.response_complete:
            return
        if self.cycle.more_body:
            self.transport.close()
        else:
            self._limits.idle[self] = None

    def pause_writing(self) -> None:
        """Give the client some time to read what was sent to it."""
        super().pause_writing()
        seconds = self._limits.header_timeout_seconds
        self._unread = self.loop.call_later(seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the client reads."""
        self._stop_hurrying()
        super().resume_writing()

    def _stop_hurrying(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _await_headers(self) -> None:
        seconds = self._limits.header_timeout_seconds
        self._deadline = self.loop.call_later(seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)

    def _evict_one(self) -> bool:
        """Close the connection that does nothing for longest; tell whether there was one.

        Idle ones go first, then those whose body takes long.
        """
        idle, reading = self._limits.idle, self._limits.reading
        oldest = next(iter(idle), None)
        if oldest is not None:
            del idle[oldest]
            oldest.transport.close()
            return True
        slowest = next(iter(reading), None)
        if slowest is None or self.loop.time() - reading[slowest] < _LEAST_BODY_SECONDS:
            return False
        del reading[slowest]
        slowest.refuse_busy()
        return True

    def refuse_busy(self) -> None:
        """Answer that there are too many connections, and close."""
        self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, b"retry-after: 1\r\n")

    def _refuse(self, status: HTTPStatus, header: bytes = b"") -> None:
        line = f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode()
        self.transport.write(line + header + b"content-length: 0\r\nconnection: close\r\n\r\n")
        self.transport.close()
