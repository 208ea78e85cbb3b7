"""A server of this process on a free loopback port, while it is open."""

from __future__ import annotations

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Self


class Quiet:
    """Beside a handler: no line is written per request."""

    def log_message(self, *_: object) -> None:
        pass


class Loopback:
    """Serves with ``handler``, whose ``owner`` is this server."""

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        bound = type("Bound", (handler,), {"owner": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), bound)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        """The address, without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
