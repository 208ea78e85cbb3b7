"""A Starlette application to a server on a thread of its own."""

from __future__ import annotations

import socket
import threading
from functools import partial
from typing import Any

import uvicorn
from starlette.applications import Starlette

from otel_raglog.errors import ConfigError, RaglogError
from otel_raglog.web.connections import Connection, ConnectionLimits

_START_SECONDS = 10.0
_BACKLOG = 512


class HttpServer:
    """Serves an application with uvicorn, without touching signals or logging.

    Clients that connect and say nothing, or send their headers slowly, are closed after
    ``header_timeout_seconds``; connections idle between requests after ``idle_timeout_seconds``.
    So are those that do not read what is sent to them. There are at most ``max_connections``: one
    more takes the place of the longest idle one, else of the one whose body takes longest, if
    that is a second or more (it gets a 503); otherwise it is refused with a 503. How long a body
    may take apart from that is the application's matter.

    ``option`` names the configuration option of the address, for the error of :meth:`start`.
    A server starts once.
    """

    def __init__(
        self,
        app: Starlette,
        host: str,
        port: int,
        *,
        option: str = "port",
        max_connections: int = 100,
        header_timeout_seconds: float = 10.0,
        idle_timeout_seconds: float = 60.0,
    ) -> None:
        self._host = host
        self._port = port
        self._option = option
        limits = ConnectionLimits(max_connections, header_timeout_seconds, idle_timeout_seconds)
        # uvicorn asks for a class and calls it; "auto" is uvloop where there is one.
        protocol: Any = partial(Connection, limits=limits)
        self._server = _SignallingServer(
            uvicorn.Config(
                app,
                http=protocol,
                loop="auto",
                log_config=None,
                access_log=False,
                server_header=False,
                ws="none",
            )
        )
        self._thread: threading.Thread | None = None

    @property
    def port(self) -> int:
        """The port it listens on; the real one after :meth:`start` when 0 was asked for."""
        return self._port

    def start(self) -> None:
        """Listen, and return once requests are answered.

        Raises:
            ConfigError: the address cannot be had, for example because it is in use.
        """
        listener = self._listen()
        self._port = listener.getsockname()[1]
        self._thread = threading.Thread(
            target=self._server.run,
            kwargs={"sockets": [listener]},
            name=f"http-{self._port}",
            daemon=True,
        )
        self._thread.start()
        if not self._server.ready.wait(_START_SECONDS):
            raise RaglogError(f"{self._option}: the server on port {self._port} did not start")

    def stop(self, grace_seconds: float) -> None:
        """Accept nothing more and wait up to ``grace_seconds`` for requests under way."""
        if self._thread is None:
            return
        self._server.should_exit = True
        self._thread.join(grace_seconds)
        if self._thread.is_alive():
            self._server.force_exit = True
            self._thread.join(_START_SECONDS)

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        try:
            return socket.create_server((self._host, self._port), family=family, backlog=_BACKLOG)
        except OSError as error:
            address = f"{self._host}:{self._port}"
            raise ConfigError(
                f"{self._option}: cannot listen on {address}: {error.strerror}"
            ) from error


class _SignallingServer(uvicorn.Server):
    """Tells when it has started."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start and tell."""
        await super().startup(sockets)
        self.ready.set()
